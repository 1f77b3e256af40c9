import { Type, type TObject } from "@sinclair/typebox";
import { TypeCompiler, type TypeCheck, type ValueError } from "@sinclair/typebox/compiler";
import type { AnyFault } from "../../faults/fault-types.ts";
import { faultOf, Refusal, refuse } from "../faults.ts";
import { listFields, matchFields } from "./match-fields.ts";
import type { ReplyHeaders } from "./ignored-fields.ts";
import { ignoreQuery } from "./query.ts";

/** Content type of replies that are already JSON text. */
export const JSON_TYPE = "application/json;charset=utf-8";

const KIB = 1024;
const MAX_BODY_BYTES = 64 * KIB;
const MAX_UPLOAD_BYTES = 128 * KIB;
const MAX_DEPTH = 8;
const MAX_KEYS = 64;

interface BodyRules {
  /** An empty body means `{}`, and needs no content type. */
  readonly emptyAllowed?: boolean;
  /** The body contains a document, so it may have 128 KiB. */
  readonly large?: boolean;
  /** Another limit, for a body that contains a longer text. */
  readonly maxBytes?: number;
  /** Repeating the request changes nothing more, and it must take no longer than necessary. */
  readonly isHeartbeat?: boolean;
}

/** The options of a POST route with a JSON body. */
export function jsonBody<S extends TObject>(schema: S, rules: BodyRules = {}) {
  const { emptyAllowed = false, large = false, maxBytes, isHeartbeat = false } = rules;
  const bodyFields = listFields(schema);
  const limit = maxBytes ?? (large ? MAX_UPLOAD_BYTES : MAX_BODY_BYTES);
  // The OpenAPI document, which is built from the schema, needs the rule too.
  return routeBody(
    { ...schema, emptyAllowed },
    { limit, isHeartbeat },
    (bytes, request, replyHeaders) => {
      if (bytes.length === 0 && emptyAllowed) return {};
      if (!isJson(request.headers)) refuse({ code: "unsupported_media_type" });
      return matchFields(bodyFields, parseJsonObject(bytes), replyHeaders);
    },
  );
}

/** A document from the vendor, in any of the accepted media types. */
const UploadBody = Type.Object(
  {
    license: Type.Optional(
      Type.String({ description: "The text of the vendor's document.", bytes: MAX_UPLOAD_BYTES }),
    ),
  },
  { title: "UploadBody" },
);

const UPLOAD_FIELDS = listFields(UploadBody);

/** Accepts a file of a form, plain text, or JSON. The content is checked by the operation. */
export const uploadBody = () =>
  routeBody(UploadBody, { limit: MAX_UPLOAD_BYTES }, async (bytes, request, replyHeaders) => {
    const declared = request.headers.get("content-type") ?? "";
    const type = declared.toLowerCase();
    if (type.startsWith("text/plain")) return { license: utf8Text(bytes) };
    if (type.startsWith("multipart/form-data")) {
      return { license: await firstFile(bytes, declared) };
    }
    if (!isJson(request.headers)) {
      refuse({ code: "unsupported_media_type", takesFiles: true });
    }
    return matchFields(UPLOAD_FIELDS, parseJsonObject(bytes), replyHeaders);
  });

interface BodyContext {
  readonly request: Request;
  readonly set: { readonly headers: ReplyHeaders };
  body: unknown;
}

/**
 * Reads a body of at most `limit` bytes, and validates what `decode` returns against the schema.
 * The framework's own parsers accept forms and plain text as objects, and would open every body as
 * a stream first.
 */
function routeBody<S extends TObject>(
  schema: S,
  { limit, isHeartbeat = false }: { readonly limit: number; readonly isHeartbeat?: boolean },
  decode: (bytes: Uint8Array, request: Request, headers: ReplyHeaders) => object | Promise<object>,
) {
  let compiled: TypeCheck<S> | null = null;
  return {
    body: schema,
    parse: "none",
    transform: async (context: BodyContext): Promise<void> => {
      const { request, set } = context;
      ignoreQuery(request, set.headers);
      let bytes: Uint8Array;
      try {
        bytes = await readBytes(request, limit);
      } catch (error) {
        return refuseUnreadableBody(error);
      }
      if (bytes.length > limit) refuse({ code: "too_large", bytes: limit });
      const decoded = decode(bytes, request, set.headers);
      // Waiting for a value that is already there would delay every request.
      const body = decoded instanceof Promise ? await decoded : decoded;
      compiled ??= TypeCompiler.Compile(schema);
      if (!compiled.Check(body)) {
        refuse(findWrongTypes(schema, [...compiled.Errors(body)]));
      }
      context.body = body;
      if (!isHeartbeat) await refuseIfDisconnected(request);
    },
  } as const;
}

