import type { Aim, Borrow, Register, Unregister, UnregisterAll } from "./command.ts";
import { decided, type Decision } from "./decision.ts";
import type { Event, FeatureReleased, ReleasedBy, SlotExpired, SlotReleased } from "./event.ts";
import type { Fault } from "./fault.ts";
import { recall, remember } from "./idempotency.ts";
import { licensesOf, missingFields, validOf } from "./licenses.ts";
import { limits } from "./limits.ts";
import { no, ok, type Result } from "./result.ts";
import type { Contact, FeatureRegistration, License, Pool, Registration, State } from "./state.ts";
import { endOf } from "./terms.ts";
import { earliest, HOUR, later, latest, MINUTE, type Instant } from "./time.ts";

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

type SlotDecision = Result<Decision<SlotOutcome>, Fault>;

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

  const outcome = slotOf(state, found.value, user, contact, at);
  const { end } = outcome;
  if (held === null) {
    return decided([...ownExpiry(license, user), taken(outcome, at)], outcome);
  }
  const moved = sameContact(held.contact, contact) ? {} : { contact };
  return decided([{ type: "SlotRenewed", at, license: license.id, user, end, ...moved }], outcome);
}

/** Registers the user if needed; borrowing again moves the end. */
export function decideBorrow(state: State, command: Borrow, at: Instant): SlotDecision {
  const { user, contact } = command;
  const missing = missingFields(state, command, { user });
  if (user === null || missing.length > 0) {
    return no({ code: "missing_parameters", fields: missing });
  }
  const earlier = recall<SlotOutcome>(state, "borrow", command, user, at);
  if (earlier !== null) return earlier;

  const found = findSlot(state, command, user, at, ({ terms }) => terms.borrowHours !== null);
  if (!found.ok) return found;
  const { license, held } = found.value;
  const current =
    held && held.borrowedUntil !== null && held.borrowedUntil > at ? held.borrowedUntil : null;
  const until = borrowEnd(license, command.until, current, at);
  if (!until.ok) return until;

  const registered = slotOf(state, found.value, user, contact, at);
  const outcome = {
    ...registered,
    end: latest(registered.end, until.value),
    borrowedUntil: until.value,
  };
  const events: Event[] = held === null ? [...ownExpiry(license, user), taken(registered, at)] : [];
  events.push({
    type: "SlotBorrowed",
    at,
    license: license.id,
    user,
    slot: outcome.slot,
    until: until.value,
    end: outcome.end,
    contact,
    early: current !== null && until.value < current,
  });
  return decided([...events, ...remember(state, "borrow", command, user, outcome, at)], outcome);
}

/** Also returns a borrowed slot early, where the license lets it. */
export function decideUnregister(
  state: State,
  command: Unregister,
  at: Instant,
): Result<Decision<{ readonly released: number }>, Fault> {
  const { user, by, peer } = command;
  const missing = missingFields(state, command, { user });
  if (user === null || missing.length > 0) {
    return no({ code: "missing_parameters", fields: missing });
  }
  const licenses = licensesOf(state, command);
  if (!licenses.ok) return licenses;

  const events: Event[] = [];
  for (const license of licenses.value) {
    const held = holding(license.pool, user, at);
    if (held === null) continue;
    const until = lockedUntil(license, held, at);
    if (until !== null) return no({ code: "early_return_not_allowed", until });
    events.push(...released(license, held, by, peer, at));
  }
  if (events.length === 0) return no({ code: "user_not_registered" });
  return decided(events, { released: 1 });
}

/** Frees every slot that may be freed; those whose license forbids an early return stay. */
export function decideUnregisterAll(
  state: State,
  { product, peer }: UnregisterAll,
  at: Instant,
): Result<Decision<{ readonly released: number }>, Fault> {
  if (product !== null && !state.products.has(product)) return no({ code: "unknown_product" });
  const licenses = product === null ? state.licenses.values() : (state.products.get(product) ?? []);
  const events: Event[] = [];
  let count = 0;
  for (const license of licenses) {
    for (const held of license.pool.holders.values()) {
      if (held.end <= at || lockedUntil(license, held, at) !== null) continue;
      events.push(...released(license, held, "admin", peer, at));
      count += 1;
    }
  }
  return decided(events, { released: count });
}

