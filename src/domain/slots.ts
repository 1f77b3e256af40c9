import type { Aim } from "./command.ts";
import { isSameMachine } from "./contact.ts";
import type { Decision } from "./decision.ts";
import type { Event, SlotExpired, SlotRenewed } from "./event.ts";
import type { Fault } from "./fault.ts";
import { licensesOf, validOf } from "./licenses.ts";
import type { Pool } from "./pool.ts";
import { no, ok, type Result } from "./result.ts";
import type { Contact, FeatureRegistration, Registration } from "./registration.ts";
import type { License, State } from "./state.ts";
import { endOf } from "./terms.ts";
import { earliest, later, latest, MINUTE, type Instant } from "./time.ts";
import { CLOCK, isSuspect } from "./timekeeper.ts";

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
export const slotsInUse = (pool: Pool<FeatureRegistration>, at: Instant): number =>
  pool.size - pool.ends.countEnded(at);

/**
 * When a full pool has a slot to give again. A license renewed with fewer slots than are held must
 * lose some first; one without slots never has any.
 */
export function nextFreeAt(
  pool: Pool<FeatureRegistration>,
  slots: number,
  at: Instant,
): Instant | null {
  return slots === 0 ? null : pool.ends.nthEnd(slotsInUse(pool, at) - slots + 1, at);
}

/** The user's slot if it is held at this instant. */
export function holding<T extends FeatureRegistration>(
  pool: Pool<T>,
  user: string,
  at: Instant,
): T | null {
  const held = pool.get(user);
  return held !== undefined && at < held.end ? held : null;
}

/** When this slot's borrow ends; null when it is not borrowed, or not any more. */
export const borrowEndOf = ({ borrowedUntil }: Registration, at: Instant): Instant | null =>
  borrowedUntil !== null && at < borrowedUntil ? borrowedUntil : null;

/** Where the rules let this user sit: the slot already held, or a license with room. */
interface Seat {
  readonly license: License;
  readonly held: Registration | null;
}

const anyLicense = (): boolean => true;

export function findSlot(
  state: State,
  aim: Aim,
  user: string,
  at: Instant,
  allows: (license: License) => boolean = anyLicense,
): Result<Seat, Fault> {
  const licenses = licensesOf(state, aim);
  if (!licenses.ok) return licenses;
  const valid = validOf(state, licenses.value, at);
  if (!valid.ok) return valid;

  for (const license of valid.value) {
    const held = holding(license.pool, user, at);
    if (held === null) continue;
    return allows(license) ? ok({ license, held }) : no({ code: "license_borrow_not_allowed" });
  }
  const allowed = valid.value.filter(allows);
  if (allowed.length === 0) return no({ code: "license_borrow_not_allowed" });
  const timed = trusted(state, allowed);
  if (timed.length === 0) return no({ code: "clock_suspect", behind: CLOCK.suspect });
  const roomy = timed.filter(({ pool, terms }) => slotsInUse(pool, at) < terms.slots);
  if (roomy.length === 0) return no(noneFree(timed, at));
  const free = roomy.find(
    (license) =>
      slotsInUse(license.pool, at) + endedByJump(state, license, user, at) < license.terms.slots,
  );
  if (free === undefined) return no({ code: "clock_suspect", behind: state.clockBehind });
  return ok({ license: free, held: null });
}

/**
 * While the system's clock says that it is earlier, a jump ahead may have been wrong: the slots of
 * others' borrows that ended by it, and would not have ended by the system's clock, are not lent
 * again before it is known which clock is right.
 */
function endedByJump(state: State, license: License, user: string, at: Instant): number {
  if (state.clockBehind < CLOCK.jump) return 0;
  const wall = later(at, -state.clockBehind);
  const isMeant = (one: { readonly user: string; readonly borrowedUntil: Instant | null }) =>
    one.user !== user && one.borrowedUntil !== null && one.borrowedUntil > wall;
  const unwritten = license.pool.ends.ended(at, Infinity).filter(isMeant);
  const written = [...state.lapsed.values()].filter(
    (one) => one.license === license.id && isMeant(one),
  );
  return unwritten.length + written.length;
}

/** With a clock that is far behind, only licenses without an end are lent anew. */
const trusted = (state: State, licenses: readonly License[]): readonly License[] =>
  isSuspect(state.clockBehind) ? licenses.filter(({ terms }) => endOf(terms) === null) : licenses;

function noneFree(licenses: readonly License[], at: Instant): Fault {
  let slots = 0;
  let nextFree: Instant | null = null;
  for (const { pool, terms } of licenses) {
    slots += terms.slots;
    const end = nextFreeAt(pool, terms.slots, at);
    if (end !== null) nextFree = nextFree === null ? end : earliest(nextFree, end);
  }
  return { code: "floating_not_available", slots, nextFree };
}

export function slotOf(
  state: State,
  { license, held }: Seat,
  user: string,
  contact: Contact,
  at: Instant,
): SlotOutcome {
  const borrowedUntil = held === null ? null : borrowEndOf(held, at);
  const timeout = later(at, license.terms.timeoutMinutes * MINUTE);
  return {
    license: license.id,
    product: license.terms.product,
    user,
    slot: held?.slot ?? state.nextSlot,
    contact,
    registeredAt: held?.registeredAt ?? at,
    end: borrowedUntil === null ? timeout : latest(timeout, borrowedUntil),
    borrowedUntil,
    slotsInUse: slotsInUse(license.pool, at) + (held === null ? 1 : 0),
  };
}

export function taken({ license, user, slot, end, contact }: SlotOutcome, at: Instant): Event {
  return { type: "SlotTaken", at, license, user, slot, end, contact };
}

export function renewed(
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
export function ownExpiry({ id, pool }: License, user: string): SlotExpired[] {
  const ended = pool.get(user);
  return ended === undefined ? [] : [expired(id, ended)];
}

export const expired = (license: number, { user, slot, end }: Registration): SlotExpired => ({
  type: "SlotExpired",
  at: end,
  license,
  user,
  slot,
});
