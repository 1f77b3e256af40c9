import { renewHeldFeatures } from "../features/features.ts";
import { checkSlotCaps } from "./slot-caps.ts";
import { findMissingFields, type LicenseSelector } from "../licenses/licenses.ts";
import { isSameContact, machineOf, type Contact } from "../model/slots/contact.ts";
import { makeDecision } from "../model/decision.ts";
import type { Event } from "../model/event.ts";
import type { Fault } from "../model/fault.ts";
import {
  findRecordedOutcome,
  type IdempotencyKey,
  recordOutcome,
} from "../idempotency/idempotency.ts";
import { findLease, checkLeasedElsewhere } from "./leases.ts";
import { limits } from "../model/limits.ts";
import { findHold, leaveQueue } from "../queue/holds.ts";
import { err, ok, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import { factsOf, type Identity } from "../model/rules/caller-facts.ts";
import { checkBorrow, findBorrowHours } from "../rules/judge-borrow.ts";
import type { Claim } from "../rules/judge-claim.ts";
import type { HourLimit } from "../model/rules/rule-set.ts";
import {
  findSlot,
  makeSlotRenewed,
  makeSlotOutcome,
  makeSlotTaken,
  type SlotDecision,
  type SlotOutcome,
  expireEndedSlot,
} from "./slots.ts";
import { getBorrowEnd } from "../model/slots/registration.ts";
import type { License, State } from "../model/state.ts";
import { getLicenseEnd } from "../model/licenses/terms.ts";
import { earliest, HOUR, later, latest, MINUTE, type Instant } from "../time.ts";
import { CLOCK_LIMITS, isClockSuspect } from "../clock/timekeeper.ts";

export interface Borrow extends LicenseSelector {
  readonly type: "Borrow";
  readonly user: string | null;
  readonly contact: Contact;
  /** As in `Register`. */
  readonly nonceDigest: string | null;
  /** As in `Register`. */
  readonly identity: Identity | null;
  /** Null: as long as allowed. */
  readonly until: Instant | null;
  readonly once: IdempotencyKey | null;
}

/**
 * The part of the outcome recorded under the idempotency key; a repeated request sends user and
 * contact again.
 */
type RecordedBorrow = Omit<SlotOutcome, "user" | "contact">;

/** Registers the user if needed. Borrowing again moves the end of the borrow. */
export function decideBorrow(state: State, command: Borrow, context: RuleContext): SlotDecision {
  const { at, clockBehind } = context;
  const { user, contact, nonceDigest, identity } = command;
  const missing = findMissingFields(state, command, { user });
  if (user === null || missing.length > 0) {
    return err({ code: "missing_parameters", fields: missing });
  }
  const recordedDecision = findRecordedOutcome<RecordedBorrow>(state, "borrow", command, user, at);
  if (recordedDecision !== null) {
    if (!recordedDecision.ok) return recordedDecision;
    const { outcome } = recordedDecision.value;
    const license = state.licenses.get(outcome.license);
    const leaseFault = license && checkLeasedElsewhere(state, license, user, nonceDigest, context);
    return leaseFault ? err(leaseFault) : makeDecision([], { ...outcome, user, contact });
  }

  const facts = factsOf(user, contact, identity);
  const choice = findSlot(state, command, facts, context, "borrow");
  if (!choice.ok) return choice;
  const { license, registration, home } = choice.value;
  const leaseFault = checkLeasedElsewhere(state, license, user, nonceDigest, context);
  if (leaseFault !== null) return err(leaseFault);
  const { product } = license.terms;
  const capFault =
    registration === null
      ? checkSlotCaps(state, user, contact.peer, context, findHold(state, product, user))
      : null;
  if (capFault !== null) return err(capFault);
  if (isClockSuspect(clockBehind) && getLicenseEnd(license.terms) !== null) {
    return err({ code: "clock_suspect", behind: CLOCK_LIMITS.behindSuspect });
  }
  const currentEnd = registration === null ? null : getBorrowEnd(registration, at);
  const claim: Claim = { product: license.terms.product, feature: null, facts };
  const maxHours = findBorrowHours(state, claim, at);
  const borrowEnd = computeBorrowEnd(license, command.until, currentEnd, maxHours, at);
  if (!borrowEnd.ok) return borrowEnd;
  const ruleFault = checkBorrow(state, claim, currentEnd, borrowEnd.value, context);
  if (ruleFault !== null) return err(ruleFault);

  const slotOutcome = makeSlotOutcome(state, choice.value, user, contact, at);
  const outcome = {
    ...slotOutcome,
    end: latest(later(at, license.terms.timeoutMinutes * MINUTE), borrowEnd.value),
    borrowedUntil: borrowEnd.value,
  };
  const leasedTo = findLease(state, license, user, context)?.device ?? nonceDigest;
  const events: Event[] =
    registration === null
      ? [
          ...expireEndedSlot(license, user),
          ...leaveQueue(state, product, user, "granted", at, contact.peer),
          makeSlotTaken(slotOutcome, identity, home, at),
        ]
      : [];
  events.push({
    type: "SlotBorrowed",
    at,
    license: license.id,
    user,
    slot: outcome.slot,
    until: borrowEnd.value,
    end: outcome.end,
    contact: machineOf(contact),
    early: currentEnd !== null && borrowEnd.value < currentEnd,
    ...(leasedTo !== null && { leasedTo }),
  });
  events.push(...renewHeldFeatures(license, user, outcome.end, at));
  const { user: _user, contact: _contact, ...recordedOutcome } = outcome;
  // The state learns by a renewal, which is not audited, what the event above leaves out.
  const isOtherChange =
    registration !== null &&
    !isSameContact({ ...registration.contact, ...machineOf(contact) }, contact);
  const precedingEvents = isOtherChange
    ? [makeSlotRenewed(license, registration, contact, slotOutcome.end, at)]
    : [];
  return makeDecision(
    [
      ...events,
      ...recordOutcome(state, "borrow", command, { user, peer: contact.peer }, recordedOutcome, at),
    ],
    outcome,
    precedingEvents,
  );
}

function computeBorrowEnd(
  { terms }: License,
  requestedEnd: Instant | null,
  currentEnd: Instant | null,
  maxHours: HourLimit | null,
  at: Instant,
): Result<Instant, Fault> {
  const cap = later(at, (terms.borrowHours ?? 0) * HOUR);
  const licenseEnd = getLicenseEnd(terms);
  const licenseLatest = licenseEnd === null ? cap : earliest(cap, licenseEnd);
  // A rule judges only a later end than the current one.
  const ruleLatest =
    maxHours === null ? licenseLatest : latest(later(at, maxHours.hours * HOUR), currentEnd ?? at);
  const longest = earliest(licenseLatest, ruleLatest);
  // A renewed license may allow a shorter borrow than the current one. A request without an end
  // keeps the current end.
  if (requestedEnd === null) return ok(currentEnd === null ? longest : latest(longest, currentEnd));
  if (requestedEnd <= at || requestedEnd > later(longest, limits.borrowSkew)) {
    const isByRule = maxHours !== null && ruleLatest < licenseLatest;
    return err({
      code: "borrow_until_not_valid",
      latest: longest,
      ...(isByRule && { rule: maxHours }),
    });
  }
  const until = earliest(requestedEnd, longest);
  if (!terms.earlyReturn && currentEnd !== null && until < currentEnd) {
    return err({ code: "early_return_not_allowed", until: currentEnd });
  }
  return ok(until);
}
