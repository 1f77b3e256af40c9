import type { Instant } from "../domain/time.ts";
import type { DocumentedRefusal } from "./describe-route.ts";
import { refusalReply, type AnyFault, type FaultCode, type RefusalReply } from "./faults.ts";
import type { Plane } from "./planes.ts";

const SAMPLE_TIME = Date.UTC(2027, 0, 31, 18) as Instant;

/** A fact for everything that a sentence may mention. */
const SAMPLE_FACTS = {
  allow: ["POST"],
  allowed: false,
  at: SAMPLE_TIME,
  bytes: 65_536,
  end: SAMPLE_TIME,
  field: "consumptions",
  fields: ["product"],
  file: "2026-03.jsonl",
  latest: SAMPLE_TIME,
  line: 42,
  mib: 64,
  left: 3,
  licenses: 2,
  limit: 1_000_000_000_000,
  nextFree: SAMPLE_TIME,
  reason: "the disk is full",
  retryAfter: 2,
  row: 2,
  serial: 4,
  slots: 5,
  start: SAMPLE_TIME,
  total: 7,
  what: "license",
  scope: "user",
};

/** Where one word means different things to different sentences. */
const SAMPLE_FACTS_BY_CODE: Partial<Record<FaultCode, object>> = {
  early_return_not_allowed: { until: SAMPLE_TIME },
  leased_elsewhere: { until: SAMPLE_TIME, canReturn: true },
  forbidden: { reason: "network" },
  invalid_qr_frames: { reason: "code 2 of 3 is missing" },
  invalid_license_file: { reason: "is not a signed document" },
  invalid_timestamp: { field: "borrowed_until" },
  too_long: { field: "user", bytes: 256 },
  invalid_boolean: { field: "allow_overages" },
  invalid_characters: { field: "user" },
};

export interface RefusalContext {
  readonly plane: Plane;
  readonly requiredFields: readonly string[];
}

/** What such a refusal may look like: the very sentence, with made-up facts where it has none. */
export function sampleRefusal(
  one: DocumentedRefusal,
  { plane, requiredFields }: RefusalContext,
): RefusalReply {
  if (typeof one !== "string") return refusalReply(one);
  const facts = {
    ...SAMPLE_FACTS,
    ...(requiredFields.length > 0 && { fields: requiredFields }),
    ...(plane !== "login" && { plane }),
    ...SAMPLE_FACTS_BY_CODE[one],
  };
  return refusalReply({ ...facts, code: one } as AnyFault);
}

/** What any request can get, whatever it asks for. */
export const COMMON_REFUSALS: readonly DocumentedRefusal[] = [
  "invalid_json",
  "body_not_object",
  "invalid_type",
  "invalid_number",
  "invalid_characters",
  "too_long",
  "too_complex",
  "unauthorized",
  "forbidden",
  "cross_site",
  "tls_required",
  "moved_away",
  "too_large",
  "unsupported_media_type",
  "wrong_host",
  { code: "too_many_requests", busy: "requests" },
  "internal_error",
  "storage_full",
  "storage_failed",
];
