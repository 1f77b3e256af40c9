import { Type, type TObject } from "@sinclair/typebox";
import type { AnyElysia } from "elysia";
import { version } from "../../platform/embedded/version.ts";
import type { SuccessReply } from "./describe-route.ts";
import { IGNORED_FIELDS_HEADER } from "../request/ignored-fields.ts";
import { refusalResponsesOf, sharedRefusalResponses } from "./refusal-responses.ts";
import { QueuePlaceReply } from "../routes/queue/queue-schemas.ts";
import { SchemaWriter } from "./schema-writer.ts";
import type { Plane } from "../access/planes.ts";
import { describedRoutes, type DescribedRoute } from "../access/route-table.ts";

/** The seven operations of the contract, in its order. */
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
  { name: "companions", description: "Further operations for applications and operators." },
  { name: "administration", description: "Operations of the operator page and the command line." },
];

/**
 * Builds the OpenAPI document from the same schemas that validate requests. Its version is 3.0,
 * which generators for 3.1 read too; older generators know no other form of nullable.
 */
export function buildOpenapiDocument(app: AnyElysia): object {
  const schemas = new SchemaWriter();
  const documentedRoutes = describedRoutes(app)
    .filter(({ detail }) => detail.hide !== true)
    .toSorted((a, b) => rank(a) - rank(b));
  const paths: Record<string, Record<string, object>> = {};
  for (const route of documentedRoutes) {
    (paths[route.path] ??= {})[route.method.toLowerCase()] = describeOperation(route, schemas);
  }
  schemas.write(RefusalSchema);
  return {
    openapi: "3.0.3",
    info: {
      title: "Berth",
      version,
      description:
        "A floating license server. Every request field is optional in the schema, and a string " +
        "where nothing else is documented; a request without the fields marked x-required fails. " +
        "A field name is matched exactly, or else without regard to case. null means absent, and so " +
        "does an empty query parameter. Unknown fields and query parameters are ignored; the response header X-Ignored-Fields " +
        "lists them.",
      license: { name: "Apache-2.0", url: "https://www.apache.org/licenses/LICENSE-2.0" },
    },
    servers: [{ url: "/" }],
    tags: TAGS,
    paths,
    components: {
      schemas: schemas.components(),
      responses: sharedRefusalResponses(),
      securitySchemes: {
        bearer: {
          type: "http",
          scheme: "bearer",
          description: "A token from berth admin token or from GET /auth.",
        },
        basic: {
          type: "http",
          scheme: "basic",
          description: "User name and password; for /auth only.",
        },
      },
    },
  };
}

/** The contract comes first, in its order; then the other routes in the order of the app. */
function rank({ method, path }: DescribedRoute): number {
  const index = CONTRACT.indexOf(`${method} ${path}`);
  return index < 0 ? CONTRACT.length : index;
}

function tagOf(route: DescribedRoute): string {
  if (rank(route) < CONTRACT.length) return "contract";
  return route.path.startsWith("/api/admin/") ? "administration" : "companions";
}

/**
 * Administration needs no token on the machine itself until the first one is created; not listed.
 */
const SECURITY: Readonly<Record<Plane, readonly object[]>> = {
  open: [],
  client: [{}, { bearer: [] }],
  login: [{ basic: [] }],
  admin: [{ bearer: [] }],
};

function describeOperation(route: DescribedRoute, schemas: SchemaWriter): object {
  const { detail, body } = route;
  const {
    plane,
    id,
    summary,
    description,
    query,
    requiredFields = [],
    destructiveEffect,
    responses,
  } = detail;
  const parameters = [
    ...Object.entries(query?.properties ?? {}).map(([name, schema]) => ({
      name,
      in: "query",
      description: schema.description,
      allowEmptyValue: true,
      ...(requiredFields.includes(name) && { "x-required": true }),
      schema: schemas.write(schema),
      example: query?.["examples"]?.[0]?.[name],
    })),
    ...(detail.idempotent === true ? [IDEMPOTENCY_KEY] : []),
    ...(detail.hasLease === true ? [NONCE] : []),
    ...(detail.canWait === true ? [PREFER] : []),
    ...(detail.requiresIfMatch === true ? [IF_MATCH] : []),
  ];
  return {
    operationId: id,
    tags: [tagOf(route)],
    summary,
    description,
    "x-plane": plane,
    ...(destructiveEffect !== undefined && { "x-destructive-effect": destructiveEffect }),
    security: SECURITY[plane],
    parameters,
    ...(body && hasFields(body) && { requestBody: describeRequestBody(route, body, schemas) }),
    responses: {
      200: responses?.[200] && {
        ...describeReply(responses[200], schemas),
        ...(hasInput(route) && {
          headers: {
            ...IGNORED_FIELDS_HEADER,
            ...(detail.canWait === true && PREFERENCE_APPLIED_HEADER),
          },
        }),
      },
      ...refusalResponsesOf(route),
      default: { $ref: "#/components/responses/AnyRefusal" },
    },
  };
}

