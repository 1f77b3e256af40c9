import { checkSlotCaps } from "./slot-caps.ts";
import type { Register } from "./command.ts";
import { findContactChange, isSameMachine } from "./contact.ts";
import { makeDecision } from "./decision.ts";
import { renewHeldFeatures } from "./features.ts";
import { findLeasedDevice, checkLeasedElsewhere } from "./leases.ts";
import { findMissingFields } from "./licenses.ts";
import { err } from "./result.ts";
import {
  findSlot,
  expireOwnEndedSlot,
  makeSlotRenewed,
  makeSlotOutcome,
  makeSlotTaken,
  type SlotDecision,
} from "./slots.ts";
import type { State } from "./state.ts";
import type { Instant } from "./time.ts";

/** Registering again is the heartbeat: it keeps the slot and never fails for a full pool. */
export function decideRegister(state: State, command: Register, at: Instant): SlotDecision {
  const { user, contact, nonceDigest } = command;
  const missing = findMissingFields(state, command, { user });
  if (user === null || missing.length > 0) {
    return err({ code: "missing_parameters", fields: missing });
  }
  const found = findSlot(state, command, user, at);
  if (!found.ok) return found;
  const { license, registration } = found.value;
  const elsewhere = checkLeasedElsewhere(license, user, nonceDigest, at);
  if (elsewhere !== null) return err(elsewhere);
  const capped = registration === null ? checkSlotCaps(state, user, contact.peer, at) : null;
  if (capped !== null) return err(capped);

  const outcome = makeSlotOutcome(state, found.value, user, contact, at);
  const { end } = outcome;
  if (registration === null) {
    return makeDecision(
      [...expireOwnEndedSlot(license, user), makeSlotTaken(outcome, at)],
      outcome,
    );
  }
  const audited = findContactChange(license, registration, contact, at);
  const event = makeSlotRenewed(license, registration, contact, end, at);
  const isUnaudited = audited.length === 0 && !isSameMachine(registration.contact, contact);
  // The lease of a borrowed slot lasts as long as the borrow, whichever call it is asked for with.
  const isFirst = outcome.borrowedUntil !== null && findLeasedDevice(registration, at) === null;
  const leased = isFirst && nonceDigest !== null ? { leasedTo: nonceDigest } : {};
  const unaudited = isUnaudited ? { unaudited: true as const } : {};
  const slot = { ...event, ...unaudited, ...leased };
  return makeDecision([slot, ...renewHeldFeatures(license, user, end, at)], outcome, audited);
}
