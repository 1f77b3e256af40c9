import type { ClockJump, RecordedJump } from "../model/clock-jump-types.ts";
import type { LapsedBorrow } from "../model/slots/registration.ts";
import type { State } from "../model/state.ts";
import { later, type Instant } from "../time.ts";

/** The maximum that the clock may be ahead for a value that was set at `setAt` (milliseconds). */
export const sumJumpsSince = (jumps: readonly ClockJump[], setAt: Instant): number =>
  jumps.reduce((sum, { from, to }) => (setAt <= from ? sum + to - from : sum), 0);

/** The maximum that the clock may be ahead now (milliseconds). */
export const sumJumps = (jumps: readonly ClockJump[]): number =>
  jumps.reduce((sum, { from, to }) => sum + to - from, 0);

export const lapsedBorrowKey = (license: number, user: string): string => `${license} ${user}`;

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

/**
 * The lapsed borrows whose end is in the future again once the clock is set back. A borrow lasts
 * until the end that its lease has, whatever the clock showed when it was granted.
 */
export const findBorrowsToRestore = (state: State, to: Instant): readonly LapsedBorrow[] =>
  [...state.lapsedBorrows.values()].filter(
    (lapsed) => lapsed.borrowedUntil > to && isLongerThanCurrent(state, lapsed),
  );

/** False if the user already holds the slot for at least as long as the lapsed borrow. */
function isLongerThanCurrent({ licenses }: State, lapsed: LapsedBorrow): boolean {
  const license = licenses.get(lapsed.license);
  if (license === undefined) return false;
  const current = license.pool.get(lapsed.user)?.borrowedUntil ?? null;
  return current === null || current < lapsed.borrowedUntil;
}

export const moveLapsedBorrow = (lapsed: LapsedBorrow, skew: ClockSkewAt): LapsedBorrow => ({
  ...lapsed,
  registeredAt: later(lapsed.registeredAt, -skew(lapsed.registeredAt)),
  borrowedAt: later(lapsed.borrowedAt, -skew(lapsed.borrowedAt)),
});
