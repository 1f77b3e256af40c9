import { lapsedBorrowKey, sumJumps } from "../clock/clock-jumps.ts";
import { later, type Instant } from "../time.ts";
import type { MutableState, MutableRegistration } from "./mutable-state.ts";

/**
 * Called when a registration's borrow has ended. If the clock jumped, that end may truly be in the
 * future, and so is the end of the lease that its application holds.
 */
export function keepLapsedBorrow(
  state: MutableState,
  license: number,
  registration: MutableRegistration,
): void {
  const { user, slot, registeredAt, contact, borrowedUntil, borrowedAt } = registration;
  if (borrowedUntil === null || borrowedAt === null) return;
  if (isSettled(state, borrowedUntil)) return;
  const key = lapsedBorrowKey(license, user);
  const existing = state.lapsedBorrows.get(key);
  const { takenFrom, identity } = registration;
  // Of two borrows, the one without a device keeps that of the other one: its lease may be valid.
  const leasedTo = registration.leasedTo ?? existing?.leasedTo ?? null;
  if (existing !== undefined && existing.borrowedUntil > borrowedUntil) {
    state.lapsedBorrows.set(key, { ...existing, leasedTo: existing.leasedTo ?? leasedTo });
    return;
  }
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
export function dropSettledBorrows(state: MutableState): void {
  for (const [key, { borrowedUntil }] of state.lapsedBorrows)
    if (isSettled(state, borrowedUntil)) state.lapsedBorrows.delete(key);
}

const isSettled = ({ clockJumps, latestEventAt }: MutableState, until: Instant): boolean =>
  latestEventAt >= later(until, sumJumps(clockJumps));

export function dropLapsedBorrowsOf({ lapsedBorrows }: MutableState, license: number): void {
  for (const [key, borrow] of lapsedBorrows)
    if (borrow.license === license) lapsedBorrows.delete(key);
}
