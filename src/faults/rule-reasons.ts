import type { Fault } from "../domain/model/fault.ts";

/**
 * Short texts of the refusals of the rules: they are counted, so each needs a text that fits into
 * the legend of a chart. Apart from the messages, because the page needs these alone.
 */
const RULE_REASONS = {
  missing_parameters: "missing field",
  unknown_product: "no license for the product",
  license_not_found: "no matching license",
  license_not_enabled: "license disabled",
  license_not_active: "license not yet valid",
  license_expired: "license expired",
  floating_not_available: "no free slot",
  slots_capped: "operator’s slot limit reached",
  not_allowed_by_rules: "not allowed by the site’s rules",
  rules_changed: "rules were changed meanwhile",
  rules_over_reserved: "more slots reserved than there are",
  pair_complete: "pair has two hosts",
  host_not_admitted: "host not in the pair",
  not_a_pair: "one host alone",
  pair_incomplete: "pair lacks a second host",
  needs_pair: "issued for a pair",
  codes_not_for_pairs: "codes not possible in a pair",
  in_a_pair: "two hosts serve it",
  pair_ended: "the pair ended",
  user_not_registered: "no slot held",
  not_waiting: "not in the queue",
  license_borrow_not_allowed: "borrowing not allowed",
  borrow_until_not_valid: "invalid borrow period",
  leased_elsewhere: "leased to another device",
  early_return_not_allowed: "borrowed slot returned too early",
  license_not_consumption: "consumption not counted",
  license_not_enough_consumptions: "quota used up",
  negative_not_allowed: "negative consumption not allowed",
  invalid_license_feature_code: "no such feature",
  unsupported_product_feature: "feature consumption not counted",
  feature_not_floating: "feature without slots",
  feature_not_enough_consumptions: "feature quota used up",
  idempotency_key_reused: "idempotency key reused",
  audit_budget_exhausted: "audit log limit of an address reached",
  clock_suspect: "system clock far behind",
  untrusted_vendor: "vendor not trusted",
  root_changed: "another root key of the vendor",
  trust_older: "older trust document",
  trust_outdated: "newer trust document needed",
  retired_key: "signed with a retired key",
  key_ended: "signed with a key that has ended",
  hardware_mismatch: "issued for other hardware",
  moved_away: "moved to another host",
  request_unknown: "unknown request",
  request_not_found: "no such request",
  request_used: "request already answered",
  stale_license: "older than the installed license",
  unknown_vendor: "unknown vendor",
  statement_not_due: "no usage statement is due",
  statement_not_found: "no such usage statement",
  statement_outdated: "another usage statement was made at the same time",
  statement_too_large: "too much use for one statement",
  statement_unknown: "acknowledges an unknown statement",
  acknowledgement_foreign: "acknowledgement for another site",
  vendor_in_use: "vendor’s licenses installed",
  slots_borrowed: "slots borrowed",
  too_many_audit_gaps: "too many gaps in the audit log",
} as const satisfies Readonly<Record<Fault["code"], string>>;

/** The reason of a refusal, short enough for a legend; an unknown code stays as it is. */
export const reasonOf = (code: string): string => (isRuleCode(code) ? RULE_REASONS[code] : code);

const isRuleCode = (code: string): code is keyof typeof RULE_REASONS =>
  Object.hasOwn(RULE_REASONS, code);
