import { Type, type TObject } from "@sinclair/typebox";
import { TypeCompiler, type TypeCheck, type ValueError } from "@sinclair/typebox/compiler";
import { faultOf, Refusal, refuse, type AnyFault } from "./faults.ts";
import { matchFields } from "./fields.ts";
import type { ReplyHeaders } from "./ignored-fields.ts";
import { ignoreQuery } from "./query.ts";

/** Of answers that are written by ourselves. */
export const JSON_TYPE = "application/json;charset=utf-8";

const KIB = 1024;
const BODY_BYTES = 64 * KIB;
const UPLOAD_BYTES = 128 * KIB;
const DEPTH = 8;
const KEYS = 64;

interface BodyRules {
  /** An empty body stands for `{}`, and needs no content type. */
  readonly emptyAllowed?: boolean;
  /** Holds a document besides its fields. */
  readonly large?: boolean;
}

/** What a POST route needs to take a JSON body. */
export const jsonBody = <S extends TObject>(schema: S, rules: BodyRules = {}) =>
  // The rule goes along with the schema, for the document that is made of it.
  routeBody({ ...schema, emptyAllowed: rules.emptyAllowed === true }, async (request, headers) =>
    matchFields(schema, await readObject(request, rules), headers),
  );

/** A document from the vendor, however it is sent. */
const UploadBody = Type.Object(
  {
    license: Type.Optional(
      Type.String({ description: "The text of the vendor's document.", bytes: UPLOAD_BYTES }),
    ),
  },
  { title: "UploadBody" },
);

/** Takes a file of a form, plain text, or JSON; what is in it is for others to judge. */
export const uploadBody = () =>
  routeBody(UploadBody, async (request, replyHeaders) => {
    const declared = request.headers.get("content-type") ?? "";
    const type = declared.toLowerCase();
    const bytes = await readBytes(request, UPLOAD_BYTES).catch(refuseUnreadableBody);
    if (type.startsWith("text/plain")) return { license: utf8Text(bytes) };
    if (type.startsWith("multipart/form-data")) {
      return { license: await firstFile(bytes, declared) };
    }
    if (!isJson(request.headers)) {
      refuse({ code: "unsupported_media_type", takesFiles: true });
    }
    return matchFields(UploadBody, parseJsonObject(bytes), replyHeaders);
  });

interface BodyContext {
  readonly request: Request;
  readonly set: { readonly headers: ReplyHeaders };
  body: unknown;
}

/**
 * The schema of a body, and the one that reads it and holds it against that. The framework's own
 * readers take forms and plain text for objects; and it would open every body as a stream first.
 */
function routeBody<S extends TObject>(
  schema: S,
  read: (request: Request, headers: ReplyHeaders) => Promise<object>,
) {
  let compiled: TypeCheck<S> | null = null;
  return {
    body: schema,
    parse: "none",
    transform: async (context: BodyContext): Promise<void> => {
      const { request, set } = context;
      ignoreQuery(request, set.headers);
      const body = await read(request, set.headers);
      compiled ??= TypeCompiler.Compile(schema);
      if (!compiled.Check(body)) {
        refuse(findWrongTypes(schema, [...compiled.Errors(body)]));
      }
      context.body = body;
    },
  } as const;
}

/** Which fields are wrong, by what each of them may be. */
function findWrongTypes(schema: TObject, errors: readonly ValueError[]): AnyFault {
  const wrong = [...new Map(errors.map(({ path, value }) => [path.slice(1), value]))];
  const kindOf = ([name, value]: [string, unknown]): "fields" | "numbers" | "booleans" => {
    const tolerates: unknown = schema.properties[name]?.["tolerates"];
    if (tolerates === "boolean") return "booleans";
    return tolerates === "integer" && typeof value === "number" ? "numbers" : "fields";
  };
  const named = (kind: string) => wrong.filter((one) => kindOf(one) === kind).map(([name]) => name);
  return {
    code: "invalid_type",
    fields: named("fields"),
    numbers: named("numbers"),
    booleans: named("booleans"),
  };
}

async function firstFile(bytes: Uint8Array<ArrayBuffer>, type: string): Promise<string> {
  try {
    const form = await new Response(bytes, { headers: { "content-type": type } }).formData();
    for (const value of form.values() as Iterable<unknown>) {
      return value instanceof Blob ? await value.text() : String(value);
    }
  } catch {
    // Not a form after all, whatever it says.
  }
  return "";
}

async function readObject(request: Request, rules: BodyRules): Promise<Record<string, unknown>> {
  const limit = rules.large === true ? UPLOAD_BYTES : BODY_BYTES;
  const bytes = await readBytes(request, limit).catch(refuseUnreadableBody);
  if (bytes.length === 0 && rules.emptyAllowed === true) return {};
  if (!isJson(request.headers)) refuse({ code: "unsupported_media_type" });
  return parseJsonObject(bytes);
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

/** A form or a text body is never JSON: that is what keeps other sites' forms out. */
function isJson(headers: Headers): boolean {
  const encoding = headers.get("content-encoding");
  if (encoding !== null && encoding.toLowerCase() !== "identity") return false;
  const type = headers.get("content-type");
  if (type === "application/json") return true;
  const [kind = "", ...parameters] = (type ?? "").toLowerCase().split(";");
  return kind.trim() === "application/json" && parameters.every(isUtf8);
}

/** Of a content type's parameters, the one we have an opinion on. */
function isUtf8(parameter: string): boolean {
  const [name = "", value = ""] = parameter.split("=").map((part) => part.trim());
  return name !== "charset" || value === "utf-8" || value === '"utf-8"';
}

async function readBytes(request: Request, limit: number): Promise<Uint8Array<ArrayBuffer>> {
  const declared = request.headers.get("content-length");
  if (declared !== null) {
    if (Number(declared) > limit) refuse({ code: "too_large", bytes: limit });
    const bytes = new Uint8Array(await request.arrayBuffer());
    if (bytes.length > limit) refuse({ code: "too_large", bytes: limit });
    return bytes;
  }
  // Only here: asking for it makes a stream, which whoever says how much there is does not need.
  return request.body === null ? new Uint8Array() : readStream(request.body, limit);
}

/** A body that does not come to its end is the caller's doing, not a bug of ours. */
function refuseUnreadableBody(error: unknown): never {
  throw faultOf(error) === null ? new Refusal({ code: "invalid_json" }) : error;
}

/** Without a declared length the body is counted as it comes, and never held past its limit. */
async function readStream(
  body: ReadableStream<Uint8Array>,
  limit: number,
): Promise<Uint8Array<ArrayBuffer>> {
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

/** What is not text cannot be a document; the reader of documents says so. */
const utf8Text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);

/**
 * At most 8 levels and 64 keys, told without recursion: the nesting is the attacker's to choose.
 */
function isWithinComplexityLimits(value: object): boolean {
  let level: object[] = [value];
  let keys = 0;
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > DEPTH) return false;
    const deeper: object[] = [];
    for (const container of level) {
      const values = Object.values(container);
      keys += Array.isArray(container) ? 0 : values.length;
      if (keys > KEYS) return false;
      for (const inner of values) {
        if (typeof inner === "object" && inner !== null) deeper.push(inner);
      }
    }
    level = deeper;
  }
  return true;
}
