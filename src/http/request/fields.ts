import { Type, type TSchema } from "@sinclair/typebox";
import { INVISIBLE, INVISIBLE_IN_TEXT } from "../../domain/text/invisible-characters.ts";
import type { Instant } from "../../domain/time.ts";
import { refuse } from "../faults.ts";
import { parseTimestamp, ZERO_TIME } from "../timestamps.ts";

const IDENTIFIER_BYTES = 256;
const INFO_BYTES = 4 * 1024;
const CODE_BYTES = 64 * 1024;
const SECRET_BYTES = 4 * 1024;

/** Notes on a field, used by the OpenAPI document and by the readers below. */
export interface FieldOptions {
  readonly tolerates?: "integer" | "boolean" | "object";
  /** Maximum length in UTF-8. */
  readonly bytes?: number;
  /** What the OpenAPI document shows instead of a string. */
  readonly documentedAs?: TSchema;
  /** The text is an RFC 3339 time. */
  readonly instant?: true;
}

/**
 * A field of the contract: always an optional string in the schema that validates it. The
 * operation decides whether it is required, and the readers below check its text. A few accept
 * other JSON values too.
 */
export const field = (description: string, options: FieldOptions = {}) =>
  Type.Optional(Type.String({ description, ...options }));

/** An opaque name, as `readText` reads it. */
export const name = (description: string) => field(description, { bytes: IDENTIFIER_BYTES });

/** A text for people, as `readFreeText` reads it. */
export const freeText = (description: string) => field(description, { bytes: INFO_BYTES });

const count = (description: string) =>
  field(
    `${description} A whole number in decimal digits, up to 1000000000000; a JSON integer is ` +
      "also accepted.",
    { tolerates: "integer" },
  );

export const fields = {
  product: name("Product code. Optional if only one product is installed."),
  user: name("User of the slot: an opaque name, compared in Unicode NFC, case-sensitive."),
  borrowed_until: field(
    "End of the borrow, RFC 3339 with any offset. Absent, null, empty or 0001-01-01T00:00:00Z: " +
      "the longest borrow allowed. Typed clients omit the field for that.",
    { instant: true },
  ),
  license_id: field(
    "Id of a license of the product. Absent: the server chooses a suitable license. Decimal " +
      "digits; a JSON integer is also accepted.",
    { tolerates: "integer" },
  ),
  changes: field(
    'New values of settings by their names, such as {"site_name": "Plant 4"}. Each is a text, a ' +
      "list of texts, or null for the default. The object may also be sent as its JSON text.",
    {
      tolerates: "object",
      documentedAs: Type.Record(
        Type.String(),
        Type.Union([Type.String(), Type.Array(Type.String()), Type.Null()]),
      ),
      bytes: CODE_BYTES,
    },
  ),
  feature: name("Feature code, as defined by the vendor."),
  license_key: name("License key: the vendor's identifier of the purchase."),
  wanted_slots: count("Number of slots that the site asks for, from 1."),
  wanted_until: field(
    "Last day that the site asks for, as YYYY-MM-DD: the current day or a later one.",
  ),
  hosts: count(
    "Hosts that the license is for: 1, or 2 for both hosts of a pair; default: as installed.",
  ),
  request_note: field("Note for the vendor, one line of at most 500 characters."),
  request_id: field("Id of an open request, as in the list of requests."),
  signing_key: field("The vendor's initialization code; white space and dashes are ignored.", {
    bytes: IDENTIFIER_BYTES,
  }),
  license_policy: field("The vendor's policy document, as received or encoded in base64.", {
    bytes: CODE_BYTES,
  }),
  policy_id: field(
    "Policy id. Absent: the id in the policy document. A JSON integer is also accepted.",
    {
      tolerates: "integer",
      bytes: IDENTIFIER_BYTES,
    },
  ),
  confirmation_code: field("The vendor's code; case, white space and dashes are ignored.", {
    bytes: CODE_BYTES,
  }),
  apiKey: field("API key; empty or absent: unchanged.", { bytes: SECRET_BYTES }),
  sharedKey: field("Shared key; empty or absent: unchanged.", { bytes: SECRET_BYTES }),
  name: name("Name of a token or a user."),
  role: field(
    "Of a token: admin, viewer or metrics; required. Of a user: admin, viewer or user (default).",
  ),
  backup: name("File name of a backup, as the list of backups shows it."),
  password: field("At least 12 characters.", { bytes: 1_024 }),
  days: field(
    "Days until the token expires, 1 to 9999; absent: 365; 0: it never expires. A JSON integer is " +
      "also accepted.",
    { tolerates: "integer" },
  ),
  id: field("Id of a session, from GET access."),
  text: field("Text to encode in the QR codes.", { bytes: CODE_BYTES }),
  frames: field("Scanned QR codes, one per line, in any order."),
  vendor: name("Vendor id."),
  licensor: name(
    "Id or name of the vendor that the statement is for. Optional if only one vendor has licenses.",
  ),
  statement_number: count("Number of a statement; absent: the last one."),
  accept_gap: freeText(
    "Reason for declaring unrecoverable lines as a gap; it is written to the audit log. Absent " +
      "or empty: no gap is declared.",
  ),
  month: field("Month of the audit log, as in its file names: YYYY-MM."),
  note: freeText("Note for the audit log."),
  appliance: field("Id of this appliance, as berth status shows it."),
  pairRequest: field("Content of the file of berth pair request, as JSON text.", {
    bytes: CODE_BYTES,
  }),
  range: field("How far back: day (default), week, month, quarter, year or 18months."),
  with_borrows: field("true: also if slots are borrowed. A JSON boolean is also accepted.", {
    tolerates: "boolean",
  }),
  consumptions: count("Number to add; default 1. Negative only if the license allows it."),
  max_overages: count(
    "Overage limit for this request; it can only lower the license's limit. Negative: not given.",
  ),
  allow_overages: field(
    "false: no overage for this request; true: as the license allows. A JSON boolean is also " +
      "accepted.",
    { tolerates: "boolean" },
  ),
} as const;

