import { CLOCK_LIMITS } from "../clock/timekeeper.ts";
import { lapsedBorrowKey } from "../clock/clock-jumps.ts";
import { findHold } from "../queue/holds.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { License, State } from "../model/state.ts";
import { later, type Instant } from "../time.ts";
import type { LapsedBorrow, Registration } from "../model/slots/registration.ts";

/**
 * While the system clock is behind, an earlier forward jump may have been wrong. Borrows that ended
 * only by the jump keep their slots until it is known which clock is right.
 */

type EndedBorrow = Pick<Registration | LapsedBorrow, "user" | "borrowedUntil" | "leasedTo">;

/** What the system clock shows, if it is so far behind that a jump may have been wrong. */
const findSystemTime = ({ at, clockBehind }: RuleContext): Instant | null =>
  clockBehind < CLOCK_LIMITS.minRecordedJump ? null : later(at, -clockBehind);

/**
 * How many slots of a license are kept for owners of such borrows, other than `user`. An owner who
 * has a slot again, or for whom one is held, needs no second one.
 */
export function countKeptForOwners(
  state: State,
  license: License,
  user: string | null,
  context: RuleContext,
): number {
  const systemTime = findSystemTime(context);
  if (systemTime === null) return 0;
  const { id, pool, terms } = license;
  const owners = new Set<string>();
  const addOwner = ({ user: owner, borrowedUntil }: EndedBorrow): void => {
    if (owner === user || borrowedUntil === null || borrowedUntil <= systemTime) return;
    const isHeld = (pool.get(owner)?.end ?? 0) > context.at;
    if (!isHeld && findHold(state, terms.product, owner)?.hold?.license !== id) owners.add(owner);
  };
  for (const ended of pool.expiryIndex.ended(context.at, Infinity)) addOwner(ended);
  for (const lapsed of state.lapsedBorrows.values()) if (lapsed.license === id) addOwner(lapsed);
  return owners.size;
}

/**
 * The device that has the lease of such a borrow, and until when; null: there is none. After the
 * clock was set back, the user may hold a longer borrow, which no device has the lease of.
 */
export function findLapsedLease(
  state: State,
  { id, pool }: License,
  user: string,
  context: RuleContext,
): { readonly device: string; readonly until: Instant } | null {
  const systemTime = findSystemTime(context) ?? context.at;
  for (const borrow of [pool.get(user), state.lapsedBorrows.get(lapsedBorrowKey(id, user))]) {
    const { borrowedUntil: until = null, leasedTo: device = null } = borrow ?? {};
    if (until !== null && device !== null && until > systemTime) return { device, until };
  }
  return null;
}
