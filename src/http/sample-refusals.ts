import type { Instant } from "../domain/time.ts";
import type { Refusing } from "./describe.ts";
import { refused, type AnyFault, type Code, type Refused } from "./faults.ts";
import type { Plane } from "./planes.ts";

const SOME_TIME = Date.UTC(2027, 0, 31, 18) as Instant;

/** A fact for everything that a sentence may mention. */
const FACTS = {
  allow: ["POST"],
  allowed: false,
  at: SOME_TIME,
  bytes: 65_536,
  end: SOME_TIME,
  field: "consumptions",
  fields: ["product"],
  file: "2026-03.jsonl",
  latest: SOME_TIME,
  line: 42,
  mib: 64,
  left: 3,
  licenses: 2,
  most: 1_000_000_000_000,
  nextFree: SOME_TIME,
  reason: "the disk is full",
  retryAfter: 2,
  row: 2,
  serial: 4,
  slots: 5,
  start: SOME_TIME,
  total: 7,
  what: "license",
  who: "user",
};

/** Where one word means different things to different sentences. */
const OWN: Partial<Record<Code, object>> = {
  early_return_not_allowed: { until: SOME_TIME },
  leased_elsewhere: { until: SOME_TIME, canReturn: true },
  forbidden: { reason: "network" },
  invalid_qr_frames: { reason: "code 2 of 3 is missing" },
  invalid_license_file: { reason: "is not a signed document" },
  invalid_timestamp: { field: "borrowed_until" },
  too_long: { field: "user", bytes: 256 },
  invalid_boolean: { field: "allow_overages" },
  invalid_characters: { field: "user" },
};

export interface Asked {
  readonly plane: Plane;
  readonly needs: readonly string[];
}

/** What such a refusal may look like: the very sentence, with made-up facts where it has none. */
export function sampleRefusal(one: Refusing, { plane, needs }: Asked): Refused {
  if (typeof one !== "string") return refused(one);
  const facts = {
    ...FACTS,
    ...(needs.length > 0 && { fields: needs }),
    ...(plane !== "login" && { plane }),
    ...OWN[one],
  };
  return refused({ ...facts, code: one } as AnyFault);
}

/** What any request can get, whatever it asks for. */
export const COMMON: readonly Refusing[] = [
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
