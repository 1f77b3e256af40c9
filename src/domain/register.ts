import { capOn } from "./caps.ts";
import type { Register } from "./command.ts";
import { decided } from "./decision.ts";
import { missingFields } from "./licenses.ts";
import { no } from "./result.ts";
import { findSlot, ownExpiry, slotOf, taken, type SlotDecision } from "./slots.ts";
import type { Contact, State } from "./state.ts";
import type { Instant } from "./time.ts";

/** Registering again is the heartbeat: it keeps the slot and never fails for a full pool. */
export function decideRegister(state: State, command: Register, at: Instant): SlotDecision {
  const { user, contact } = command;
  const missing = missingFields(state, command, { user });
  if (user === null || missing.length > 0) {
    return no({ code: "missing_parameters", fields: missing });
  }
  const found = findSlot(state, command, user, at);
  if (!found.ok) return found;
  const { license, held } = found.value;
  const capped = held === null ? capOn(state, user, contact.peer, at) : null;
  if (capped !== null) return no(capped);

  const outcome = slotOf(state, found.value, user, contact, at);
  const { end } = outcome;
  if (held === null) {
    return decided([...ownExpiry(license, user), taken(outcome, at)], outcome);
  }
  const moved = sameContact(held.contact, contact) ? {} : { contact };
  return decided([{ type: "SlotRenewed", at, license: license.id, user, end, ...moved }], outcome);
}

const sameContact = (a: Contact, b: Contact): boolean =>
  a.hostname === b.hostname && a.ip === b.ip && a.info === b.info && a.peer === b.peer;