/** An opaque name in NFC; "" when absent. */
export function readText(name: string, value: string | undefined): string {
  if (value === undefined || value === "") return "";
  return checkText(name, value, IDENTIFIER_BYTES, INVISIBLE);
}

/** An opaque name in NFC; null when absent or empty. */
export function readIdentifier(name: string, value: string | undefined): string | null {
  return readText(name, value) || null;
}

export function readFreeText(name: string, value: string | undefined): string {
  return value === undefined ? "" : checkText(name, value, INFO_BYTES, INVISIBLE_IN_TEXT);
}

/** Nothing in these is invisible, and each is one byte: nearly all texts consist of them. */
const PRINTABLE_ASCII = /^[ -~]*$/;

function checkText(field: string, value: string, bytes: number, forbidden: RegExp): string {
  if (value.length <= bytes && PRINTABLE_ASCII.test(value)) return value;
  if (!value.isWellFormed() || forbidden.test(value)) refuse({ code: "invalid_characters", field });
  const normalized = value.normalize("NFC");
  if (normalized.length > bytes || Buffer.byteLength(normalized) > bytes) {
    refuse({ code: "too_long", field, bytes });
  }
  return normalized;
}

const NUMBER = /^(?:0|-?[1-9]\d{0,12})$/;
const MAX_NUMBER = 1_000_000_000_000;

/** Null when absent or empty. */
function readInteger(field: string, value: string | undefined): number | null {
  if (value === undefined || value === "") return null;
  const number = NUMBER.test(value) ? Number(value) : Number.NaN;
  if (!(Math.abs(number) <= MAX_NUMBER))
    refuse({ code: "invalid_number", field, limit: MAX_NUMBER });
  return number;
}

/** License ids can be larger than counts: any whole number that JSON represents exactly. */
export function readLicenseId(value: string | undefined): number | null {
  if (value === undefined || value === "") return null;
  const number = /^(?:0|[1-9]\d{0,15})$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number)) {
    refuse({ code: "invalid_number", field: "license_id", limit: Number.MAX_SAFE_INTEGER });
  }
  return number;
}

/** Null when absent or empty. */
export function readStatementNumber(value: string | undefined): number | null {
  const number = readInteger("number", value);
  if (number !== null && number < 1) {
    refuse({ code: "invalid_number", field: "number", limit: MAX_NUMBER });
  }
  return number;
}

/** Absent means 1; empty is an invalid number. */
export function readConsumptions(value: string | undefined): number {
  if (value === undefined) return 1;
  return (
    readInteger("consumptions", value) ??
    refuse({ code: "invalid_number", field: "consumptions", limit: MAX_NUMBER })
  );
}

/** Null when absent, empty or negative. */
export function readMaxOverages(value: string | undefined): number | null {
  const number = readInteger("max_overages", value);
  return number === null || number < 0 ? null : number;
}

export function readBoolean(field: string, value: string | undefined): boolean | null {
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
export function readTimestamp(field: string, value: string | undefined): Instant | null {
  if (value === undefined || value === "") return null;
  const at = parseTimestamp(value) ?? refuse({ code: "invalid_timestamp", field });
  return at === ZERO_TIME ? null : at;
}

/** A code or a document, without surrounding white space. Null when absent or empty. */
export function readCode(
  field: string,
  value: string | undefined,
  bytes: number = CODE_BYTES,
): string | null {
  const trimmed = (value ?? "").trim();
  if (trimmed === "") return null;
  return checkText(field, trimmed, bytes, INVISIBLE_IN_TEXT);
}

/** Null when absent or empty. */
export function readSecret(field: string, value: string | undefined): string | null {
  if (value === undefined || value === "") return null;
  return checkText(field, value, SECRET_BYTES, INVISIBLE);
}

/** The application's nonce for its lease; null without the header. */
export function readNonce(request: Request): string | null {
  const value = request.headers.get("x-nonce");
  if (value !== null && !/^[A-Za-z0-9._~-]{16,128}$/.test(value)) {
    const expected = "16 to 128 letters, digits, dots, dashes, underscores or tildes";
    refuse({ code: "invalid_parameter", field: "X-Nonce", expected });
  }
  return value;
}

/** 1 to 64 visible ASCII characters; null without the header. */
export function readIdempotencyKey(request: Request): string | null {
  const key = request.headers.get("idempotency-key");
  if (key !== null && !/^[!-~]{1,64}$/.test(key)) {
    const expected = "1 to 64 visible ASCII characters";
    refuse({ code: "invalid_parameter", field: "Idempotency-Key", expected });
  }
  return key;
}
