import { renewHeldFeatures } from "../features/features.ts";
import { isSameMachine, type Contact, machineOf } from "../model/slots/contact.ts";
import { checkSlotCaps } from "./slot-caps.ts";
import { findMissingFields, type LicenseSelector } from "../licenses/licenses.ts";
import { makeDecision } from "../model/decision.ts";
import { findLeasedDevice, checkLeasedElsewhere } from "./leases.ts";
import { findHold, leaveQueue } from "../queue/holds.ts";
import { err } from "../result.ts";
import { factsOf, type Identity } from "../model/rules/caller-facts.ts";
import type { RuleContext } from "../model/rule-context.ts";
import {
  findSlot,
  makeSlotRenewed,
  makeSlotOutcome,
  makeSlotTaken,
  type SlotDecision,
  expireEndedSlot,
} from "./slots.ts";
import type { State, License } from "../model/state.ts";
import type { ContactChanged } from "../model/event.ts";
import { limits } from "../model/limits.ts";
import type { Registration } from "../model/slots/registration.ts";
import { later, type Instant } from "../time.ts";

export interface Register extends LicenseSelector {
  readonly type: "Register";
  readonly user: string | null;
  readonly contact: Contact;
  /** SHA-256, hex, of the nonce that the lease will carry; null: the caller sent none. */
  readonly nonceDigest: string | null;
  /** What was observed of the caller besides its address; null: nothing. */
  readonly identity: Identity | null;
}

/**
 * Registering again is the heartbeat: it renews the slot and does not fail when all slots are
 * taken.
 */
export function decideRegister(
  state: State,
  command: Register,
  context: RuleContext,
): SlotDecision {
  const { at } = context;
  const { user, contact, nonceDigest, identity } = command;
  const missing = findMissingFields(state, command, { user });
  if (user === null || missing.length > 0) {
    return err({ code: "missing_parameters", fields: missing });
  }
  const facts = factsOf(user, contact, identity);
  const choice = findSlot(state, command, facts, context, "use");
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

  const outcome = makeSlotOutcome(state, choice.value, user, contact, at);
  const { end } = outcome;
  if (registration === null) {
    const events = [
      ...expireEndedSlot(license, user),
      ...leaveQueue(state, product, user, "granted", at, contact.peer),
      makeSlotTaken(outcome, identity, home, at),
    ];
    return makeDecision(events, outcome);
  }
  const contactChanges = findContactChange(license, registration, contact, at);
  let renewal = makeSlotRenewed(license, registration, contact, end, at);
  const isUnaudited = contactChanges.length === 0 && !isSameMachine(registration.contact, contact);
  // A lease of a borrowed slot lasts as long as the borrow, even if it is requested with a
  // heartbeat.
  const isFirstLease =
    outcome.borrowedUntil !== null && findLeasedDevice(registration, at) === null;
  if (isUnaudited) renewal = { ...renewal, unaudited: true };
  if (isFirstLease && nonceDigest !== null) renewal = { ...renewal, leasedTo: nonceDigest };
  return makeDecision(
    [renewal, ...renewHeldFeatures(license, user, end, at)],
    outcome,
    contactChanges,
  );
}

/**
 * The event to audit when a slot's holder calls from another machine. Two machines may alternate
 * under one user name with every heartbeat, so a change is audited at most once a day. A change
 * within that day is audited with the first heartbeat after it.
 */
function findContactChange(
  { id: license }: License,
  registration: Registration,
  contact: Contact,
  at: Instant,
): ContactChanged[] {
  const { user, slot, contactAuditedAt: auditedAt } = registration;
  if (!registration.isContactUnaudited && isSameMachine(registration.contact, contact)) return [];
  if (auditedAt !== null && at < later(auditedAt, limits.contactAuditInterval)) return [];
  return [{ type: "ContactChanged", at, license, user, slot, ...machineOf(contact) }];
}