/** A body without fields is not documented: an empty body is the same as none. */
const hasFields = ({ properties }: TObject): boolean => Object.keys(properties).length > 0;

const hasInput = ({ body, detail }: DescribedRoute): boolean => Boolean(body ?? detail.query);

const describeRequestBody = (
  { detail }: DescribedRoute,
  body: TObject,
  schemas: SchemaWriter,
): object => ({
  ...(body["emptyAllowed"] !== true && { required: true }),
  ...(detail.upload === true && { "x-also-accepts": ALSO_ACCEPTED }),
  content: {
    "application/json": {
      schema: schemas.write(describeFields(body, detail.requiredFields ?? [])),
      example: body["examples"]?.[0],
    },
  },
});

/**
 * All fields stay optional; `x-required` marks those that the operation requires. Null is the same
 * as absent in each of them.
 */
const describeFields = (body: TObject, requiredFields: readonly string[]): TObject => ({
  ...body,
  properties: Object.fromEntries(
    Object.entries(body.properties).map(([name, schema]) => [
      name,
      { ...schema, takesNull: true, needed: requiredFields.includes(name) },
    ]),
  ),
});

const describeReply = ({ description, content }: SuccessReply, schemas: SchemaWriter): object => ({
  description,
  ...(content && {
    content: Object.fromEntries(
      Object.entries(content).map(([type, { schema }]) => [
        type,
        { schema: schemas.write(schema) },
      ]),
    ),
  }),
});

/**
 * Listed apart from the JSON body: for an operation with bodies of several media types, generators
 * for Python create a module that cannot be imported.
 */
const ALSO_ACCEPTED = ["text/plain", "multipart/form-data"];

const NONCE = {
  name: "X-Nonce",
  in: "header",
  description:
    "A value chosen by the application: 16 to 128 letters, digits, dots, dashes, underscores or " +
    "tildes. The reply then contains a signed lease with this value.",
  schema: { type: "string", pattern: "^[A-Za-z0-9._~-]{16,128}$" },
};

const PREFER = {
  name: "Prefer",
  in: "header",
  description:
    "wait=60: if no slot is free, wait up to 60 seconds for one (RFC 7240). At most 120; 0 takes a " +
    "place in the queue and answers at once. A refusal then has the header Retry-After and the " +
    "member queue; repeat the request to keep the place.",
  schema: { type: "string" },
  example: "wait=60",
};

const PREFERENCE_APPLIED_HEADER = {
  "Preference-Applied": {
    description: "wait, if the request has Prefer: wait.",
    schema: { type: "string" },
  },
};

const IDEMPOTENCY_KEY = {
  name: "Idempotency-Key",
  in: "header",
  description:
    "1 to 64 visible ASCII characters. For 24 hours, the same command with the same key returns " +
    "the same outcome and is not counted twice.",
  schema: { type: "string", pattern: "^[!-~]{1,64}$" },
};

const IF_MATCH = {
  name: "If-Match",
  in: "header",
  description:
    "The digest of the rules that are to be replaced, in double quotes, as in the ETag of the " +
    "rules. With *, any rules are replaced.",
  schema: { type: "string" },
};

const RefusalSchema = Type.Object(
  {
    status: Type.Integer({ description: "The HTTP status code." }),
    code: Type.String({ description: "A stable code for programs." }),
    message: Type.String({ description: "A message for people; it may change." }),
    field: Type.Optional(
      Type.String({ description: "The field of the request that is wrong, if it is exactly one." }),
    ),
    queue: Type.Optional(QueuePlaceReply),
  },
  { title: "Refusal" },
);

export const OpenapiDocument = Type.Record(Type.String(), Type.Unknown(), {
  title: "OpenapiDocument",
});
