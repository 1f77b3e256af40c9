import type { Unregister, UnregisterAll } from "./command.ts";
import { makeDecision, type Decision } from "./decision.ts";
import type { Event, FeatureReleased, ReleasedBy, SlotReleased } from "./event.ts";
import type { Fault } from "./fault.ts";
import { findLicenses, findMissingFields } from "./licenses.ts";
import { err, type Result } from "./result.ts";
import { getBorrowEnd, findHeldSlot } from "./slots.ts";
import type { Registration } from "./registration.ts";
import type { License, State } from "./state.ts";
import type { Instant } from "./time.ts";

/** Also returns a borrowed slot early, where the license lets it. */
export function decideUnregister(
  state: State,
  command: Unregister,
  at: Instant,
): Result<Decision<{ readonly released: number }>, Fault> {
  const { user, by, peer } = command;
  const missing = findMissingFields(state, command, { user });
  if (user === null || missing.length > 0) {
    return err({ code: "missing_parameters", fields: missing });
  }
  const licenses = findLicenses(state, command);
  if (!licenses.ok) return licenses;

  const events: Event[] = [];
  let count = 0;
  for (const license of licenses.value) {
    const held = findHeldSlot(license.pool, user, at);
    if (held === null) continue;
    const until = lockedUntil(license, held, at);
    if (until !== null) return err({ code: "early_return_not_allowed", until });
    events.push(...makeReleaseEvents(license, held, by, peer, at));
    count += 1;
  }
  if (count === 0) return err({ code: "user_not_registered" });
  return makeDecision(events, { released: count });
}

/** Frees every slot that may be freed; those whose license forbids an early return stay. */
export function decideUnregisterAll(
  state: State,
  { product, peer }: UnregisterAll,
  at: Instant,
): Result<Decision<{ readonly released: number }>, Fault> {
  if (product !== null && !state.products.has(product)) return err({ code: "unknown_product" });
  const licenses = product === null ? state.licenses.values() : (state.products.get(product) ?? []);
  const events: Event[] = [];
  let count = 0;
  for (const license of licenses) {
    for (const held of license.pool.inSlotOrder()) {
      if (held.end <= at || lockedUntil(license, held, at) !== null) continue;
      events.push(...makeReleaseEvents(license, held, "admin", peer, at));
      count += 1;
    }
  }
  return makeDecision(events, { released: count });
}

/** Until when nobody can give this slot back; null when it can be given back now. */
const lockedUntil = ({ terms }: License, held: Registration, at: Instant): Instant | null =>
  terms.earlyReturn ? null : getBorrowEnd(held, at);

/** Giving back the license's slot gives back what was held through it. */
function makeReleaseEvents(
  license: License,
  held: Registration,
  by: ReleasedBy,
  peer: string,
  at: Instant,
): Event[] {
  const { user, slot } = held;
  const features: FeatureReleased[] = [];
  for (const [feature, { pool }] of license.features) {
    const using = findHeldSlot(pool, user, at);
    if (using === null) continue;
    const named = { license: license.id, feature, user, slot: using.slot };
    features.push({ type: "FeatureReleased", at, ...named, by, peer });
  }
  const early = getBorrowEnd(held, at) !== null;
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
