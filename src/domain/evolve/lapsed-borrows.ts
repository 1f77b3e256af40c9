import { lapsedBorrowKey, sumJumpsSince } from "../clock/clock-jumps.ts";
import { later } from "../time.ts";
import type { MutableState, MutableRegistration } from "./mutable-state.ts";

/**
 * Called when a registration's borrow has ended or gets another end. If the clock jumped since the
 * borrow was granted, its true end may still be in the future, and so may the end of the lease that
 * its application holds.
 */
export function keepLapsedBorrow(
  state: MutableState,
  license: number,
  registration: MutableRegistration,
): void {
  const { user, slot, registeredAt, contact, borrowedUntil, borrowedAt } = registration;
  if (borrowedUntil === null || borrowedAt === null) return;
  if (sumJumpsSince(state.clockJumps, borrowedAt) === 0) return;
  const key = lapsedBorrowKey(license, user);
  const existing = state.lapsedBorrows.get(key);
  if (existing !== undefined && existing.borrowedUntil > borrowedUntil) return;
  const { leasedTo, takenFrom, identity } = registration;
  state.lapsedBorrows.set(key, {
    license,
    user,
    slot,
    registeredAt,
    contact,
    borrowedUntil,
    borrowedAt,
    leasedTo,
    ...(takenFrom !== contact && { takenFrom }),
    ...(identity !== null && { identity }),
  });
}

/** Drops the lapsed borrows that have ended even if every recorded jump was wrong. */
export function dropSettledBorrows({
  lapsedBorrows,
  clockJumps,
  latestEventAt,
}: MutableState): void {
  for (const [key, { borrowedUntil, borrowedAt }] of lapsedBorrows) {
    if (latestEventAt >= later(borrowedUntil, sumJumpsSince(clockJumps, borrowedAt)))
      lapsedBorrows.delete(key);
  }
}

export function dropLapsedBorrowsOf({ lapsedBorrows }: MutableState, license: number): void {
  for (const [key, borrow] of lapsedBorrows)
    if (borrow.license === license) lapsedBorrows.delete(key);
}
