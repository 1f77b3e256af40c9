import type { Fault } from "../../domain/fault.ts";

/** Why nothing was granted, short enough for a legend. One that is missing does not compile. */
const REASON_BY_CODE: Readonly<Record<Fault["code"], string>> = {
  missing_parameters: "something was left out",
  unknown_product: "no license for that product",
  license_not_found: "no license that fits",
  license_not_enabled: "license disabled",
  license_not_active: "license not begun",
  license_expired: "license ended",
  floating_not_available: "no free slot",
  slots_capped: "the operator’s cap on slots reached",
  user_not_registered: "no slot held",
  license_borrow_not_allowed: "borrowing not allowed",
  borrow_until_not_valid: "borrowed for too long",
  leased_elsewhere: "leased to another device",
  early_return_not_allowed: "borrowed slot returned too early",
  license_not_consumption: "consumption not counted",
  license_not_enough_consumptions: "nothing left to consume",
  negative_not_allowed: "counting down not allowed",
  invalid_license_feature_code: "no such feature",
  unsupported_product_feature: "consumption of the feature not counted",
  feature_not_floating: "feature without slots",
  feature_not_enough_consumptions: "nothing of the feature left to consume",
  idempotency_key_reused: "key used for something else",
  audit_budget_exhausted: "one address’s limit on the audit log reached",
  clock_suspect: "machine’s clock far behind",
  untrusted_vendor: "vendor not trusted",
  hardware_mismatch: "signed for other hardware",
  moved_away: "moved to another host",
  request_unknown: "request not known",
  request_used: "request answered already",
  stale_license: "older than what is installed",
  unknown_vendor: "vendor not known",
  vendor_in_use: "vendor’s licenses installed",
  slots_borrowed: "slots borrowed",
  too_many_audit_gaps: "too many gaps in the audit log",
};

/** What this page does not know yet is told by its code. */
export const reasonOf = (code: string): string =>
  Object.hasOwn(REASON_BY_CODE, code) ? REASON_BY_CODE[code as Fault["code"]] : code;
