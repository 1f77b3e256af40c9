import type { TObject, TSchema } from "@sinclair/typebox";
import type { AnyElysia } from "elysia";
import { version } from "../platform/version.ts";
import type { Detail, Refusing } from "./describe.ts";
import { statusOf, type Code } from "./faults.ts";
import { routes, type Method, type Plane } from "./planes.ts";
import { COMMON, sampleRefusal, type Asked } from "./sample-refusals.ts";

/** The seven operations every client of this API knows, in the order of the contract. */
const CONTRACT = [
  "POST /api/v4/register",
  "POST /api/v4/borrow",
  "POST /api/v4/add_consumption",
  "POST /api/v4/add_feature_consumption",
  "POST /api/v4/airgap/license",
  "POST /api/v4/license/generate",
  "GET /api/v4/setKeys",
];

const TAGS = [
  { name: "contract", description: "The seven operations." },
  { name: "companions", description: "What applications and operators need besides." },
  { name: "administration", description: "What the operator's page and the commands use." },
];

interface Route {
  readonly path: string;
  readonly method: Method;
  readonly plane: Plane;
  readonly detail: Detail;
  readonly body: TObject | undefined;
}

/** The OpenAPI document, made of the very schemas that validate and of nothing else. */
export function openapi(app: AnyElysia): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const route of shownRoutes(app).toSorted((a, b) => rank(a) - rank(b))) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = operation(route);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Berth",
      version,
      description:
        "A floating license server. Every field of a request is a string and optional by shape; " +
        "without those marked x-needed it cannot succeed. Names of fields are matched without " +
        "regard to case when not found exactly, null is the same as absent, unknown fields are " +
        "ignored.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    tags: TAGS,
    paths,
    components: {
      schemas: { Refused: refusedSchema },
      responses: { Refused: refusal("What any request can get", COMMON, ANY) },
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "A token of berth admin token, or one from GET /auth.",
        },
        basic: { type: "http", scheme: "basic", description: "Name and password, at /auth only." },
      },
    },
  };
}

function shownRoutes(app: AnyElysia): Route[] {
  return app.routes.flatMap(({ method, path, hooks }) => {
    const plane = routes.get(path)?.[method as Method];
    const { detail = {}, body } = hooks as { detail?: Detail; body?: TObject };
    if (plane === undefined || detail.hide === true) return [];
    return { path, method: method as Method, plane, detail, body };
  });
}

/** The contract first, in its order; the rest as the routes come. */
function rank({ method, path }: Route): number {
  const place = CONTRACT.indexOf(`${method} ${path}`);
  return place < 0 ? CONTRACT.length : place;
}

function tagOf(route: Route): string {
  if (rank(route) < CONTRACT.length) return "contract";
  return route.path.startsWith("/api/admin/") ? "administration" : "companions";
}

/** Administration is open on the machine itself until there is a token: nothing to count on. */
const SECURITY: Readonly<Record<Plane, readonly object[]>> = {
  open: [],
  client: [{}, { bearer: [] }],
  login: [{ basic: [] }],
  admin: [{ bearer: [] }],
};

function operation(route: Route): object {
  const { path, method, plane, detail, body } = route;
  const { summary, description, query, needs = [], refuses = [], responses, destroys } = detail;
  const parameters = [
    ...Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
      name,
      in: "query",
      description: schema.description,
      schema: plain(schema),
      ...(needs.includes(name) && { "x-needed": true }),
      example: query?.["examples"]?.[0]?.[name],
    })),
    ...(detail.idempotent === true ? [IDEMPOTENCY_KEY] : []),
    ...(detail.leased === true ? [NONCE] : []),
  ];
  return {
    operationId: `${method.toLowerCase()}_${path.replace(/^\/api\//, "").replaceAll(/\W+/g, "_")}`,
    tags: [tagOf(route)],
    summary,
    description,
    "x-plane": plane,
    ...(destroys !== undefined && { "x-destroys": destroys }),
    security: SECURITY[plane],
    parameters,
    ...(body && {
      requestBody: {
        ...(body["emptyAllowed"] !== true && { required: true }),
        content: {
          "application/json": { schema: shown(body, needs), example: body["examples"]?.[0] },
          ...(detail.upload === true && UPLOAD),
        },
      },
    }),
    responses: {
      200: responses?.[200],
      ...refusalsOf(refuses, { plane, needs }),
      default: { $ref: "#/components/responses/Refused" },
    },
  };
}

/** The contract's fields as optional strings; what more is understood is told in prose. */
const shown = ({ properties }: TObject, needs: readonly string[]): object => ({
  type: "object",
  properties: Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [
      name,
      { ...plain(schema), ...(needs.includes(name) && { "x-needed": true }) },
    ]),
  ),
});

const plain = ({ type, description, bytes, instant }: TSchema): object => ({
  type,
  description,
  ...(bytes !== undefined && { "x-max-bytes": bytes as number }),
  ...(instant === true && { format: "date-time" }),
});

const codeOf = (one: Refusing): Code => (typeof one === "string" ? one : one.code);

const refusalsOf = (list: readonly Refusing[], asked: Asked): object =>
  Object.fromEntries(
    [...Map.groupBy(list, (one) => statusOf(codeOf(one)))].map(([status, same]) => [
      status,
      refusal(same.map(codeOf).join(", "), same, asked),
    ]),
  );

const refusal = (description: string, list: readonly Refusing[], asked: Asked): object => ({
  description,
  content: {
    "application/json": {
      schema: { $ref: "#/components/schemas/Refused" },
      examples: Object.fromEntries(
        list.map((one) => [codeOf(one), { value: sampleRefusal(one, asked) }]),
      ),
    },
  },
});

/** Of what any request can get, most that asks for a credential administers. */
const ANY: Asked = { plane: "admin", needs: ["user"] };

const UPLOAD = {
  "text/plain": { schema: { type: "string", description: "The document itself." } },
  "multipart/form-data": {
    schema: { type: "object", description: "The document as a file, under any name." },
  },
};

const NONCE = {
  name: "X-Nonce",
  in: "header",
  description:
    "The application's own, 16 to 128 letters, digits, dots, dashes, underscores or tildes; with " +
    "it, the answer carries a signed lease that holds it.",
  schema: { type: "string", pattern: "^[A-Za-z0-9._~-]{16,128}$" },
};

const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "1 to 64 visible ASCII characters. The same key with the same command gives the same outcome " +
    "and counts nothing twice, for 24 hours.",
  schema: { type: "string", pattern: "^[!-~]{1,64}$" },
};

const refusedSchema = {
  type: "object",
  required: ["status", "code", "message"],
  properties: {
    status: { type: "integer", description: "The same as the answer's own." },
    code: { type: "string", description: "Stable: act on this." },
    message: { type: "string", description: "For people; may change." },
  },
};
