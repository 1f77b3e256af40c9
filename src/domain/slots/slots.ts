import { isSameContact, type Contact } from "../model/slots/contact.ts";
import type { Decision } from "../model/decision.ts";
import type { Event, SlotExpired, SlotRenewed } from "../model/event.ts";
import type { Fault } from "../model/fault.ts";
import { findLicenses, filterValidLicenses, type LicenseSelector } from "../licenses/licenses.ts";
import { countSlotsInUse, findHeldSlot } from "../model/slots/pool.ts";
import { err, ok, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import { checkBorrowClaim } from "../rules/judge-borrow.ts";
import {
  checkClaim,
  findHome,
  hasReservations,
  hasRoomFor,
  type Claim,
} from "../rules/judge-claim.ts";
import { makeNoSlotFault } from "../rules/no-slot-fault.ts";
import type { CallerFacts, Identity } from "../model/rules/caller-facts.ts";
import { getBorrowEnd, type Registration } from "../model/slots/registration.ts";
import type { License, State } from "../model/state.ts";
import { countFreeOfProduct, countFreeSlots, filterLendable } from "./free-slots.ts";
import { countHolds, findHold, findPlace } from "../queue/holds.ts";
import { canBorrow } from "../model/licenses/terms.ts";
import { later, latest, MINUTE, type Instant } from "../time.ts";
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

/** The license to use: the one whose slot the user already holds, or one with a free slot. */
export interface SlotChoice {
  readonly license: License;
  readonly registration: Registration | null;
  /** The reserved group that the user of a new slot belongs to; null: none. */
  readonly home: string | null;
}

/** What the slot is for; it can be borrowed from some licenses only. */
type SlotPurpose = "use" | "borrow";

export function findSlot(
  state: State,
  selector: LicenseSelector,
  facts: CallerFacts,
  context: RuleContext,
  purpose: SlotPurpose,
): Result<SlotChoice, Fault> {
  const isUsable = ({ terms }: License): boolean => purpose === "use" || canBorrow(terms);
  const licenses = findLicenses(state, selector);
  if (!licenses.ok) return licenses;
  const valid = filterValidLicenses(state, licenses.value, context);
  if (!valid.ok) return valid;

  for (const license of valid.value) {
    const registration = findHeldSlot(license.pool, facts.user, context.at);
    if (registration === null) continue;
    return isUsable(license)
      ? ok({ license, registration, home: null })
      : err({ code: "license_borrow_not_allowed" });
  }
  return findFreeSlot(state, valid.value.filter(isUsable), facts, context, purpose);
}

/** A license with a free slot, for a user who holds none of `usable`. */
function findFreeSlot(
  state: State,
  usable: readonly License[],
  facts: CallerFacts,
  context: RuleContext,
  purpose: SlotPurpose,
): Result<SlotChoice, Fault> {
  const { at, clockBehind } = context;
  const [first] = usable;
  if (first === undefined) return err({ code: "license_borrow_not_allowed" });
  const lendable = filterLendable(usable, clockBehind);
  if (lendable.length === 0)
    return err({ code: "clock_suspect", behind: CLOCK_LIMITS.behindSuspect });
  const { product } = first.terms;
  const claim: Claim = { product, feature: null, facts };
  const hold = findHold(state, product, facts.user);
  const ruleFault =
    checkClaim(state, claim, at, hold?.number) ??
    (purpose === "borrow" ? checkBorrowClaim(state, claim, at) : null);
  if (ruleFault !== null) return err(ruleFault);
  const home = findHome(state, claim, at);
  const collectable = findCollectable(state, lendable, facts.user, home, context);
  if (collectable !== null) return ok({ license: collectable, registration: null, home });
  const withFreeSlots = lendable.filter(
    (license) =>
      countSlotsInUse(license.pool, at) + countHolds(state, license) < license.terms.slots,
  );
  const chosen = withFreeSlots.find(
    (license) => countFreeSlots(state, license, facts.user, context) > 0,
  );
  if (withFreeSlots.length > 0 && chosen === undefined)
    return err({ code: "clock_suspect", behind: clockBehind });
  const free = hasReservations(state, claim, at)
    ? countFreeOfProduct(state, product, facts.user, context)
    : withFreeSlots.length;
  if (chosen === undefined || !hasRoomFor(state, claim, home, free, at)) {
    const counts = countSlots(state, lendable, facts.user, context);
    return err(makeNoSlotFault(state, claim, { ...counts, free, home }, at));
  }
  return ok({ license: chosen, registration: null, home });
}

/** The slots of these licenses together; `user` as in `countFreeSlots`. */
function countSlots(
  state: State,
  licenses: readonly License[],
  user: string,
  context: RuleContext,
): { readonly slots: number; readonly freeSlots: number; readonly holds: number } {
  let [slots, freeSlots, holds] = [0, 0, 0];
  for (const license of licenses) {
    slots += license.terms.slots;
    freeSlots += Math.max(0, countFreeSlots(state, license, user, context));
    holds += countHolds(state, license);
  }
  return { slots, freeSlots, holds };
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
  identity: Identity | null,
  home: string | null,
  at: Instant,
): Event {
  return {
    type: "SlotTaken",
    at,
    license,
    user,
    slot,
    end,
    contact,
    ...(identity !== null && { identity }),
    ...(home !== null && { home }),
  };
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

/**
 * The license whose held slot the user may collect; null: none. Holds beyond the slots of a license
 * cannot be collected: the next dispatch withdraws the newest of them. Nor can a hold of a member
 * of a reserved group, if the user calls from elsewhere and is no member there.
 */
function findCollectable(
  state: State,
  licenses: readonly License[],
  user: string,
  home: string | null,
  context: RuleContext,
): License | null {
  const product = licenses[0]?.terms.product;
  const place = product === undefined ? null : findPlace(state, product, user);
  if (place?.hold == null || place.home !== home) return null;
  const { hold } = place;
  const license = licenses.find(({ id }) => id === hold.license);
  return license !== undefined && countFreeSlots(state, license, user, context) >= 0
    ? license
    : null;
}
