import { totalAt } from "./consumption.ts";
import type { ClockJumped } from "./event.ts";
import { limits } from "./limits.ts";
import type { ClockJump, RecordedJump } from "./clock-jump-types.ts";
import type { LapsedBorrow, Registration } from "./registration.ts";
import type { Counter, State } from "./state.ts";
import { later, type Instant } from "./time.ts";

/**
 * The clock can go ahead by mistake and be put right later. What is needed then to leave everything
 * that was granted under the right clock as it was granted is kept here, as it happens.
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
    // In an order of their own: a start need not keep licenses in the order they came in.
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
    for (const [feature, { counter: its }] of features) {
      yield { license: id, feature, counter: its };
    }
  }
}

/** How far the clock may have been ahead at the most, for something that was set at `setAt`. */
export const sumJumpsSince = (jumps: readonly ClockJump[], setAt: Instant): number =>
  jumps.reduce((sum, { from, to }) => (setAt <= from ? sum + to - from : sum), 0);

/**
 * Called when a registration's borrow has ended or gets another end: if the clock jumped since it
 * was granted, its true end may still be ahead, and so may that of the lease its application holds.
 */
export function keepLapsedBorrow(
  state: State,
  license: number,
  { user, slot, registeredAt, contact, borrowedUntil, borrowedAt, leasedTo }: Registration,
): void {
  if (borrowedUntil === null || borrowedAt === null) return;
  if (sumJumpsSince(state.clockJumps, borrowedAt) === 0) return;
  const key = lapsedBorrowKey(license, user);
  const known = state.lapsedBorrows.get(key);
  if (known !== undefined && known.borrowedUntil > borrowedUntil) return;
  const borrow = { borrowedUntil, borrowedAt, leasedTo };
  state.lapsedBorrows.set(key, { license, user, slot, registeredAt, contact, ...borrow });
}

export const lapsedBorrowKey = (license: number, user: string): string => `${license} ${user}`;

/** Forgets the lapsed borrows that have ended however wrong the clock was. */
export function dropSettledBorrows({ lapsedBorrows, clockJumps, latestEventAt }: State): void {
  for (const [key, { borrowedUntil, borrowedAt }] of lapsedBorrows) {
    if (latestEventAt >= later(borrowedUntil, sumJumpsSince(clockJumps, borrowedAt)))
      lapsedBorrows.delete(key);
  }
}

export function dropLapsedBorrowsOf({ lapsedBorrows }: State, license: number): void {
  for (const [key, one] of lapsedBorrows) if (one.license === license) lapsedBorrows.delete(key);
}

/** Which jumps a set-back to `to` shows to have been wrong: they lead to what is not yet. */
export const findUndoneJumps = <J extends ClockJump>(
  jumps: readonly J[],
  to: Instant,
): readonly J[] => jumps.filter((jump) => jump.to > to);

/**
 * The jumps that may still turn out to be wrong after a set-back. One that took less back than the
 * jumps had gone ahead leaves the rest of them to be undone by the next.
 */
export function findRemainingJumps(
  jumps: readonly RecordedJump[],
  from: Instant,
  to: Instant,
): readonly RecordedJump[] {
  const undone = findUndoneJumps(jumps, to);
  const [first] = undone;
  const left = undone.reduce((sum, jump) => sum + jump.to - jump.from, to - from);
  const confirmed = jumps.filter((jump) => jump.to <= to);
  return first === undefined || left <= 0
    ? confirmed
    : [...confirmed, { ...first, to: later(first.from, left) }];
}

/** How far the clock was ahead when something was set. */
export type ClockSkewAt = (setAt: Instant) => number;

/**
 * With a set-back from `from` to `to` it is known how far the clock was ahead at the end; before
 * each of the jumps that are undone it was ahead by so much less. What was set at an instant that
 * has come by now, before any of these jumps, was set under the right clock.
 */
export function makeClockSkewAt(
  jumps: readonly ClockJump[],
  from: Instant,
  to: Instant,
): ClockSkewAt {
  const undone = findUndoneJumps(jumps, to);
  return (setAt) => (setAt <= to ? 0 : Math.max(0, from - to - sumJumpsSince(undone, setAt)));
}

/** The lapsed borrows that are still to come to their end once the clock is set back. */
export function findBorrowsToRestore(
  state: State,
  from: Instant,
  to: Instant,
): readonly LapsedBorrow[] {
  const skew = makeClockSkewAt(state.clockJumps, from, to);
  return [...state.lapsedBorrows.values()]
    .map((lapsed) => moveLapsedBorrow(lapsed, skew))
    .filter((lapsed) => lapsed.borrowedUntil > to && isLongerThanHeld(state, lapsed, skew));
}

/** The user does not have the slot for as long as this in any case. */
function isLongerThanHeld({ licenses }: State, lapsed: LapsedBorrow, skew: ClockSkewAt): boolean {
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
