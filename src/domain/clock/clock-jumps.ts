import { totalAt } from "../consumption/counters.ts";
import type { ClockJumped } from "../event.ts";
import { limits } from "../limits.ts";
import type { ClockJump, RecordedJump } from "./clock-jump-types.ts";
import type { LapsedBorrow, Registration } from "../slots/registration.ts";
import type { Counter, State } from "../state.ts";
import { later, type Instant } from "../time.ts";

/**
 * The clock can jump forward by mistake and be corrected later. This records what the correction
 * needs to restore everything that was granted under the correct clock.
 */
export function recordJump(state: State, { from, to, reason }: ClockJumped): void {
  const counters = [...listCounters(state)]
    .filter(({ counter }) => counter.resetAt !== null)
    .map(({ license, feature, counter }) => ({
      license,
      feature,
      total: totalAt(counter, from),
      resetAt: counter.resetAt,
      counted: counter.counted,
    }))
    // Sorted: a restart may load the licenses in another order than they were installed in.
    .toSorted((a, b) => a.license - b.license || ((a.feature ?? "") < (b.feature ?? "") ? -1 : 1));
  state.clockJumps.push({ from, to, reason, counters });
  if (state.clockJumps.length > limits.clockJumps) state.clockJumps.shift();
}

/** The counters of every license and of every feature. */
function* listCounters(state: State): Generator<{
  readonly license: number;
  readonly feature: string | null;
  readonly counter: Counter;
}> {
  for (const { id, counter, features } of state.licenses.values()) {
    yield { license: id, feature: null, counter };
    for (const [feature, { counter: featureCounter }] of features) {
      yield { license: id, feature, counter: featureCounter };
    }
  }
}

/** The maximum that the clock may be ahead for a value that was set at `setAt` (milliseconds). */
export const sumJumpsSince = (jumps: readonly ClockJump[], setAt: Instant): number =>
  jumps.reduce((sum, { from, to }) => (setAt <= from ? sum + to - from : sum), 0);

/**
 * Called when a registration's borrow has ended or gets another end. If the clock jumped since the
 * borrow was granted, its true end may still be in the future, and so may the end of the lease that
 * its application holds.
 */
export function keepLapsedBorrow(
  state: State,
  license: number,
  { user, slot, registeredAt, contact, borrowedUntil, borrowedAt, leasedTo }: Registration,
): void {
  if (borrowedUntil === null || borrowedAt === null) return;
  if (sumJumpsSince(state.clockJumps, borrowedAt) === 0) return;
  const key = lapsedBorrowKey(license, user);
  const existing = state.lapsedBorrows.get(key);
  if (existing !== undefined && existing.borrowedUntil > borrowedUntil) return;
  const borrow = { borrowedUntil, borrowedAt, leasedTo };
  state.lapsedBorrows.set(key, { license, user, slot, registeredAt, contact, ...borrow });
}

export const lapsedBorrowKey = (license: number, user: string): string => `${license} ${user}`;

/** Drops the lapsed borrows that have ended even if every recorded jump was wrong. */
export function dropSettledBorrows({ lapsedBorrows, clockJumps, latestEventAt }: State): void {
  for (const [key, { borrowedUntil, borrowedAt }] of lapsedBorrows) {
    if (latestEventAt >= later(borrowedUntil, sumJumpsSince(clockJumps, borrowedAt)))
      lapsedBorrows.delete(key);
  }
}

export function dropLapsedBorrowsOf({ lapsedBorrows }: State, license: number): void {
  for (const [key, borrow] of lapsedBorrows)
    if (borrow.license === license) lapsedBorrows.delete(key);
}

/** The jumps that a set-back to `to` shows to be wrong: they lead to an instant in the future. */
export const findUndoneJumps = <J extends ClockJump>(
  jumps: readonly J[],
  to: Instant,
): readonly J[] => jumps.filter((jump) => jump.to > to);

/**
 * The jumps that may still turn out to be wrong after a set-back. If the clock was set back by less
 * than the jumps added, the rest can be undone by the next set-back.
 */
export function findRemainingJumps(
  jumps: readonly RecordedJump[],
  from: Instant,
  to: Instant,
): readonly RecordedJump[] {
  const undoneJumps = findUndoneJumps(jumps, to);
  const [firstUndone] = undoneJumps;
  const remaining = undoneJumps.reduce((sum, jump) => sum + jump.to - jump.from, to - from);
  const confirmedJumps = jumps.filter((jump) => jump.to <= to);
  return firstUndone === undefined || remaining <= 0
    ? confirmedJumps
    : [...confirmedJumps, { ...firstUndone, to: later(firstUndone.from, remaining) }];
}

/** How far the clock was ahead when a value was set (milliseconds). */
export type ClockSkewAt = (setAt: Instant) => number;

/**
 * A set-back from `from` to `to` shows how far the clock was ahead at the end. Before each undone
 * jump it was ahead by that much less. A value set at or before `to`, before any of these jumps,
 * was set under the correct clock.
 */
export function makeClockSkewAt(
  jumps: readonly ClockJump[],
  from: Instant,
  to: Instant,
): ClockSkewAt {
  const undoneJumps = findUndoneJumps(jumps, to);
  return (setAt) => (setAt <= to ? 0 : Math.max(0, from - to - sumJumpsSince(undoneJumps, setAt)));
}

/** The lapsed borrows whose end is in the future again once the clock is set back. */
export function findBorrowsToRestore(
  state: State,
  from: Instant,
  to: Instant,
): readonly LapsedBorrow[] {
  const skew = makeClockSkewAt(state.clockJumps, from, to);
  return [...state.lapsedBorrows.values()]
    .map((lapsed) => moveLapsedBorrow(lapsed, skew))
    .filter((lapsed) => lapsed.borrowedUntil > to && isLongerThanCurrent(state, lapsed, skew));
}

/** False if the user already holds the slot for at least as long as the lapsed borrow. */
function isLongerThanCurrent(
  { licenses }: State,
  lapsed: LapsedBorrow,
  skew: ClockSkewAt,
): boolean {
  const license = licenses.get(lapsed.license);
  const { borrowedUntil = null, borrowedAt = null } = license?.pool.get(lapsed.user) ?? {};
  if (license === undefined || borrowedUntil === null || borrowedAt === null) {
    return license !== undefined;
  }
  return later(borrowedUntil, -skew(borrowedAt)) < lapsed.borrowedUntil;
}

export function moveLapsedBorrow(lapsed: LapsedBorrow, skew: ClockSkewAt): LapsedBorrow {
  const { registeredAt, borrowedUntil, borrowedAt } = lapsed;
  return {
    ...lapsed,
    registeredAt: later(registeredAt, -skew(registeredAt)),
    borrowedUntil: later(borrowedUntil, -skew(borrowedAt)),
    borrowedAt: later(borrowedAt, -skew(borrowedAt)),
  };
}
