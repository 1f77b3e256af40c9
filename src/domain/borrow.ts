import { capOn } from "./caps.ts";
import type { Borrow } from "./command.ts";
import { machineOf } from "./contact.ts";
import { decided } from "./decision.ts";
import type { Event } from "./event.ts";
import type { Fault } from "./fault.ts";
import { renewedFeatures } from "./features.ts";
import { recall, remember } from "./idempotency.ts";
import { leasedDevice, leasedElsewhere } from "./leases.ts";
import { missingFields } from "./licenses.ts";
import { limits } from "./limits.ts";
import { no, ok, type Result } from "./result.ts";
import {
  borrowEndOf,
  findSlot,
  ownExpiry,
  renewed,
  slotOf,
  taken,
  type SlotDecision,
  type SlotOutcome,
} from "./slots.ts";
import type { License, State } from "./state.ts";
import { canBorrow, endOf } from "./terms.ts";
import { earliest, HOUR, later, latest, MINUTE, type Instant } from "./time.ts";
import { CLOCK, isSuspect } from "./timekeeper.ts";

/** What is kept of a borrow under its key; user and contact come again with the repeat. */
type KeptBorrow = Omit<SlotOutcome, "user" | "contact">;

/** Registers the user if needed; borrowing again moves the end. */
export function decideBorrow(state: State, command: Borrow, at: Instant): SlotDecision {
  const { user, contact, nonceDigest } = command;
  const missing = missingFields(state, command, { user });
  if (user === null || missing.length > 0) {
    return no({ code: "missing_parameters", fields: missing });
  }
  const earlier = recall<KeptBorrow>(state, "borrow", command, user, at);
  if (earlier !== null) {
    if (!earlier.ok) return earlier;
    const { outcome } = earlier.value;
    const license = state.licenses.get(outcome.license);
    const elsewhere = license && leasedElsewhere(license, user, nonceDigest, at);
    return elsewhere ? no(elsewhere) : decided([], { ...outcome, user, contact });
  }

  const found = findSlot(state, command, user, at, ({ terms }) => canBorrow(terms));
  if (!found.ok) return found;
  const { license, held } = found.value;
  const elsewhere = leasedElsewhere(license, user, nonceDigest, at);
  if (elsewhere !== null) return no(elsewhere);
  const capped = held === null ? capOn(state, user, contact.peer, at) : null;
  if (capped !== null) return no(capped);
  if (isSuspect(state.clockBehind) && endOf(license.terms) !== null) {
    return no({ code: "clock_suspect", behind: CLOCK.suspect });
  }
  const current = held === null ? null : borrowEndOf(held, at);
  const until = borrowEnd(license, command.until, current, at);
  if (!until.ok) return until;

  const registered = slotOf(state, found.value, user, contact, at);
  const outcome = {
    ...registered,
    end: latest(later(at, license.terms.timeoutMinutes * MINUTE), until.value),
    borrowedUntil: until.value,
  };
  const leasedTo = leasedDevice(held, at) ?? nonceDigest;
  const events: Event[] = held === null ? [...ownExpiry(license, user), taken(registered, at)] : [];
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
  events.push(...renewedFeatures(license, user, outcome.end, at));
  const { user: _user, contact: _contact, ...kept } = outcome;
  // The state learns user_info by a renewal, which is not audited.
  const isNews = held !== null && held.contact.info !== contact.info;
  const ahead = isNews ? [renewed(license, held, contact, registered.end, at)] : [];
  return decided(
    [...events, ...remember(state, "borrow", command, { user, peer: contact.peer }, kept, at)],
    outcome,
    ahead,
  );
}

function borrowEnd(
  { terms }: License,
  asked: Instant | null,
  current: Instant | null,
  at: Instant,
): Result<Instant, Fault> {
  const cap = later(at, (terms.borrowHours ?? 0) * HOUR);
  const licenseEnd = endOf(terms);
  const longest = licenseEnd === null ? cap : earliest(cap, licenseEnd);
  // A renewed license may allow less than what was lent before; asking for the longest keeps it.
  if (asked === null) return ok(current === null ? longest : latest(longest, current));
  if (asked <= at || asked > later(longest, limits.borrowSkew)) {
    return no({ code: "borrow_until_not_valid", latest: longest });
  }
  const until = earliest(asked, longest);
  if (!terms.earlyReturn && current !== null && until < current) {
    return no({ code: "early_return_not_allowed", until: current });
  }
  return ok(until);
}
