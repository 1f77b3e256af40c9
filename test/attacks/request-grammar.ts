// The language the attacker speaks: for every route a request that is right, the same with one thing
// wrong, and one with everything wrong. Always whole HTTP, so that the answer is the server's own;
// what is not even HTTP is for the raw rig.
import * as fc from "fast-check";
import { routes } from "../../src/http/planes.ts";
import {
  brokenBody,
  CANARY,
  oddJson,
  oddText,
  wrongCredential,
  wrongPath,
  wrongContentType,
} from "./odd-values.ts";
import { isAnsweredSerially, type RoutePlan } from "./route-plans.ts";
import { validValue } from "./valid-values.ts";
import { LOGIN, PASSWORD, type SiteDocuments, type AttackTarget } from "./target.ts";

export interface AttackRequest {
  readonly plan: RoutePlan;
  readonly method: string;
  readonly bytes: Buffer;
  /** Something is so wrong that granting it would be a hole. */
  readonly mustRefuse: boolean;
}

type Header = readonly [name: string, value: string];

/** A part of a request, and whether it alone is reason enough to refuse. */
interface Facet<T> {
  readonly value: T;
  readonly isWrong: boolean;
}

const facet =
  (isWrong: boolean) =>
  <T>(value: T): Facet<T> => ({ value, isWrong });
const fine = facet(false);
const wrong = facet(true);

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

type Language = { readonly [F in keyof Facets]: fc.Arbitrary<Facets[F]> };

export function generateAttacks(
  target: AttackTarget,
  plans: readonly RoutePlan[],
): fc.Arbitrary<AttackRequest> {
  return fc.oneof(
    ...plans.map((plan) => ({ weight: weightOf(plan), arbitrary: generateAttack(target, plan) })),
  );
}

/** What takes turns holds others up, and whoever ends all slots ends the play. */
const weightOf = (plan: RoutePlan): number =>
  isAnsweredSerially(plan) || plan.path.endsWith("/all") ? 2 : 20;

function generateAttack(target: AttackTarget, plan: RoutePlan): fc.Arbitrary<AttackRequest> {
  const right = validFacets(target, plan);
  const bad = invalidFacets(target, plan);
  const names = Object.keys(right) as (keyof Facets)[];
  const spoken = (language: Language): fc.Arbitrary<AttackRequest> =>
    fc.record(language).map((facets: Facets): AttackRequest => ({
      plan,
      method: facets.method.value,
      bytes: encodeRequest(facets),
      mustRefuse: names.some((name) => facets[name].isWrong),
    }));
  return fc.oneof(
    { weight: 12, arbitrary: spoken(right) },
    ...names.map((name) => ({
      weight: name === "body" && plan.fields.length > 0 ? 8 : 2,
      arbitrary: spoken({ ...right, [name]: bad[name] }),
    })),
    { weight: 2, arbitrary: spoken(bad) },
  );
}

function validFacets({ token, documents }: AttackTarget, plan: RoutePlan): Language {
  const value = (field: string): fc.Arbitrary<string> => validValue(documents, plan, field);
  const login = Buffer.from(`${LOGIN}:${PASSWORD}`).toString("base64");
  const credential = {
    admin: `Bearer ${token}`,
    login: `Basic ${login}`,
    client: null,
    open: null,
  };
  const shown = credential[plan.plane];
  return {
    method: fc.constant(fine(plan.method)),
    path: fc.constant(fine(plan.path)),
    query: members(plan.queryParameters, value).map((pairs) => fine(queryOf(pairs))),
    credential: fc.constant(fine(shown === null ? [] : [["Authorization", shown] as Header])),
    origin: fc.constant(fine([["Host", "localhost"]])),
    extras: fc.constantFrom<readonly Header[]>([], [], [["X-Nonce", "0123456789abcdef"]]).map(fine),
    type: fc.constant(fine(plan.method === "POST" ? "application/json" : null)),
    body:
      plan.method === "POST"
        ? fc
            .tuple(members(plan.fields, value), fc.constantFrom(0, 0, 0, 0, 0, 0, 0, 65_536))
            .map(([pairs, size]) => fine(padded(objectOf(pairs), size)))
        : fc.constant(fine(null)),
  };
}

