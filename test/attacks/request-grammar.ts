// Generates requests for every route: valid, with one thing wrong, or with everything wrong. They
// are always well-formed HTTP, so that the server answers them and not the runtime; malformed HTTP
// is the subject of `malformed-http`.
import * as fc from "fast-check";
import { routes } from "../support/routes.ts";
import {
  brokenBody,
  CANARY,
  oddJson,
  oddText,
  wrongCredential,
  wrongPath,
  wrongContentType,
} from "./odd-values.ts";
import { hasBody, isAnsweredSerially, takesLongTexts, type RoutePlan } from "./route-plans.ts";
import { validValue } from "./valid-values.ts";
import { LOGIN, PASSWORD, type SiteDocuments, type AttackTarget } from "./target.ts";

export interface AttackRequest {
  readonly plan: RoutePlan;
  readonly method: string;
  readonly bytes: Buffer;
  /** So wrong that granting it would be a security hole. */
  readonly mustRefuse: boolean;
}

type Header = readonly [name: string, value: string];

/** A part of a request, and whether it alone is a reason to refuse. */
interface Facet<T> {
  readonly value: T;
  readonly isWrong: boolean;
}

const makeFacet =
  (isWrong: boolean) =>
  <T>(value: T): Facet<T> => ({ value, isWrong });
const allowed = makeFacet(false);
const wrong = makeFacet(true);

interface Facets {
  readonly method: Facet<string>;
  readonly path: Facet<string>;
  readonly query: Facet<string>;
  readonly credential: Facet<readonly Header[]>;
  readonly origin: Facet<readonly Header[]>;
  readonly extras: Facet<readonly Header[]>;
  readonly type: Facet<string | null>;
  readonly body: Facet<Buffer | null>;
}

type FacetGenerators = { readonly [F in keyof Facets]: fc.Arbitrary<Facets[F]> };

export function generateAttacks(
  target: AttackTarget,
  plans: readonly RoutePlan[],
): fc.Arbitrary<AttackRequest> {
  return fc.oneof(
    ...plans.map((plan) => ({ weight: weightOf(plan), arbitrary: generateAttack(target, plan) })),
  );
}

/** Rare are routes answered one at a time, which delay others, and those that release all slots. */
export const weightOf = (plan: RoutePlan): number =>
  isAnsweredSerially(plan) || plan.path.endsWith("/all") ? 2 : 20;

function generateAttack(target: AttackTarget, plan: RoutePlan): fc.Arbitrary<AttackRequest> {
  const valid = validFacets(target, plan);
  const invalid = invalidFacets(target, plan);
  const names = Object.keys(valid) as (keyof Facets)[];
  const generate = (generators: FacetGenerators): fc.Arbitrary<AttackRequest> =>
    fc.record(generators).map((facets: Facets): AttackRequest => ({
      plan,
      method: facets.method.value,
      bytes: encodeRequest(facets),
      mustRefuse: names.some((name) => facets[name].isWrong),
    }));
  return fc.oneof(
    { weight: 12, arbitrary: generate(valid) },
    ...names.map((name) => ({
      weight: name === "body" && plan.fields.length > 0 ? 8 : 2,
      arbitrary: generate({ ...valid, [name]: invalid[name] }),
    })),
    { weight: 2, arbitrary: generate(invalid) },
  );
}

function validFacets({ token, documents }: AttackTarget, plan: RoutePlan): FacetGenerators {
  const value = (field: string): fc.Arbitrary<string> => validValue(documents, plan, field);
  const login = Buffer.from(`${LOGIN}:${PASSWORD}`).toString("base64");
  const credentials = {
    admin: `Bearer ${token}`,
    login: `Basic ${login}`,
    client: null,
    open: null,
  };
  const credential = credentials[plan.plane];
  return {
    method: fc.constant(allowed(plan.method)),
    path: fc.constant(allowed(plan.path)),
    query: members(plan.queryParameters, value).map((pairs) => allowed(queryOf(pairs))),
    credential: fc.constant(
      allowed(credential === null ? [] : [["Authorization", credential] as Header]),
    ),
    origin: fc.constant(allowed([["Host", "localhost"]])),
    extras: fc
      .constantFrom<readonly Header[]>(
        [],
        [],
        [["X-Nonce", "0123456789abcdef"]],
        // Takes a place in the queue if all slots are in use.
        [["Prefer", "wait=0"]],
      )
      .map((headers) => allowed([...headers, ...requiredHeaders(plan)])),
    type: fc.constant(allowed(hasBody(plan) ? "application/json" : null)),
    body: hasBody(plan)
      ? fc
          .tuple(members(plan.fields, value), fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 65_536))
          .map(([pairs, size]) => allowed(padded(objectOf(pairs), size)))
      : fc.constant(allowed(null)),
  };
}

