import type { ReturnedLicense } from "../domain/fault.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import {
  type FaultMessages,
  type FaultWithCode,
  formatList,
  formatNoFreeSlot,
  NO_SLOT_HELD_MESSAGES,
} from "./fault-message-parts.ts";
import { REQUEST_FAULT_MESSAGES } from "./request-fault-messages.ts";

/** One row per fault. A new fault without a row here does not compile. */
export const FAULT_MESSAGES: FaultMessages = {
  ...REQUEST_FAULT_MESSAGES,

  missing_parameters: {
    status: 400,
    message: ({ fields }) => `${formatList(fields)} must be given`,
  },
  unknown_product: { status: 400, message: () => "no license is installed for this product" },
  license_not_found: {
    status: 400,
    message: () => "no installed license matches the request",
  },
  license_not_enabled: { status: 400, message: () => "the license is disabled" },
  license_not_active: {
    status: 400,
    message: ({ start }) => `the license is not valid yet; it starts at ${rfc3339(start)}`,
  },
  license_expired: {
    status: 400,
    message: ({ what, end }) => `the ${what} expired at ${rfc3339(end)}`,
  },
  floating_not_available: {
    status: 400,
    message: ({ slots, nextFree }) => formatNoFreeSlot(slots, nextFree),
  },
  slots_capped: {
    status: 400,
    message: ({ scope, slots }) =>
      `one ${scope === "peer" ? "address" : scope} may hold ${slots === 1 ? "1 slot" : `${slots} slots`} at once on this server; ` +
      `release one first, or ask the operator to raise max_slots_per_${scope}`,
  },
  user_not_registered: {
    status: 400,
    message: ({ slot }) =>
      slot === undefined ? "the user holds no such slot" : NO_SLOT_HELD_MESSAGES[slot],
  },
  license_borrow_not_allowed: {
    status: 400,
    message: () => "the license does not allow borrowing",
  },
  borrow_until_not_valid: {
    status: 400,
    message: ({ latest }) =>
      `borrowed_until must be after now and no later than ${rfc3339(latest)}`,
  },
  leased_elsewhere: {
    status: 400,
    message: ({ until, canReturn }) =>
      `the slot is leased to another device until ${rfc3339(until)}; ` +
      (canReturn
        ? "release it on that device, or call unregister for this user, then borrow again"
        : "the license does not allow an early return"),
  },
  early_return_not_allowed: {
    status: 400,
    message: ({ until }) =>
      `the license does not allow an early return: the slot stays borrowed until ${rfc3339(until)}`,
  },
  license_not_consumption: {
    status: 400,
    message: () => "the license does not count consumption",
  },
  license_not_enough_consumptions: {
    status: 400,
    message: ({ left }) =>
      `nothing was counted: at most ${left} more can be counted on the license`,
  },
  negative_not_allowed: {
    status: 400,
    message: ({ allowed, total }) =>
      allowed
        ? `nothing was counted: the total is ${total} and cannot go below 0`
        : "nothing was counted: the license does not allow negative counts",
  },
  invalid_license_feature_code: {
    status: 400,
    message: () => "the license has no such feature",
  },
  unsupported_product_feature: {
    status: 400,
    message: () => "the feature does not count consumption",
  },
  feature_not_floating: { status: 400, message: () => "the feature is not floating" },
  feature_not_enough_consumptions: {
    status: 400,
    message: ({ left }) =>
      `nothing was counted: at most ${left} more can be counted on the feature`,
  },
  idempotency_key_reused: {
    status: 409,
    message: () => "this Idempotency-Key was used for another command; use a new one",
  },
  audit_budget_exhausted: {
    status: 429,
    message: ({ mibPerHour, retryAfterSeconds }) =>
      `nothing was changed: one address may add ${mibPerHour} MiB an hour to the audit log; try again in ` +
      `${retryAfterSeconds} s, or ask the operator for a larger audit_budget`,
  },
  invalid_license_file: { status: 400, message: ({ reason }) => `the file ${reason}` },
  invalid_confirmation_code: {
    status: 400,
    message: ({ row }) =>
      row === null
        ? "the code does not fit this appliance, this policy and this license key; check all three"
        : `row ${row} of the code was misread or mistyped`,
  },
  outdated_confirmation_code: {
    status: 400,
    message: () =>
      "an older version of berth created the code and signed too little: the vendor must update berth and confirm the activation code again",
  },
  policy_mismatch: {
    status: 400,
    message: () => "policy_id is not the id of this policy; correct or omit it",
  },
  clock_suspect: {
    status: 400,
    message: () =>
      "the server's clock is far behind its audit log; run berth clock on the server for how to correct it",
  },
  untrusted_vendor: {
    status: 400,
    message: () =>
      "no trusted vendor has this key for this product; berth trust list shows the trusted " +
      "vendors. If the vendor's key changed, a successor document is missing",
  },
  hardware_mismatch: {
    status: 400,
    message: ({ until, appliances }) =>
      until === undefined
        ? hardwareMismatchMessage(appliances)
        : `the license was signed for the previous host and was valid here until ${rfc3339(until)}; create a new request on this machine`,
  },
  moved_away: {
    status: 409,
    message: ({ at }) => `this server was moved to another host on ${rfc3339(at)}; use that host`,
  },
  request_unknown: {
    status: 400,
    message: ({ returned }) =>
      returnedLicenseMessage(returned) ??
      "the license does not answer any request of this appliance; create a new request",
  },
  request_used: {
    status: 400,
    message: () =>
      "the request that this license answers was already answered; create a new request",
  },
  stale_license: {
    status: 400,
    message: ({ serial, returned }) =>
      returnedLicenseMessage(returned) ??
      `serial ${serial} of this license was already installed here; request a newer license`,
  },
  trust_locked: {
    status: 400,
    message: () => "this build of berth trusts only the vendor it was built for",
  },
  unknown_vendor: { status: 400, message: () => "this vendor is not trusted" },
  vendor_in_use: {
    status: 400,
    message: ({ licenses }) =>
      `licenses of this vendor are installed (${licenses}); return them first`,
  },
  slots_borrowed: {
    status: 400,
    message: ({ slots }) =>
      `slots are borrowed (${slots}); with_borrows=true returns the license anyway`,
  },
  audit_month_empty: {
    status: 400,
    message: () => "the audit log has no lines of that month",
  },
  audit_month_sealed: { status: 409, message: () => "that month is already sealed" },
  audit_month_damaged: {
    status: 409,
    message: ({ file }) =>
      `${file} of the audit log is damaged or does not match its neighbouring files; repair it first`,
  },
  audit_maintenance_incomplete: {
    status: 503,
    message: ({ reason }) =>
      `the change to the audit log is incomplete, and nothing is lost: ${reason}; ` +
      "correct that, then repeat the operation",
  },
  too_many_audit_gaps: {
    status: 409,
    message: ({ limit }) => `the audit log already has ${limit} declared gaps, the maximum`,
  },
  invalid_qr_frames: {
    status: 400,
    message: ({ reason }) => `the QR codes cannot be joined: ${reason}`,
  },
  maintenance_failed: {
    status: 503,
    message: ({ reason }) => `the operation failed: ${reason}`,
  },
  request_cancelled: {
    status: 408,
    message: () => "the request was cancelled before it was complete",
  },
  storage_full: {
    status: 503,
    message: (fault) =>
      "isFileLimit" in fault
        ? "a file reached the server's file size limit (ulimit -f): nothing was changed; try again"
        : "the disk is full: nothing was changed; try again after space is available",
  },
  audit_log_damaged: {
    status: 503,
    message: ({ line }) =>
      `line ${line} of the audit log is damaged or missing; before=${line} shows older lines`,
  },
  storage_failed: {
    status: 503,
    message: () => "the disk failed: the outcome is unknown; try again",
  },
};

const hardwareMismatchMessage = (
  appliances: FaultWithCode<"hardware_mismatch">["appliances"],
): string =>
  appliances === undefined
    ? "the license was signed for other hardware; create a new request on this machine"
    : `the license is for appliance ${appliances.signed}; this one is ${appliances.here}: ` +
      "install it there, or create a new request here";

const returnedLicenseMessage = (returned: ReturnedLicense | undefined): string | null =>
  returned === undefined
    ? null
    : `license ${returned.license} was returned on ${rfc3339(returned.at)}; create a new request`;
