import type { Fault } from "../domain/fault.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { formatList, SAMPLE_TIME } from "./fault-parts.ts";
import type { FaultRows } from "./fault-row.ts";

/** Refusals of the rules for slots, consumption and features. */
export const USE_FAULTS = {
  missing_parameters: {
    status: 400,
    message: ({ fields }) => `${formatList(fields)} must be given`,
    shortReason: "missing field",
    sample: { fields: ["product"] },
  },
  unknown_product: {
    status: 400,
    message: () => "no license is installed for this product",
    hint: "berth license list shows what is installed; product codes are case-sensitive",
    shortReason: "no license for the product",
  },
  license_not_found: {
    status: 400,
    message: () => "no installed license matches the request",
    hint: "berth license list shows what is installed",
    shortReason: "no matching license",
  },
  license_not_enabled: {
    status: 400,
    message: () => "the license is disabled",
    shortReason: "license disabled",
  },
  license_not_active: {
    status: 400,
    message: ({ start }) => `the license is not valid yet; it starts at ${rfc3339(start)}`,
    shortReason: "license not yet valid",
    sample: { start: SAMPLE_TIME },
  },
  license_expired: {
    status: 400,
    message: ({ what, end }) => `the ${what} expired at ${rfc3339(end)}`,
    shortReason: "license expired",
    sample: { what: "license", end: SAMPLE_TIME },
  },
  floating_not_available: {
    status: 400,
    message: ({ slots, nextFree }) => {
      if (slots === 0) return "the license has no slots";
      const reason = slots === 1 ? "the only slot is taken" : `all ${slots} slots are taken`;
      if (nextFree === null) return reason;
      return `${reason}; the next one is free at ${rfc3339(nextFree)} unless it is renewed`;
    },
    shortReason: "no free slot",
    sample: { slots: 5, nextFree: SAMPLE_TIME },
  },
  slots_capped: {
    status: 400,
    message: ({ scope, slots }) =>
      `one ${scope === "peer" ? "address" : scope} may hold ${slots === 1 ? "1 slot" : `${slots} slots`} at once on this server; ` +
      `release one first, or ask the operator to raise max_slots_per_${scope}`,
    shortReason: "operator’s slot limit reached",
    sample: { scope: "user", slots: 5 },
  },
  user_not_registered: {
    status: 400,
    message: ({ slot }) =>
      slot === undefined
        ? "the user holds no such slot"
        : slot === "license"
          ? "the user holds no slot of the license; call register first"
          : "the user holds no slot of the feature",
    hint: "berth slots lists the slots in use; user names are case-sensitive",
    shortReason: "no slot held",
  },
  license_borrow_not_allowed: {
    status: 400,
    message: () => "the license does not allow borrowing",
    shortReason: "borrowing not allowed",
  },
  borrow_until_not_valid: {
    status: 400,
    message: ({ latest }) =>
      `borrowed_until must be after now and no later than ${rfc3339(latest)}`,
    shortReason: "invalid borrow period",
    sample: { latest: SAMPLE_TIME },
  },
  leased_elsewhere: {
    status: 400,
    message: ({ until, canReturn }) =>
      `the slot is leased to another device until ${rfc3339(until)}; ` +
      (canReturn
        ? "release it on that device, or call unregister for this user, then borrow again"
        : "the license does not allow an early return"),
    shortReason: "leased to another device",
    sample: { until: SAMPLE_TIME, canReturn: true },
  },
  early_return_not_allowed: {
    status: 400,
    message: ({ until }) =>
      `the license does not allow an early return: the slot stays borrowed until ${rfc3339(until)}`,
    hint: "berth slots shows when the borrow ends",
    shortReason: "borrowed slot returned too early",
    sample: { until: SAMPLE_TIME },
  },
  license_not_consumption: {
    status: 400,
    message: () => "the license does not count consumption",
    shortReason: "consumption not counted",
  },
  license_not_enough_consumptions: {
    status: 400,
    message: ({ left }) =>
      `nothing was counted: at most ${left} more can be counted on the license`,
    shortReason: "quota used up",
    sample: { left: 3 },
  },
  negative_not_allowed: {
    status: 400,
    message: ({ allowed, total }) =>
      allowed
        ? `nothing was counted: the total is ${total} and cannot go below 0`
        : "nothing was counted: the license does not allow negative counts",
    shortReason: "negative consumption not allowed",
    sample: { allowed: false, total: 7 },
  },
  invalid_license_feature_code: {
    status: 400,
    message: () => "the license has no such feature",
    shortReason: "no such feature",
  },
  unsupported_product_feature: {
    status: 400,
    message: () => "the feature does not count consumption",
    shortReason: "feature consumption not counted",
  },
  feature_not_floating: {
    status: 400,
    message: () => "the feature is not floating",
    shortReason: "feature without slots",
  },
  feature_not_enough_consumptions: {
    status: 400,
    message: ({ left }) =>
      `nothing was counted: at most ${left} more can be counted on the feature`,
    shortReason: "feature quota used up",
    sample: { left: 3 },
  },
  idempotency_key_reused: {
    status: 409,
    message: () => "this Idempotency-Key was used for another command; use a new one",
    shortReason: "idempotency key reused",
  },
  audit_budget_exhausted: {
    status: 429,
    message: ({ mibPerHour, retryAfterSeconds }) =>
      `nothing was changed: one address may add ${mibPerHour} MiB an hour to the audit log; try again in ` +
      `${retryAfterSeconds} s, or ask the operator for a larger audit_budget`,
    shortReason: "audit log limit of an address reached",
    sample: { mibPerHour: 64, retryAfterSeconds: 2 },
  },
  clock_suspect: {
    status: 400,
    message: () =>
      "the server's clock is far behind its audit log; run berth clock on the server for how to correct it",
    hint: "berth clock shows which clock is wrong and what to do",
    shortReason: "system clock far behind",
    sample: { behind: 172_800_000 },
  },
} satisfies Partial<FaultRows<Fault["code"]>>;
