import { FAULTS } from "../../faults/catalog.ts";
import type { AnyFault } from "../../faults/fault-types.ts";
import type { DocumentedRefusal } from "./describe-route.ts";
import { refusalReply, type RefusalReply } from "../faults.ts";
import type { Plane } from "../access/planes.ts";

export interface RefusalContext {
  readonly plane: Plane;
  readonly requiredFields: readonly string[];
}

/** An example of a refusal: the real message, with the sample facts of its row. */
export function sampleRefusal(
  refusal: DocumentedRefusal,
  { plane, requiredFields }: RefusalContext,
): RefusalReply {
  if (typeof refusal !== "string") return refusalReply(refusal);
  const facts = {
    ...FAULTS[refusal].sample,
    ...(requiredFields.length > 0 && { fields: requiredFields }),
    ...(plane !== "login" && { plane }),
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