const requiredHeaders = ({ requiresIfMatch }: RoutePlan): readonly Header[] =>
  requiresIfMatch ? [["If-Match", "*"]] : [];

function invalidFacets({ documents }: AttackTarget, plan: RoutePlan): FacetGenerators {
  const oddParameter = (field: string): fc.Arbitrary<string> =>
    fc.oneof(oddText, oddText, validValue(documents, plan, field));
  const oddMember = (field: string): fc.Arbitrary<string> =>
    fc.oneof(
      oddJson,
      oddJson,
      validValue(documents, plan, field).map((text) => JSON.stringify(text)),
    );
  const isAdmin = plan.plane === "admin";
  const takesJson = hasBody(plan) && !plan.isUpload;
  const methods = ["GET", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "TRACE"];
  return {
    method: fc
      .constantFrom(...methods)
      .map(facetOf((method) => !(method in (routes.get(plan.path) ?? {})))),
    path: wrongPath(plan.path).map(wrong),
    query: fc
      .tuple(
        members(plan.queryParameters, oddParameter),
        fc.constantFrom("", `&${CANARY}`, "&%zz=%ff", "&a=1&a=2"),
      )
      .map(([pairs, extra]) => allowed(`?${queryOf([...pairs, ...pairs]).slice(1)}${extra}`)),
    credential: wrongCredential.map((values) => ({
      value: values.map((value): Header => ["Authorization", value]),
      isWrong: isAdmin,
    })),
    origin: fc.constantFrom(...ORIGINS).map(({ headers, isRefused }) => ({
      value: headers,
      isWrong: isRefused === "always" || (isRefused === "admin" && isAdmin),
    })),
    extras: fc
      .tuple(
        fc.constantFrom(...EXTRAS),
        fc.constantFrom("Idempotency-Key", "Prefer", "X-Nonce"),
        oddHeader,
      )
      .map(([extra, name, value]) => ({
        value: [...extra, [name, value] as Header, ...requiredHeaders(plan)],
        isWrong: takesJson && extra === COMPRESSED,
      })),
    type: wrongContentType.map(facetOf(() => takesJson)),
    body: fc.oneof(
      {
        weight: 4,
        arbitrary: nearlyValid(plan, documents).map((text) => allowed(Buffer.from(text))),
      },
      {
        weight: 2,
        arbitrary: jsonMembers([...plan.fields, "__proto__", CANARY], oddMember).map((text) =>
          allowed(Buffer.from(text)),
        ),
      },
      { weight: 2, arbitrary: brokenBody.map(facetOf(() => hasBody(plan))) },
      fc.constant(padded("{}", 131_073)).map(facetOf(() => hasBody(plan) && !takesLongTexts(plan))),
    ),
  };
}

/** All fields valid but one, so that the odd value gets as far as possible. */
const nearlyValid = (plan: RoutePlan, documents: SiteDocuments): fc.Arbitrary<string> =>
  fc
    .tuple(
      members(plan.fields, (field) => validValue(documents, plan, field)),
      fc.constantFrom(CANARY, ...plan.fields),
      fc.oneof(
        oddText.map((text) => JSON.stringify(text)),
        oddJson,
      ),
    )
    .map(([pairs, field, json]) => {
      const others = pairs.filter(([name]) => name !== field).map(memberOf);
      return `{${[...others, `"${field}":${json}`].join(",")}}`;
    });

const memberOf = ([name, value]: Pairs[number]): string => `"${name}":${JSON.stringify(value)}`;

const facetOf =
  <T>(isWrong: (value: T) => boolean) =>
  (value: T): Facet<T> => ({ value, isWrong: isWrong(value) });

type Pairs = readonly (readonly [name: string, value: string])[];

/** Each name with a value; now and then one is omitted. */
const members = (
  names: readonly string[],
  value: (name: string) => fc.Arbitrary<string>,
): fc.Arbitrary<Pairs> =>
  fc
    .tuple(...names.map((name) => fc.option(value(name), { freq: 8 })))
    .map((values) =>
      values.flatMap((text, index) => (text === null ? [] : [[names[index] ?? "", text] as const])),
    );

