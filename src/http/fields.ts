import { Type, type TObject } from "@sinclair/typebox";
import { UNSEEN, UNSEEN_IN_TEXT } from "../domain/names.ts";
import type { Instant } from "../domain/time.ts";
import { refuse } from "./faults.ts";
import { nameIgnored, type ReplyHeaders } from "./ignored-fields.ts";
import { parseTimestamp, ZERO_TIME } from "./timestamps.ts";

const IDENTIFIER_BYTES = 256;
const INFO_BYTES = 4 * 1024;
const CODE_BYTES = 64 * 1024;
const SECRET_BYTES = 4 * 1024;

/** For readers of the document, and for those who read a request. */
interface Notes {
  readonly tolerates?: "integer" | "boolean";
  /** The most it may have, in UTF-8. */
  readonly bytes?: number;
  /** A point in time, as text. */
  readonly instant?: true;
}

/**
 * The contract's fields: every one is a string and optional by shape. Which are needed, and what
 * their text must look like, is read here; a few may also arrive as JSON numbers or booleans.
 */
export const field = (description: string, notes: Notes = {}) =>
  Type.Optional(Type.String({ description, ...notes }));

const name = (description: string) => field(description, { bytes: IDENTIFIER_BYTES });

const count = (description: string) =>
  field(
    `${description} A whole number in decimal digits, up to 1000000000000; a JSON integer is ` +
      "understood too.",
    { tolerates: "integer" },
  );

export const fields = {
  product: name("Product code. May be left out while only one product is installed."),
  user: name("Who the slot is for: an opaque name, compared in Unicode NFC, case-sensitive."),
  os_hostname: name("Host name of the user's machine; shown to the operator."),
  ip_local: name("The machine's own address as it knows it; shown to the operator."),
  user_info: field("Free text for the operator; may be empty.", { bytes: INFO_BYTES }),
  borrowed_until: field(
    "End of the borrow, RFC 3339 with an offset, any one. Left out, null, empty or " +
      "0001-01-01T00:00:00Z: the longest allowed. Typed clients leave it out for that.",
    { instant: true },
  ),
  license_id: field(
    "One license of the product, by its id; left out: one that can serve the call. Decimal " +
      "digits; a JSON integer is understood too.",
    { tolerates: "integer" },
  ),
  feature: name("Feature code, as the vendor named it."),
  license_key: name("The vendor's name for what was bought."),
  signing_key: field("The vendor's initialization code; white space and dashes do not matter.", {
    bytes: IDENTIFIER_BYTES,
  }),
  license_policy: field("The vendor's policy document, as it is or as base64 of it.", {
    bytes: CODE_BYTES,
  }),
  policy_id: field("The policy's id; left out: its own. A JSON integer is understood too.", {
    tolerates: "integer",
    bytes: IDENTIFIER_BYTES,
  }),
  confirmation_code: field("The vendor's code; case, white space and dashes do not matter.", {
    bytes: CODE_BYTES,
  }),
  apiKey: field("The API key; empty or left out: unchanged.", { bytes: SECRET_BYTES }),
  sharedKey: field("The shared key; empty or left out: unchanged.", { bytes: SECRET_BYTES }),
  name: name("The name of a token or a user."),
  role: field("admin or user; user when left out."),
  password: field("At least 12 characters.", { bytes: 1_024 }),
  days: field(
    "Until the token ends, 1 to 9999; left out: never. A JSON integer is understood too.",
    {
      tolerates: "integer",
    },
  ),
  text: field("What the codes shall hold.", { bytes: CODE_BYTES }),
  frames: field("What was read, a code a line, in any order."),
  vendor: name("A vendor, by its id."),
  accept_gap: field(
    "Why lines that cannot be found again are given up; it stands in the audit log. Left out or " +
      "empty: they are not.",
    { bytes: INFO_BYTES },
  ),
  month: field("A month of the audit log, as its files are named: YYYY-MM."),
  note: field("What the audit log shall say about it.", { bytes: INFO_BYTES }),
  appliance: field("This appliance, by its id; berth status tells it."),
  range: field("How far back: day (default), week or month."),
  wait: field(
    "true: not before all of the record is read that it takes. A JSON boolean is understood too.",
    { tolerates: "boolean" },
  ),
  with_borrows: field("true: also while slots are borrowed. A JSON boolean is understood too.", {
    tolerates: "boolean",
  }),
  consumptions: count(
    "How many to add; 1 when left out, less than 0 only where the license allows.",
  ),
  max_overages: count("Tightens the license's own overage for this call; less than 0: not given."),
  allow_overages: field(
    "false: no overage for this call; true: as the license has it. A JSON boolean is understood " +
      "too.",
    { tolerates: "boolean" },
  ),
} as const;

/**
 * A body brought to the names and types of its schema; keys the schema does not know are dropped,
 * and the reply's headers name them.
 */
