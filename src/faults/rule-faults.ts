import type { Fault } from "../domain/model/fault.ts";
import { pluralize } from "../domain/model/event-texts.ts";
import { limits } from "../domain/model/limits.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import {
  CONFLICT_HINTS,
  describeConflict,
  describeReturned,
  formatList,
  SAMPLE_TIME,
} from "./fault-parts.ts";
import type { FaultRows } from "./fault-row.ts";
import { PAIR_FAULTS } from "./pair-faults.ts";
import { SHARING_FAULTS } from "./sharing-faults.ts";

/** One row for each refusal of the rules in `domain`. */
export const RULE_FAULTS: FaultRows<Fault["code"]> = {
  // Slots, consumption and features.
  missing_parameters: {
    status: 400,
    message: ({ fields }) => `${formatList(fields)} must be given`,
    sample: { fields: ["product"] },
  },
  unknown_product: {
    status: 400,
    message: () => "no license is installed for this product",
    hint: "berth license list shows what is installed; product codes are case-sensitive",
  },
  license_not_found: {
    status: 400,
    message: () => "no installed license matches the request",
    hint: "berth license list shows what is installed",
  },
  license_not_enabled: {
    status: 400,
    message: () => "the license is disabled",
  },
  license_not_active: {
    status: 400,
    message: ({ start }) => `the license is not valid yet; it starts at ${rfc3339(start)}`,
    sample: { start: SAMPLE_TIME },
  },
  license_expired: {
    status: 400,
    message: ({ what, end }) => `the ${what} expired at ${rfc3339(end)}`,
    sample: { what: "license", end: SAMPLE_TIME },
  },
  ...SHARING_FAULTS,
  ...PAIR_FAULTS,
  user_not_registered: {
    status: 400,
    message: ({ slot }) =>
      slot === undefined
        ? "the user holds no such slot"
        : slot === "license"
          ? "the user holds no slot of the license; call register first"
          : "the user holds no slot of the feature",
    hint: "berth slots lists the slots in use; user names are case-sensitive",
  },
  not_waiting: {
    status: 400,
    message: () => "the user does not wait for a slot of the product",
    hint: "berth queue lists the users who wait; user names are case-sensitive",
  },
  license_borrow_not_allowed: {
    status: 400,
    message: () => "the license does not allow borrowing",
  },
  borrow_until_not_valid: {
    status: 400,
    message: ({ latest, rule }) =>
      `borrowed_until must be after now and no later than ${rfc3339(latest)}` +
      (rule === undefined
        ? ""
        : `: the site's rules allow borrowing for ${pluralize(rule.hours, "hour")} (line ${rule.line})`),
    sample: { latest: SAMPLE_TIME },
  },
  leased_elsewhere: {
    status: 400,
    message: ({ until, canReturn }) =>
      `the slot is leased to another device until ${rfc3339(until)}; ` +
      (canReturn
        ? "release it on that device, or call unregister for this user, then borrow again"
        : "the license does not allow an early return"),
    sample: { until: SAMPLE_TIME, canReturn: true },
  },
  early_return_not_allowed: {
    status: 400,
    message: ({ until }) =>
      `the license does not allow an early return: the slot stays borrowed until ${rfc3339(until)}`,
    hint: "berth slots shows when the borrow ends",
    sample: { until: SAMPLE_TIME },
  },
  license_not_consumption: {
    status: 400,
    message: () => "the license does not count consumption",
  },
  license_not_enough_consumptions: {
    status: 400,
    message: ({ left }) =>
      `nothing was counted: at most ${left} more can be counted on the license`,
    sample: { left: 3 },
  },
  negative_not_allowed: {
    status: 400,
    message: ({ allowed, total }) =>
      allowed
        ? `nothing was counted: the total is ${total} and cannot go below 0`
        : "nothing was counted: the license does not allow negative counts",
    sample: { allowed: false, total: 7 },
  },
  invalid_license_feature_code: {
    status: 400,
    message: () => "the license has no such feature",
    hint: "berth license list --json shows the features; their codes are case-sensitive",
  },
  unsupported_product_feature: {
    status: 400,
    message: () => "the feature does not count consumption",
  },
  feature_not_floating: {
    status: 400,
    message: () => "the feature is not floating",
  },
  feature_not_enough_consumptions: {
    status: 400,
    message: ({ left }) =>
      `nothing was counted: at most ${left} more can be counted on the feature`,
    sample: { left: 3 },
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
    sample: { mibPerHour: 64, retryAfterSeconds: 2 },
  },
  clock_suspect: {
    status: 400,
    message: () =>
      "the server's clock is far behind its audit log; run berth clock on the server for how to correct it",
    hint: "berth clock shows which clock is wrong and what to do",
    sample: { behind: 172_800_000 },
  },

  // Installing, returning and moving licenses, and trust.
  untrusted_vendor: {
    status: 400,
    message: ({ conflict }) =>
      conflict === undefined
        ? "no trusted vendor licenses this product with this root key; berth trust list shows the " +
          "trusted vendors"
        : describeConflict(conflict),
    hint: ({ conflict }) =>
      conflict === undefined
        ? "add the vendor's trust document with berth trust add FILE"
        : CONFLICT_HINTS[conflict.over],
  },
  root_changed: {
    status: 400,
    message: ({ vendor }) =>
      `another root key is known here for the vendor ${vendor}; nothing of this file was accepted`,
    hint: "ask the vendor by telephone, and compare the fingerprint that berth trust list shows",
    sample: { vendor: "TC9F2T66SYV840EC" },
  },
  trust_older: {
    status: 400,
    message: ({ version }) =>
      `version ${version} of this trust document is installed here, and this one is older or another one of that version`,
    hint: "berth trust list shows what is installed; ask the vendor for its newest trust document",
    sample: { version: 3 },
  },
  trust_outdated: {
    status: 400,
    message: ({ vendor, version }) =>
      `the key that signed this file needs version ${version} of the trust document of ${vendor}; ` +
      "install trust.jwt from the vendor first",
    hint: "ask the vendor for its trust.jwt, and add it with berth trust add trust.jwt",
    sample: { vendor: "Initrode", version: 3 },
  },
  retired_key: {
    status: 400,
    message: ({ vendor, key }) =>
      `${vendor} has retired the key ${key} that signed this file; ask for it signed with its new key`,
    hint: "a file that the vendor did not send may be a thief's: tell the vendor",
    sample: { vendor: "Initrode", key: "8F2T66SYV840ECTC" },
  },
  key_ended: {
    status: 400,
    message: ({ vendor, end, at }) =>
      `the key of ${vendor} that signed this file ended at ${rfc3339(end)}, and it is ${rfc3339(at)}; ` +
      "ask for the file signed with its new key",
    hint: "if that time is wrong, berth clock shows how to correct it",
    sample: { vendor: "Initrode", end: SAMPLE_TIME, at: SAMPLE_TIME },
  },
  moved_away: {
    status: 409,
    message: ({ at }) => `this server was moved to another host on ${rfc3339(at)}; use that host`,
    sample: { at: SAMPLE_TIME },
  },
  request_unknown: {
    status: 400,
    message: ({ returned, cancelled }) =>
      describeReturned(returned) ??
      (cancelled === true
        ? "the request that this license answers was cancelled here; create a new request"
        : "the license does not answer any request of this appliance; create a new request"),
    hint: "create a new request with berth license request",
  },
  request_not_found: {
    status: 400,
    message: ({ reason }) =>
      reason === null ? "no open request has this id" : REQUEST_REASONS[reason],
    hint: "berth license requests lists the open requests",
    sample: { reason: null },
  },
  request_used: {
    status: 400,
    message: () =>
      "the request that this license answers was already answered; create a new request",
    hint: "create a new request with berth license request",
  },
  stale_license: {
    status: 400,
    message: ({ serial, returned }) =>
      describeReturned(returned) ??
      `serial ${serial} of this license was already installed here; request a newer license`,
    hint: "berth license list shows what is installed; berth license request requests a newer one",
    sample: { serial: 4 },
  },
  unknown_vendor: {
    status: 400,
    message: () => "this vendor is not trusted",
    hint: "berth trust list shows all vendors",
  },
  statement_not_due: {
    status: 400,
    message: ({ since }) =>
      since === null
        ? "the vendor has no license here, so there is nothing to report"
        : `a statement covers whole days in UTC, and ${rfc3339(since).slice(0, 10)} has not ended yet`,
    hint: "berth usage statements lists the statements that were made",
    sample: { since: SAMPLE_TIME },
  },
  statement_not_found: {
    status: 400,
    message: () => "this statement was not made, or is no longer kept because it was acknowledged",
    hint: "berth usage statements lists the statements that are kept",
  },
  statement_outdated: {
    status: 409,
    message: () => "another statement for this vendor was made at the same time; try again",
    hint: "run the command again",
  },
  statement_too_large: {
    status: 400,
    message: ({ day }) =>
      `the use of ${rfc3339(day).slice(0, 10)} does not fit into one statement; report this as a bug`,
    sample: { day: SAMPLE_TIME },
  },
  statement_unknown: {
    status: 400,
    message: ({ number, restoredAt }) =>
      `the vendor acknowledges a statement ${number} that this server did not make` +
      (restoredAt === null
        ? ""
        : `; a backup was restored on ${rfc3339(restoredAt)}, and the statement may have been made after that backup`),
    hint: ({ restoredAt }) =>
      restoredAt === null
        ? "berth usage statements lists the statements of this server; the file may be for a copy of it"
        : "make the next statement and tell the vendor of the restore: receiving it needs --accept-fork",
    sample: { number: 3, restoredAt: SAMPLE_TIME },
  },
  acknowledgement_foreign: {
    status: 400,
    message: ({ appliances }) =>
      appliances === null
        ? "no vendor that this server trusts signed this acknowledgement"
        : `the acknowledgement is for appliance ${appliances.signed}; this one is ${appliances.here}`,
    hint: "berth usage statements lists the statements of this server and their vendors",
    sample: { appliances: null },
  },
  vendor_in_use: {
    status: 400,
    message: ({ licenses }) =>
      `licenses of this vendor are installed (${licenses}); return them first`,
    sample: { licenses: 2 },
  },
  slots_borrowed: {
    status: 400,
    message: ({ slots }) =>
      `slots are borrowed (${slots}); with_borrows=true returns the license anyway`,
    commandLineMessage: ({ slots }) => `slots are borrowed (${slots})`,
    hint: "berth slots shows who borrows them; --with-borrows returns the license anyway",
    sample: { slots: 5 },
  },
  too_many_audit_gaps: {
    status: 409,
    message: ({ limit }) => `the audit log already has ${limit} declared gaps, the maximum`,
    sample: { limit: limits.auditGaps },
  },
};

const REQUEST_REASONS = {
  answered: "this request was answered: its license is installed",
  cancelled: "this request was cancelled",
  outdated:
    "this request can still be answered, but not shown again: too many were created since; " +
    "create a new request",
};