/** Slots taken at this instant: counted, whether or not the expired ones are written off yet. */
export const slotsInUse = (pool: Pool<FeatureRegistration>, at: Instant): number =>
  pool.holders.size - pool.ends.countEnded(at);

/** The user's slot if it is held at this instant. */
export function holding<T extends FeatureRegistration>(
  pool: Pool<T>,
  user: string,
  at: Instant,
): T | null {
  const held = pool.holders.get(user);
  return held !== undefined && at < held.end ? held : null;
}

/** Where the rules let this user sit: the slot already held, or a license with room. */
interface Seat {
  readonly license: License;
  readonly held: Registration | null;
}

const anyLicense = (): boolean => true;

function findSlot(
  state: State,
  aim: Aim,
  user: string,
  at: Instant,
  allows: (license: License) => boolean = anyLicense,
): Result<Seat, Fault> {
  const licenses = licensesOf(state, aim);
  if (!licenses.ok) return licenses;
  const valid = validOf(licenses.value, at);
  if (!valid.ok) return valid;

  for (const license of valid.value) {
    const held = holding(license.pool, user, at);
    if (held === null) continue;
    return allows(license) ? ok({ license, held }) : no({ code: "license_borrow_not_allowed" });
  }
  const allowed = valid.value.filter(allows);
  if (allowed.length === 0) return no({ code: "license_borrow_not_allowed" });
  const free = allowed.find(({ pool, terms }) => slotsInUse(pool, at) < terms.slots);
  return free ? ok({ license: free, held: null }) : no(noneFree(allowed, at));
}

function noneFree(licenses: readonly License[], at: Instant): Fault {
  let slots = 0;
  let nextFree: Instant | null = null;
  for (const { pool, terms } of licenses) {
    slots += terms.slots;
    const end = pool.ends.nextEnd(at);
    if (end !== null) nextFree = nextFree === null ? end : earliest(nextFree, end);
  }
  return { code: "floating_not_available", slots, nextFree };
}

function slotOf(
  state: State,
  { license, held }: Seat,
  user: string,
  contact: Contact,
  at: Instant,
): SlotOutcome {
  const borrowedUntil =
    held?.borrowedUntil != null && held.borrowedUntil > at ? held.borrowedUntil : null;
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

function taken({ license, user, slot, end, contact }: SlotOutcome, at: Instant): Event {
  return { type: "SlotTaken", at, license, user, slot, end, contact };
}

/** A slot this user let run out must be written off before they can take another. */
function ownExpiry({ id, pool }: License, user: string): SlotExpired[] {
  const ended = pool.holders.get(user);
  return ended === undefined ? [] : [expired(id, ended)];
}

export const expired = (license: number, { user, slot, end }: Registration): SlotExpired => ({
  type: "SlotExpired",
  at: end,
  license,
  user,
  slot,
});

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

/** Until when nobody can give this slot back; null when it can be given back now. */
function lockedUntil({ terms }: License, held: Registration, at: Instant): Instant | null {
  const { borrowedUntil } = held;
  return !terms.earlyReturn && borrowedUntil !== null && at < borrowedUntil ? borrowedUntil : null;
}

/** Giving back the license's slot gives back what was held through it. */
function released(
  license: License,
  { user, slot, borrowedUntil }: Registration,
  by: ReleasedBy,
  peer: string,
  at: Instant,
): Event[] {
  const features: FeatureReleased[] = [];
  for (const [feature, { pool }] of license.features) {
    const held = holding(pool, user, at);
    if (held === null) continue;
    const { slot } = held;
    features.push({ type: "FeatureReleased", at, license: license.id, feature, user, slot, by });
  }
  const early = borrowedUntil !== null && at < borrowedUntil;
  const event: SlotReleased = {
    type: "SlotReleased",
    at,
    license: license.id,
    user,
    slot,
    by,
    peer,
    early,
  };
  return [...features, event];
}

const sameContact = (a: Contact, b: Contact): boolean =>
  a.hostname === b.hostname && a.ip === b.ip && a.info === b.info && a.peer === b.peer;