function invalidFacets({ documents }: AttackTarget, plan: RoutePlan): Language {
  const odd = (field: string): fc.Arbitrary<string> =>
    fc.oneof(oddText, oddText, validValue(documents, plan, field));
  const oddMember = (field: string): fc.Arbitrary<string> =>
    fc.oneof(
      oddJson,
      oddJson,
      validValue(documents, plan, field).map((text) => JSON.stringify(text)),
    );
  const isAdmin = plan.plane === "admin";
  const takesJson = plan.method === "POST" && !plan.isUpload;
  const methods = ["GET", "POST", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "TRACE"];
  return {
    method: fc
      .constantFrom(...methods)
      .map(facetOf((method) => !(method in (routes.get(plan.path) ?? {})))),
    path: wrongPath(plan.path).map(wrong),
    query: fc
      .tuple(
        members(plan.queryParameters, odd),
        fc.constantFrom("", `&${CANARY}`, "&%zz=%ff", "&a=1&a=2"),
      )
      .map(([pairs, more]) => fine(`?${queryOf([...pairs, ...pairs]).slice(1)}${more}`)),
    credential: wrongCredential.map((values) => ({
      value: values.map((value): Header => ["Authorization", value]),
      isWrong: isAdmin,
    })),
    origin: fc.constantFrom(...ORIGINS).map(({ headers, isRefused }) => ({
      value: headers,
      isWrong: isRefused === "always" || (isRefused === "admin" && isAdmin),
    })),
    extras: fc
      .tuple(fc.constantFrom(...EXTRAS), fc.constantFrom("Idempotency-Key", "X-Nonce"), oddHeader)
      .map(([more, name, value]) => ({
        value: [...more, [name, value] as Header],
        isWrong: takesJson && more === COMPRESSED,
      })),
    type: wrongContentType.map(facetOf(() => takesJson)),
    body: fc.oneof(
      { weight: 4, arbitrary: nearlyRight(plan, documents).map((text) => fine(Buffer.from(text))) },
      {
        weight: 2,
        arbitrary: jsonMembers([...plan.fields, "__proto__", CANARY], oddMember).map((text) =>
          fine(Buffer.from(text)),
        ),
      },
      { weight: 2, arbitrary: brokenBody.map(facetOf(() => plan.method === "POST")) },
      fc.constant(padded("{}", 131_073)).map(facetOf(() => plan.method === "POST")),
    ),
  };
}

/** All fields right but one: that is how far a value gets. */
const nearlyRight = (plan: RoutePlan, papers: SiteDocuments): fc.Arbitrary<string> =>
  fc
    .tuple(
      members(plan.fields, (field) => validValue(papers, plan, field)),
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

/** Each of them or not; mostly. */
const members = (
  names: readonly string[],
  value: (name: string) => fc.Arbitrary<string>,
): fc.Arbitrary<Pairs> =>
  fc
    .tuple(...names.map((name) => fc.option(value(name), { freq: 8 })))
    .map((values) =>
      values.flatMap((one, index) => (one === null ? [] : [[names[index] ?? "", one] as const])),
    );

/** No longer than fits into the head of a request: past that the runtime answers, not the server. */
const LONGEST_VALUE = 300;

const queryOf = (pairs: Pairs): string =>
  pairs.length === 0
    ? ""
    : `?${pairs.map(([name, value]) => `${name}=${inQuery(value)}`).join("&")}`;

const inQuery = (value: string): string =>
  encodeURIComponent(value.slice(0, LONGEST_VALUE).toWellFormed());

const objectOf = (pairs: Pairs): string => JSON.stringify(Object.fromEntries(pairs));

/** Keys may come twice, in another case, in another order. */
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

const HOME: Header = ["Host", "localhost"];

interface Origin {
  readonly headers: readonly Header[];
  readonly isRefused: "always" | "admin" | "never";
}

const ORIGINS: readonly Origin[] = [
  { headers: [HOME, ["Origin", `http://${CANARY}.example`]], isRefused: "always" },
  { headers: [HOME, ["Origin", "null"]], isRefused: "always" },
  { headers: [HOME, ["Sec-Fetch-Site", "cross-site"]], isRefused: "always" },
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
  { headers: [HOME, ["Forwarded", "for=127.0.0.1"]], isRefused: "admin" },
  { headers: [HOME, ["X-Forwarded-For", `127.0.0.1, ${CANARY}`]], isRefused: "admin" },
  { headers: [HOME, ["X-Real-IP", "::1"]], isRefused: "admin" },
  { headers: [HOME, ["Via", "1.1 proxy"]], isRefused: "admin" },
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
  const lines = [...origin.value, ...credential.value, ...extras.value];
  if (type.value !== null) lines.push(["Content-Type", type.value]);
  if (body.value !== null) lines.push(["Content-Length", String(body.value.length)]);
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  const first = `${method.value} ${path.value}${query.value} HTTP/1.1\r\n`;
  return Buffer.concat([Buffer.from(`${first}${head}\r\n`), body.value ?? Buffer.alloc(0)]);
}
