import { isSameContact, type Contact } from "./contact.ts";
import type { Decision } from "../decision.ts";
import type { Event, SlotExpired, SlotRenewed } from "../event.ts";
import type { Fault } from "../fault.ts";
import { findLicenses, filterValidLicenses, type LicenseSelector } from "../licenses/licenses.ts";
import { countSlotsInUse, type SlotPool } from "./pool.ts";
import { err, ok, type Result } from "../result.ts";
import type { RuleContext } from "../rule-context.ts";
import type { BaseRegistration, Registration } from "./registration.ts";
import type { License, State } from "../state.ts";
import { countFreeSlots, filterLendable } from "./free-slots.ts";
import { findCollectable } from "../queue/collect.ts";
import { countHolds } from "../queue/holds.ts";
import { earliest, later, latest, MINUTE, type Instant } from "../time.ts";
import { CLOCK_LIMITS } from "../clock/timekeeper.ts";

/** A slot as reported to its holder. */
export interface SlotOutcome {
  readonly license: number;
  readonly product: string;
  readonly user: string;
  readonly slot: number;
  readonly contact: Contact;
  readonly registeredAt: Instant;
  readonly end: Instant;
  readonly borrowedUntil: Instant | null;
  /** Including the caller. */
  readonly slotsInUse: number;
}

export type SlotDecision = Result<Decision<SlotOutcome>, Fault>;

/**
 * When the next slot of a full pool becomes free. A license renewed with fewer slots than are held
 * must lose some first; null: the license has no slots.
 */
export function findNextFreeAt(
  pool: SlotPool<BaseRegistration>,
  slots: number,
  at: Instant,
): Instant | null {
  return slots === 0 ? null : pool.expiryIndex.nthEnd(countSlotsInUse(pool, at) - slots + 1, at);
}

/** The user's slot if it is held at this instant; null: it is not. */
export function findHeldSlot<T extends BaseRegistration>(
  pool: SlotPool<T>,
  user: string,
  at: Instant,
): T | null {
  const holder = pool.get(user);
  return holder !== undefined && at < holder.end ? holder : null;
}

/** When this slot's borrow ends; null: it is not borrowed, or no longer. */
export const getBorrowEnd = ({ borrowedUntil }: Registration, at: Instant): Instant | null =>
  borrowedUntil !== null && at < borrowedUntil ? borrowedUntil : null;

/** The license to use: the one whose slot the user already holds, or one with a free slot. */
interface SlotChoice {
  readonly license: License;
  readonly registration: Registration | null;
}

const anyLicense = (): boolean => true;

export function findSlot(
  state: State,
  selector: LicenseSelector,
  user: string,
  context: RuleContext,
  isUsable: (license: License) => boolean = anyLicense,
): Result<SlotChoice, Fault> {
  const licenses = findLicenses(state, selector);
  if (!licenses.ok) return licenses;
  const valid = filterValidLicenses(state, licenses.value, context);
  if (!valid.ok) return valid;

  for (const license of valid.value) {
    const registration = findHeldSlot(license.pool, user, context.at);
    if (registration === null) continue;
    return isUsable(license)
      ? ok({ license, registration })
      : err({ code: "license_borrow_not_allowed" });
  }
  return findFreeSlot(state, valid.value.filter(isUsable), user, context);
}

/** A license with a free slot, for a user who holds none of `usable`. */
function findFreeSlot(
  state: State,
  usable: readonly License[],
  user: string,
  context: RuleContext,
): Result<SlotChoice, Fault> {
  const { at, clockBehind } = context;
  if (usable.length === 0) return err({ code: "license_borrow_not_allowed" });
  const lendable = filterLendable(usable, clockBehind);
  if (lendable.length === 0)
    return err({ code: "clock_suspect", behind: CLOCK_LIMITS.behindSuspect });
  const collectable = findCollectable(state, lendable, user, context);
  if (collectable !== null) return ok({ license: collectable, registration: null });
  const withFreeSlots = lendable.filter(
    (license) =>
      countSlotsInUse(license.pool, at) + countHolds(state, license) < license.terms.slots,
  );
  if (withFreeSlots.length === 0) return err(makeNoFreeSlotFault(lendable, at));
  const chosen = withFreeSlots.find((license) => countFreeSlots(state, license, user, context) > 0);
  if (chosen === undefined) return err({ code: "clock_suspect", behind: clockBehind });
  return ok({ license: chosen, registration: null });
}

function makeNoFreeSlotFault(licenses: readonly License[], at: Instant): Fault {
  let slots = 0;
  let nextFree: Instant | null = null;
  for (const { pool, terms } of licenses) {
    slots += terms.slots;
    const end = findNextFreeAt(pool, terms.slots, at);
    if (end !== null) nextFree = nextFree === null ? end : earliest(nextFree, end);
  }
  return { code: "floating_not_available", slots, nextFree };
}

export function makeSlotOutcome(
  state: State,
  { license, registration }: SlotChoice,
  user: string,
  contact: Contact,
  at: Instant,
): SlotOutcome {
  const borrowedUntil = registration === null ? null : getBorrowEnd(registration, at);
  const timeout = later(at, license.terms.timeoutMinutes * MINUTE);
  return {
    license: license.id,
    product: license.terms.product,
    user,
    slot: registration?.slot ?? state.nextSlot,
    contact,
    registeredAt: registration?.registeredAt ?? at,
    end: borrowedUntil === null ? timeout : latest(timeout, borrowedUntil),
    borrowedUntil,
    slotsInUse: countSlotsInUse(license.pool, at) + (registration === null ? 1 : 0),
  };
}

export function makeSlotTaken(
  { license, user, slot, end, contact }: SlotOutcome,
  at: Instant,
): Event {
  return { type: "SlotTaken", at, license, user, slot, end, contact };
}

export function makeSlotRenewed(
  { id: license }: License,
  registration: Registration,
  contact: Contact,
  end: Instant,
  at: Instant,
): SlotRenewed {
  const { user } = registration;
  const renewal: SlotRenewed = { type: "SlotRenewed", at, license, user, end };
  return isSameContact(registration.contact, contact) ? renewal : { ...renewal, contact };
}

/** An expired slot of this user must be removed before the user can take another. */
export function expireEndedSlot({ id, pool }: License, user: string): SlotExpired[] {
  const ended = pool.get(user);
  return ended === undefined ? [] : [makeSlotExpired(id, ended)];
}

export const makeSlotExpired = (
  license: number,
  { user, slot, end }: Registration,
): SlotExpired => ({
  type: "SlotExpired",
  at: end,
  license,
  user,
  slot,
});