export function matchFields(
  schema: TObject,
  raw: Readonly<Record<string, unknown>>,
  headers: ReplyHeaders,
): object {
  const matched: Record<string, unknown> = Object.create(null);
  const keys = Object.keys(raw);
  let exact = 0;
  for (const name of Object.keys(schema.properties)) {
    if (!Object.hasOwn(raw, name) || raw[name] === null) continue;
    exact += 1;
    matched[name] = asText(schema, name, raw[name]);
  }
  // Null and absent are the same, so only what is left over can be a variant in another case.
  if (exact === keys.length) return matched;
  const known = new Set(Object.keys(matched));
  for (const name of Object.keys(schema.properties)) {
    const variants = keys.filter((key) => key.toLowerCase() === name.toLowerCase());
    for (const key of variants) if (raw[key] === null) known.add(key);
    if (name in matched) continue;
    const variant = variants.find((key) => raw[key] !== null);
    if (variant === undefined) continue;
    known.add(variant);
    matched[name] = asText(schema, name, raw[variant]);
  }
  if (known.size < keys.length) {
    nameIgnored(
      headers,
      keys.filter((key) => !known.has(key)),
    );
  }
  return matched;
}

function asText(schema: TObject, name: string, value: unknown): unknown {
  const tolerates: unknown = schema.properties[name]?.["tolerates"];
  const understood =
    (tolerates === "integer" && typeof value === "number" && Number.isInteger(value)) ||
    (tolerates === "boolean" && typeof value === "boolean");
  return understood ? String(value) : value;
}

/** An opaque name in NFC; "" when absent. */
export function text(name: string, value: string | undefined): string {
  if (value === undefined || value === "") return "";
  return checked(name, value, IDENTIFIER_BYTES, UNSEEN);
}

/** A name that must be there to be used: empty is absent. */
export function identifier(name: string, value: string | undefined): string | null {
  return text(name, value) || null;
}

export function freeText(name: string, value: string | undefined): string {
  return value === undefined ? "" : checked(name, value, INFO_BYTES, UNSEEN_IN_TEXT);
}

function checked(field: string, value: string, bytes: number, unseen: RegExp): string {
  if (!value.isWellFormed() || unseen.test(value)) refuse({ code: "invalid_characters", field });
  const composed = value.normalize("NFC");
  if (composed.length > bytes || Buffer.byteLength(composed) > bytes) {
    refuse({ code: "too_long", field, bytes });
  }
  return composed;
}

const NUMBER = /^(?:0|-?[1-9]\d{0,12})$/;
const LARGEST = 1_000_000_000_000;

/** Null when absent or empty. */
function integer(field: string, value: string | undefined): number | null {
  if (value === undefined || value === "") return null;
  const number = NUMBER.test(value) ? Number(value) : Number.NaN;
  if (!(Math.abs(number) <= LARGEST)) refuse({ code: "invalid_number", field, most: LARGEST });
  return number;
}

/** License ids are larger than counts: any whole number that JSON can carry exactly. */
export function licenseId(value: string | undefined): number | null {
  if (value === undefined || value === "") return null;
  const number = /^(?:0|[1-9]\d{0,15})$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number)) {
    refuse({ code: "invalid_number", field: "license_id", most: Number.MAX_SAFE_INTEGER });
  }
  return number;
}

/** Empty is a count that is not one; absent is 1. */
export function consumptions(value: string | undefined): number {
  if (value === undefined) return 1;
  return (
    integer("consumptions", value) ??
    refuse({ code: "invalid_number", field: "consumptions", most: LARGEST })
  );
}

/** Negative or empty is "not given". */
export function maxOverages(value: string | undefined): number | null {
  const number = integer("max_overages", value);
  return number === null || number < 0 ? null : number;
}

export function boolean(field: string, value: string | undefined): boolean | null {
  switch (value?.toLowerCase()) {
    case undefined:
    case "":
      return null;
    case "true":
    case "1":
      return true;
    case "false":
    case "0":
      return false;
    default:
      return refuse({ code: "invalid_boolean", field });
  }
}

/** Null when absent, empty or the zero time. */
export function timestamp(field: string, value: string | undefined): Instant | null {
  if (value === undefined || value === "") return null;
  const at = parseTimestamp(value) ?? refuse({ code: "invalid_timestamp", field });
  return at === ZERO_TIME ? null : at;
}

/** A code or a document: white space in it means nothing. Null when absent or empty. */
export function code(
  field: string,
  value: string | undefined,
  bytes: number = CODE_BYTES,
): string | null {
  const text = (value ?? "").trim();
  if (text === "") return null;
  return checked(field, text, bytes, UNSEEN_IN_TEXT);
}

/** Null when absent or empty. */
export function secret(field: string, value: string | undefined): string | null {
  if (value === undefined || value === "") return null;
  return checked(field, value, SECRET_BYTES, UNSEEN);
}

/** The application's own, for its lease; null when the header is not there. */
export function nonce(request: Request): string | null {
  const value = request.headers.get("x-nonce");
  if (value !== null && !/^[A-Za-z0-9._~-]{16,128}$/.test(value)) {
    const expected = "16 to 128 letters, digits, dots, dashes, underscores or tildes";
    refuse({ code: "invalid_parameter", field: "X-Nonce", expected });
  }
  return value;
}

/** 1 to 64 visible ASCII characters; null when the header is not there. */
export function idempotencyKey(request: Request): string | null {
  const key = request.headers.get("idempotency-key");
  if (key !== null && !/^[!-~]{1,64}$/.test(key)) {
    const expected = "1 to 64 visible ASCII characters";
    refuse({ code: "invalid_parameter", field: "Idempotency-Key", expected });
  }
  return key;
}