/** Limits the head of a request: if it is too long, the runtime answers and not the server. */
const MAX_QUERY_VALUE = 300;

const queryOf = (pairs: Pairs): string =>
  pairs.length === 0
    ? ""
    : `?${pairs.map(([name, value]) => `${name}=${encodeQueryValue(value)}`).join("&")}`;

const encodeQueryValue = (value: string): string =>
  encodeURIComponent(value.slice(0, MAX_QUERY_VALUE).toWellFormed());

const objectOf = (pairs: Pairs): string => JSON.stringify(Object.fromEntries(pairs));

/** Keys may occur twice, in another case, in another order. */
const jsonMembers = (
  names: readonly string[],
  value: (name: string) => fc.Arbitrary<string>,
): fc.Arbitrary<string> =>
  fc
    .array(
      fc.oneof(
        ...names.map((name) =>
          fc.tuple(
            fc.constantFrom(name, name, name, name.toUpperCase()),
            name in Object.prototype || name === CANARY ? oddJson : value(name),
          ),
        ),
      ),
      { maxLength: names.length + 1 },
    )
    .map(
      (pairs) => `{${pairs.map(([name, json]) => `${JSON.stringify(name)}:${json}`).join(",")}}`,
    );

const padded = (text: string, size: number): Buffer => Buffer.from(text.padEnd(size, " "));

const oddHeader: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom("", CANARY, "a b", "é", "x".repeat(64), "x".repeat(65), "x".repeat(129), "once"),
  fc.string({ maxLength: 40 }).map((text) => text.replaceAll(/[^ -~]/g, "")),
);

const LOCAL_HOST: Header = ["Host", "localhost"];

interface Origin {
  readonly headers: readonly Header[];
  readonly isRefused: "always" | "admin" | "never";
}

const ORIGINS: readonly Origin[] = [
  { headers: [LOCAL_HOST, ["Origin", `http://${CANARY}.example`]], isRefused: "always" },
  { headers: [LOCAL_HOST, ["Origin", "null"]], isRefused: "always" },
  { headers: [LOCAL_HOST, ["Sec-Fetch-Site", "cross-site"]], isRefused: "always" },
  { headers: [["Host", "localhost, evil.example"]], isRefused: "always" },
  { headers: [["Host", `localhost/${CANARY}?`]], isRefused: "always" },
  { headers: [["Host", "[::g]"]], isRefused: "always" },
  {
    headers: [
      ["Host", "evil.example"],
      ["Origin", "http://evil.example"],
    ],
    isRefused: "never",
  },
  { headers: [["Host", `${CANARY}.example`]], isRefused: "never" },
  { headers: [LOCAL_HOST, ["Forwarded", "for=127.0.0.1"]], isRefused: "admin" },
  { headers: [LOCAL_HOST, ["X-Forwarded-For", `127.0.0.1, ${CANARY}`]], isRefused: "admin" },
  { headers: [LOCAL_HOST, ["X-Real-IP", "::1"]], isRefused: "admin" },
  { headers: [LOCAL_HOST, ["Via", "1.1 proxy"]], isRefused: "admin" },
];

const COMPRESSED: readonly Header[] = [["Content-Encoding", "gzip"]];

const EXTRAS: readonly (readonly Header[])[] = [
  [],
  COMPRESSED,
  [["Accept", "application/jwt"]],
  [["Accept", CANARY]],
  [["Cookie", `token=${CANARY}`]],
  [["X-HTTP-Method-Override", "DELETE"]],
  [["X-Original-URL", "/api/v4/setKeys"]],
  [["Range", "bytes=0-1"]],
  [["If-None-Match", "*"]],
  [["Expect", CANARY]],
  [["Upgrade", "websocket"]],
  [["Accept-Encoding", "gzip, br"]],
];

function encodeRequest(facets: Facets): Buffer {
  const { method, path, query, credential, origin, extras, type, body } = facets;
  const headers = [...origin.value, ...credential.value, ...extras.value];
  if (type.value !== null) headers.push(["Content-Type", type.value]);
  if (body.value !== null) headers.push(["Content-Length", String(body.value.length)]);
  const head = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const requestLine = `${method.value} ${path.value}${query.value} HTTP/1.1\r\n`;
  return Buffer.concat([Buffer.from(`${requestLine}${head}\r\n`), body.value ?? Buffer.alloc(0)]);
}
