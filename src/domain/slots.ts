import type { LicenseSelector } from "./command.ts";
import { isSameMachine } from "./contact.ts";
import type { Decision } from "./decision.ts";
import type { Event, SlotExpired, SlotRenewed } from "./event.ts";
import type { Fault } from "./fault.ts";
import { findLicenses, filterValidLicenses } from "./licenses.ts";
import type { SlotPool } from "./pool.ts";
import { err, ok, type Result } from "./result.ts";
import type { Contact, BaseRegistration, Registration } from "./registration.ts";
import type { License, State } from "./state.ts";
import { getLicenseEnd } from "./terms.ts";
import { earliest, later, latest, MINUTE, type Instant } from "./time.ts";
import { CLOCK_LIMITS, isClockSuspect } from "./timekeeper.ts";

/** A slot as its holder is told of it. */
export interface SlotOutcome {
  readonly license: number;
  readonly product: string;
  readonly user: string;
  readonly slot: number;
  readonly contact: Contact;
  readonly registeredAt: Instant;
  readonly end: Instant;
  readonly borrowedUntil: Instant | null;
  /** The caller counted. */
  readonly slotsInUse: number;
}

export type SlotDecision = Result<Decision<SlotOutcome>, Fault>;

/** Slots taken at this instant: counted, whether or not the expired ones are written off yet. */
export const countSlotsInUse = (pool: SlotPool<BaseRegistration>, at: Instant): number =>
  pool.size - pool.expiryIndex.countEnded(at);

/**
 * When a full pool has a slot to give again. A license renewed with fewer slots than are held must
 * lose some first; one without slots never has any.
 */
export function findNextFreeAt(
  pool: SlotPool<BaseRegistration>,
  slots: number,
  at: Instant,
): Instant | null {
  return slots === 0 ? null : pool.expiryIndex.nthEnd(countSlotsInUse(pool, at) - slots + 1, at);
}

/** The user's slot if it is held at this instant. */
export function findHeldSlot<T extends BaseRegistration>(
  pool: SlotPool<T>,
  user: string,
  at: Instant,
): T | null {
  const held = pool.get(user);
  return held !== undefined && at < held.end ? held : null;
}

/** When this slot's borrow ends; null when it is not borrowed, or not any more. */
export const getBorrowEnd = ({ borrowedUntil }: Registration, at: Instant): Instant | null =>
  borrowedUntil !== null && at < borrowedUntil ? borrowedUntil : null;

/** Where the rules let this user sit: the slot already held, or a license with room. */
interface SlotChoice {
  readonly license: License;
  readonly registration: Registration | null;
}

const anyLicense = (): boolean => true;

export function findSlot(
  state: State,
  aim: LicenseSelector,
  user: string,
  at: Instant,
  allows: (license: License) => boolean = anyLicense,
): Result<SlotChoice, Fault> {
  const licenses = findLicenses(state, aim);
  if (!licenses.ok) return licenses;
  const valid = filterValidLicenses(state, licenses.value, at);
  if (!valid.ok) return valid;

  for (const license of valid.value) {
    const registration = findHeldSlot(license.pool, user, at);
    if (registration === null) continue;
    return allows(license)
      ? ok({ license, registration })
      : err({ code: "license_borrow_not_allowed" });
  }
  const allowed = valid.value.filter(allows);
  if (allowed.length === 0) return err({ code: "license_borrow_not_allowed" });
  const timed = filterLendable(state, allowed);
  if (timed.length === 0) return err({ code: "clock_suspect", behind: CLOCK_LIMITS.behindSuspect });
  const roomy = timed.filter(({ pool, terms }) => countSlotsInUse(pool, at) < terms.slots);
  if (roomy.length === 0) return err(makeNoFreeSlotFault(timed, at));
  const free = roomy.find(
    (license) =>
      countSlotsInUse(license.pool, at) + countEndedByJump(state, license, user, at) <
      license.terms.slots,
  );
  if (free === undefined) return err({ code: "clock_suspect", behind: state.clockBehind });
  return ok({ license: free, registration: null });
}

/**
 * While the system's clock says that it is earlier, a jump ahead may have been wrong: the slots of
 * others' borrows that ended by it, and would not have ended by the system's clock, are not lent
 * again before it is known which clock is right.
 */
function countEndedByJump(state: State, license: License, user: string, at: Instant): number {
  if (state.clockBehind < CLOCK_LIMITS.minRecordedJump) return 0;
  const wall = later(at, -state.clockBehind);
  const isMeant = (one: { readonly user: string; readonly borrowedUntil: Instant | null }) =>
    one.user !== user && one.borrowedUntil !== null && one.borrowedUntil > wall;
  const unwritten = license.pool.expiryIndex.ended(at, Infinity).filter(isMeant);
  const written = [...state.lapsedBorrows.values()].filter(
    (one) => one.license === license.id && isMeant(one),
  );
  return unwritten.length + written.length;
}

/** With a clock that is far behind, only licenses without an end are lent anew. */
const filterLendable = (state: State, licenses: readonly License[]): readonly License[] =>
  isClockSuspect(state.clockBehind)
    ? licenses.filter(({ terms }) => getLicenseEnd(terms) === null)
    : licenses;

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
  held: Registration,
  contact: Contact,
  end: Instant,
  at: Instant,
): SlotRenewed {
  const isSame = isSameMachine(held.contact, contact) && held.contact.info === contact.info;
  const { user } = held;
  return { type: "SlotRenewed", at, license, user, end, ...(!isSame && { contact }) };
}

/** A slot this user let run out must be written off before they can take another. */
export function expireOwnEndedSlot({ id, pool }: License, user: string): SlotExpired[] {
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
