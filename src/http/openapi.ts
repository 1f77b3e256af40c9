import type { TObject, TSchema } from "@sinclair/typebox";
import type { AnyElysia } from "elysia";
import { version } from "../platform/version.ts";
import { routes } from "./planes.ts";

/** What `describe` left on a route. */
interface Detail {
  readonly summary?: string;
  /** Nothing to call. */
  readonly hide?: boolean;
  readonly description?: string;
  readonly query?: TObject;
  readonly idempotent?: boolean;
  readonly leased?: boolean;
  readonly upload?: boolean;
  readonly responses?: Readonly<Record<string, object>>;
}

const REFUSED = {
  description: "Refused",
  content: { "application/json": { schema: { $ref: "#/components/schemas/Refused" } } },
};

/** The OpenAPI document, made of the very schemas that validate and of nothing else. */
export function openapi(app: AnyElysia): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const { method, path, hooks } of app.routes) {
    if (!routes.has(path)) continue;
    const detail = (hooks as { detail?: Detail }).detail ?? {};
    if (detail.hide === true) continue;
    const body = (hooks as { body?: TObject }).body;
    paths[path] ??= {};
    paths[path][method.toLowerCase()] = operation(path, method, detail, body);
  }
  return {
    openapi: "3.1.0",
    info: {
      title: "Berth",
      version,
      description:
        "A floating license server. Every field of a request is a string and optional by shape; what is " +
        "needed to succeed is told per operation. Names of fields are matched without regard to case " +
        "when not found exactly, null is the same as absent, unknown fields are ignored.",
      license: { name: "Apache-2.0", identifier: "Apache-2.0" },
    },
    paths,
    components: { schemas: { Refused: refusedSchema } },
  };
}

function operation(
  path: string,
  method: string,
  detail: Detail,
  body: TObject | undefined,
): object {
  const { summary, description, query, idempotent, leased, upload, responses } = detail;
  const parameters = [
    ...Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
      name,
      in: "query",
      schema: plain(schema),
    })),
    ...(idempotent === true ? [IDEMPOTENCY_KEY] : []),
    ...(leased === true ? [NONCE] : []),
  ];
  return {
    operationId: `${method.toLowerCase()}_${path.replace(/^\/api\//, "").replaceAll(/\W+/g, "_")}`,
    tags: [path.startsWith("/api/admin/") ? "administration" : "applications"],
    summary,
    description,
    parameters,
    ...(body && {
      requestBody: {
        content: {
          "application/json": { schema: shown(body), example: body["examples"]?.[0] },
          ...(upload === true && UPLOAD),
        },
      },
    }),
    responses: { ...withShape(responses ?? {}), default: REFUSED },
  };
}

/** The contract's fields as optional strings; what more is understood is told in prose. */
const shown = ({ properties }: TObject): object => ({
  type: "object",
  properties: Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, plain(schema)]),
  ),
});

const plain = ({ type, description }: TSchema): object => ({ type, description });

const withShape = (responses: Readonly<Record<string, object>>): object =>
  Object.fromEntries(
    Object.entries(responses).map(([status, response]) => [
      status,
      Number(status) < 400 ? response : { ...REFUSED, ...response },
    ]),
  );

const UPLOAD = {
  "text/plain": { schema: { type: "string" } },
  "multipart/form-data": {
    schema: { type: "object", description: "The document under any name." },
  },
};

const NONCE = {
  name: "X-Nonce",
  in: "header",
  description: "The application's own; with it, the answer carries a signed lease that holds it.",
  schema: { type: "string", pattern: "^[A-Za-z0-9._~-]{16,128}$" },
};

const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "The same key with the same command gives the same outcome and counts nothing twice.",
  schema: { type: "string", pattern: "^[!-~]{1,64}$" },
};

const refusedSchema = {
  type: "object",
  required: ["status", "code", "message"],
  properties: {
    status: { type: "integer" },
    code: { type: "string", description: "Stable: act on this." },
    message: { type: "string", description: "For people; may change." },
  },
};
