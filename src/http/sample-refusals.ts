import { limits } from "../domain/limits.ts";
import type { Instant } from "../domain/time.ts";
import type { DocumentedRefusal } from "./describe-route.ts";
import { refusalReply, type AnyFault, type FaultCode, type RefusalReply } from "./faults.ts";
import type { Plane } from "./planes.ts";

const SAMPLE_TIME = Date.UTC(2027, 0, 31, 18) as Instant;

/** A value for every placeholder of a message. */
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
  mibPerHour: 64,
  left: 3,
  licenses: 2,
  limit: 1_000_000_000_000,
  nextFree: SAMPLE_TIME,
  reason: "the disk is full",
  retryAfterSeconds: 2,
  row: 2,
  serial: 4,
  slots: 5,
  start: SAMPLE_TIME,
  total: 7,
  what: "license",
  scope: "user",
};

/** Values for faults that use the same field name with another meaning. */
const SAMPLE_FACTS_BY_CODE: Partial<Record<FaultCode, object>> = {
  early_return_not_allowed: { until: SAMPLE_TIME },
  leased_elsewhere: { until: SAMPLE_TIME, canReturn: true },
  forbidden: { reason: "network" },
  invalid_qr_frames: { reason: "code 2 of 3 is missing" },
  invalid_license_file: { reason: "is not a signed document" },
  invalid_timestamp: { field: "borrowed_until" },
  too_long: { field: "user", bytes: 256 },
  too_many_audit_gaps: { limit: limits.auditGaps },
  invalid_boolean: { field: "allow_overages" },
  invalid_characters: { field: "user" },
};

export interface RefusalContext {
  readonly plane: Plane;
  readonly requiredFields: readonly string[];
}

/** An example of a refusal: the real message, with sample values. */
export function sampleRefusal(
  refusal: DocumentedRefusal,
  { plane, requiredFields }: RefusalContext,
): RefusalReply {
  if (typeof refusal !== "string") return refusalReply(refusal);
  const facts = {
    ...SAMPLE_FACTS,
    ...(requiredFields.length > 0 && { fields: requiredFields }),
    ...(plane !== "login" && { plane }),
    ...SAMPLE_FACTS_BY_CODE[refusal],
  };
  return refusalReply({ ...facts, code: refusal } as AnyFault);
}

/** Refusals that any request can get. */
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
