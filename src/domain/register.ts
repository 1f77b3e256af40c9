import { capOn } from "./caps.ts";
import type { Register } from "./command.ts";
import { contactChange, isSameMachine } from "./contact.ts";
import { decided } from "./decision.ts";
import { renewedFeatures } from "./features.ts";
import { leasedDevice, leasedElsewhere } from "./leases.ts";
import { missingFields } from "./licenses.ts";
import { no } from "./result.ts";
import { findSlot, ownExpiry, renewed, slotOf, taken, type SlotDecision } from "./slots.ts";
import type { State } from "./state.ts";
import type { Instant } from "./time.ts";

/** Registering again is the heartbeat: it keeps the slot and never fails for a full pool. */
export function decideRegister(state: State, command: Register, at: Instant): SlotDecision {
  const { user, contact, nonceDigest } = command;
  const missing = missingFields(state, command, { user });
  if (user === null || missing.length > 0) {
    return no({ code: "missing_parameters", fields: missing });
  }
  const found = findSlot(state, command, user, at);
  if (!found.ok) return found;
  const { license, held } = found.value;
  const elsewhere = leasedElsewhere(license, user, nonceDigest, at);
  if (elsewhere !== null) return no(elsewhere);
  const capped = held === null ? capOn(state, user, contact.peer, at) : null;
  if (capped !== null) return no(capped);

  const outcome = slotOf(state, found.value, user, contact, at);
  const { end } = outcome;
  if (held === null) {
    return decided([...ownExpiry(license, user), taken(outcome, at)], outcome);
  }
  const audited = contactChange(license, held, contact, at);
  const event = renewed(license, held, contact, end, at);
  const isUnaudited = audited.length === 0 && !isSameMachine(held.contact, contact);
  // The lease of a borrowed slot lasts as long as the borrow, whichever call it is asked for with.
  const isFirst = outcome.borrowedUntil !== null && leasedDevice(held, at) === null;
  const leased = isFirst && nonceDigest !== null ? { leasedTo: nonceDigest } : {};
  const unaudited = isUnaudited ? { unaudited: true as const } : {};
  const slot = { ...event, ...unaudited, ...leased };
  return decided([slot, ...renewedFeatures(license, user, end, at)], outcome, audited);
}
