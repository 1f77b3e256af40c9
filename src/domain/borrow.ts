import { checkSlotCaps } from "./slot-caps.ts";
import type { Borrow } from "./command.ts";
import { machineOf } from "./contact.ts";
import { makeDecision } from "./decision.ts";
import type { Event } from "./event.ts";
import type { Fault } from "./fault.ts";
import { renewHeldFeatures } from "./features.ts";
import { findRecordedOutcome, recordOutcome } from "./idempotency.ts";
import { findLeasedDevice, checkLeasedElsewhere } from "./leases.ts";
import { findMissingFields } from "./licenses.ts";
import { limits } from "./limits.ts";
import { err, ok, type Result } from "./result.ts";
import {
  getBorrowEnd,
  findSlot,
  expireOwnEndedSlot,
  makeSlotRenewed,
  makeSlotOutcome,
  makeSlotTaken,
  type SlotDecision,
  type SlotOutcome,
} from "./slots.ts";
import type { License, State } from "./state.ts";
import { canBorrow, getLicenseEnd } from "./terms.ts";
import { earliest, HOUR, later, latest, MINUTE, type Instant } from "./time.ts";
import { CLOCK_LIMITS, isClockSuspect } from "./timekeeper.ts";

/** What is kept of a borrow under its key; user and contact come again with the repeat. */
type RecordedBorrow = Omit<SlotOutcome, "user" | "contact">;

/** Registers the user if needed; borrowing again moves the end. */
export function decideBorrow(state: State, command: Borrow, at: Instant): SlotDecision {
  const { user, contact, nonceDigest } = command;
  const missing = findMissingFields(state, command, { user });
  if (user === null || missing.length > 0) {
    return err({ code: "missing_parameters", fields: missing });
  }
  const earlier = findRecordedOutcome<RecordedBorrow>(state, "borrow", command, user, at);
  if (earlier !== null) {
    if (!earlier.ok) return earlier;
    const { outcome } = earlier.value;
    const license = state.licenses.get(outcome.license);
    const elsewhere = license && checkLeasedElsewhere(license, user, nonceDigest, at);
    return elsewhere ? err(elsewhere) : makeDecision([], { ...outcome, user, contact });
  }

  const found = findSlot(state, command, user, at, ({ terms }) => canBorrow(terms));
  if (!found.ok) return found;
  const { license, registration } = found.value;
  const elsewhere = checkLeasedElsewhere(license, user, nonceDigest, at);
  if (elsewhere !== null) return err(elsewhere);
  const capped = registration === null ? checkSlotCaps(state, user, contact.peer, at) : null;
  if (capped !== null) return err(capped);
  if (isClockSuspect(state.clockBehind) && getLicenseEnd(license.terms) !== null) {
    return err({ code: "clock_suspect", behind: CLOCK_LIMITS.behindSuspect });
  }
  const current = registration === null ? null : getBorrowEnd(registration, at);
  const until = computeBorrowEnd(license, command.until, current, at);
  if (!until.ok) return until;

  const registered = makeSlotOutcome(state, found.value, user, contact, at);
  const outcome = {
    ...registered,
    end: latest(later(at, license.terms.timeoutMinutes * MINUTE), until.value),
    borrowedUntil: until.value,
  };
  const leasedTo = findLeasedDevice(registration, at) ?? nonceDigest;
  const events: Event[] =
    registration === null
      ? [...expireOwnEndedSlot(license, user), makeSlotTaken(registered, at)]
      : [];
  events.push({
    type: "SlotBorrowed",
    at,
    license: license.id,
    user,
    slot: outcome.slot,
    until: until.value,
    end: outcome.end,
    contact: machineOf(contact),
    early: current !== null && until.value < current,
    ...(leasedTo !== null && { leasedTo }),
  });
  events.push(...renewHeldFeatures(license, user, outcome.end, at));
  const { user: _user, contact: _contact, ...kept } = outcome;
  // The state learns user_info by a renewal, which is not audited.
  const isNews = registration !== null && registration.contact.info !== contact.info;
  const ahead = isNews ? [makeSlotRenewed(license, registration, contact, registered.end, at)] : [];
  return makeDecision(
    [...events, ...recordOutcome(state, "borrow", command, { user, peer: contact.peer }, kept, at)],
    outcome,
    ahead,
  );
}

function computeBorrowEnd(
  { terms }: License,
  asked: Instant | null,
  current: Instant | null,
  at: Instant,
): Result<Instant, Fault> {
  const cap = later(at, (terms.borrowHours ?? 0) * HOUR);
  const licenseEnd = getLicenseEnd(terms);
  const longest = licenseEnd === null ? cap : earliest(cap, licenseEnd);
  // A renewed license may allow less than what was lent before; asking for the longest keeps it.
  if (asked === null) return ok(current === null ? longest : latest(longest, current));
  if (asked <= at || asked > later(longest, limits.borrowSkew)) {
    return err({ code: "borrow_until_not_valid", latest: longest });
  }
  const until = earliest(asked, longest);
  if (!terms.earlyReturn && current !== null && until < current) {
    return err({ code: "early_return_not_allowed", until: current });
  }
  return ok(until);
}