/**
 * If the bytes after a request are another one, the runtime closes the connection, and its client
 * gets no reply. That happens once this code waits. A change that nobody is told of would be made
 * again by a client that repeats the request. Over TLS the runtime notices it too late.
 */
async function refuseIfDisconnected(request: Request): Promise<void> {
  await new Promise(setImmediate);
  if (request.signal.aborted) refuse({ code: "request_cancelled" });
}

/** The wrong fields, grouped by the type that each of them must have. */
function findWrongTypes(schema: TObject, errors: readonly ValueError[]): AnyFault {
  const wrongFields = [...new Map(errors.map(({ path, value }) => [path.slice(1), value]))];
  const kindOf = ([name, value]: [string, unknown]): "fields" | "numbers" | "booleans" => {
    const tolerates: unknown = schema.properties[name]?.["tolerates"];
    if (tolerates === "boolean") return "booleans";
    return tolerates === "integer" && typeof value === "number" ? "numbers" : "fields";
  };
  const namesOf = (kind: string) =>
    wrongFields.filter((entry) => kindOf(entry) === kind).map(([name]) => name);
  return {
    code: "invalid_type",
    fields: namesOf("fields"),
    numbers: namesOf("numbers"),
    booleans: namesOf("booleans"),
  };
}

async function firstFile(bytes: Uint8Array, type: string): Promise<string> {
  try {
    const form = await new Response(bytes.slice(), {
      headers: { "content-type": type },
    }).formData();
    for (const value of form.values() as Iterable<unknown>) {
      return value instanceof Blob ? await value.text() : String(value);
    }
  } catch {
    // Not a form, although the content type says so.
  }
  return "";
}

function parseJsonObject(bytes: Uint8Array): Record<string, unknown> {
  if (bytes.length === 0) refuse({ code: "invalid_json", isEmpty: true });
  const value = parse(bytes);
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return refuse({ code: "body_not_object" });
  }
  if (!isWithinComplexityLimits(value)) refuse({ code: "too_complex" });
  return value as Record<string, unknown>;
}

/** A form or a text body is never JSON: so a form on another site cannot call the API. */
function isJson(headers: Headers): boolean {
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") return false;
  const type = headers.get("content-type");
  if (type === "application/json") return true;
  const [kind = "", ...parameters] = (type ?? "").toLowerCase().split(";");
  return kind.trim() === "application/json" && parameters.every(isUtf8);
}

/** Only the charset matters; other parameters of a content type are accepted. */
function isUtf8(parameter: string): boolean {
  const [name = "", value = ""] = parameter.split("=").map((part) => part.trim());
  return name !== "charset" || value === "utf-8" || value === '"utf-8"';
}

function readBytes(request: Request, limit: number): Promise<Uint8Array> {
  const declared = request.headers.get("content-length");
  if (declared !== null) {
    if (Number(declared) > limit) refuse({ code: "too_large", bytes: limit });
    return request.bytes();
  }
  // Only here: reading `body` creates a stream, which a request with a length does not need.
  return request.body === null
    ? Promise.resolve(new Uint8Array())
    : readStream(request.body, limit);
}

/** A body that ends too early is a fault of the request, not a bug in berth. */
function refuseUnreadableBody(error: unknown): never {
  throw faultOf(error) === null ? new Refusal({ code: "invalid_json" }) : error;
}

/** Without a declared length, the bytes are counted on arrival, and never kept past the limit. */
async function readStream(body: ReadableStream<Uint8Array>, limit: number): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > limit) refuse({ code: "too_large", bytes: limit });
    chunks.push(chunk);
  }
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.length;
  }
  return bytes;
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch {
    return refuse({ code: "invalid_json" });
  }
}

/** Invalid UTF-8 is no error here: the check of the document rejects it. */
const utf8Text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/**
 * At most 8 levels and 64 keys. Without recursion, because an attacker chooses the nesting.
 */
function isWithinComplexityLimits(value: object): boolean {
  let level: object[] = [value];
  let keys = 0;
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > MAX_DEPTH) return false;
    const deeper: object[] = [];
    for (const container of level) {
      const values = Object.values(container);
      keys += Array.isArray(container) ? 0 : values.length;
      if (keys > MAX_KEYS) return false;
      for (const inner of values) {
        if (typeof inner === "object" && inner !== null) deeper.push(inner);
      }
    }
    level = deeper;
  }
  return true;
}
