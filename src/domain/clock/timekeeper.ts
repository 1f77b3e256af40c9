import { limits } from "../model/limits.ts";
import type { ClockJump, JumpReason } from "../model/clock-jump-types.ts";
import { DAY, HOUR, later, MINUTE, type Instant } from "../time.ts";

/**
 * The time that all rules use. It continues from the newest recorded instant by the monotonic
 * clock, and follows the system clock as far as that is plausible. A clock that jumps forward must
 * not end a license early, and a clock set back must not extend one.
 */
export interface Timekeeper {
  /** The last reading, and when it was made by the monotonic clock (milliseconds). */
  readonly time: Instant;
  readonly monotonicAt: number;
  /** Since when, by the monotonic clock, the system clock is too far ahead; null: it is not. */
  readonly aheadSince: number | null;
  /** False until the first reading: the first reading may jump further than a running server. */
  readonly isRunning: boolean;
  /**
   * How far the system clock may step forward and be accepted at once (milliseconds). Every step
   * uses it up, and only time that passes by the monotonic clock refills it.
   */
  readonly stepAllowance: number;
  /** When, by the monotonic clock, larger steps were accepted after a wait; of the last day. */
  readonly delayedStepsAt: readonly number[];
  /** The jumps since the start, oldest first. */
  readonly jumps: readonly ClockJump[];
}

export const CLOCK_LIMITS = {
  maxImmediateJump: DAY,
  maxJumpAtStart: 400 * DAY,
  minHoldTime: 5 * MINUTE,
  maxHoldTime: 6 * HOUR,
  behindWarning: 10 * MINUTE,
  behindSuspect: DAY,
  markInterval: 10 * MINUTE,
  /** A step this large counts as a jump and is recorded. */
  minRecordedJump: MINUTE,
  /** How long a vendor's signed time is accepted after its nonce was created. */
  timeAnswerLifetime: 7 * DAY,
} as const;

/** `jumps`: the recorded ones, which may have used up the allowance before the server stopped. */
export function startClock(
  mark: Instant,
  at: number,
  jumps: readonly ClockJump[] = [],
): Timekeeper {
  let allowance: number = CLOCK_LIMITS.maxImmediateJump;
  let passedSince = 0;
  const delayedStepsAt: number[] = [];
  for (const [index, { from, to, reason }] of jumps.entries()) {
    if (reason === "step") allowance = Math.max(0, allowance - (to - from));
    const next = jumps[index + 1]?.from ?? mark;
    allowance = refillAllowance(allowance, Math.max(0, next - to));
  }
  for (const [index, { to, reason }] of jumps.toReversed().entries()) {
    const next = jumps[jumps.length - index]?.from ?? mark;
    passedSince += Math.max(0, next - to);
    if (reason === "held" && passedSince < DAY) delayedStepsAt.unshift(at - passedSince);
  }
  return {
    time: mark,
    monotonicAt: at,
    aheadSince: null,
    isRunning: false,
    stepAllowance: allowance,
    delayedStepsAt,
    jumps: [],
  };
}

const refillAllowance = (allowance: number, passed: number): number =>
  Math.min(CLOCK_LIMITS.maxImmediateJump, allowance + passed);

/** Reads both clocks once. Time never runs back and never stands still. */
export function readClock(keeper: Timekeeper, wall: Instant, at: number): Timekeeper {
  // The fraction that is cut off counts next time: a thousand readings a second must not stop the
  // clock.
  const passed = Math.floor(at - keeper.monotonicAt);
  const time = later(keeper.time, passed);
  const ahead = wall - time;
  // As for most requests of one millisecond.
  const isUnchanged = passed === 0 && ahead <= 0 && keeper.aheadSince === null && keeper.isRunning;
  if (isUnchanged) return keeper;
  const advanced: Timekeeper = {
    time,
    monotonicAt: keeper.monotonicAt + passed,
    aheadSince: ahead <= 0 ? null : (keeper.aheadSince ?? at),
    isRunning: true,
    stepAllowance: refillAllowance(keeper.stepAllowance, passed),
    delayedStepsAt: keeper.delayedStepsAt,
    jumps: keeper.jumps,
  };
  if (advanced.aheadSince === null) return advanced;
  const allowance = refillAllowance(keeper.stepAllowance, at - keeper.monotonicAt);
  const reason = findJumpReason(keeper, allowance, ahead, at - advanced.aheadSince, at);
  if (reason === null) return advanced;
  const jump = { from: time, to: wall, reason };
  // Exact to the fraction: a correct clock must not use up the allowance, however often it is read.
  const stepSize = Math.max(0, wall - keeper.time - (at - keeper.monotonicAt));
  return {
    ...advanced,
    time: wall,
    monotonicAt: at,
    aheadSince: null,
    stepAllowance: reason === "step" ? Math.max(0, allowance - stepSize) : allowance,
    delayedStepsAt:
      reason === "held" ? [...filterLastDay(keeper.delayedStepsAt, at), at] : keeper.delayedStepsAt,
    jumps:
      ahead < CLOCK_LIMITS.minRecordedJump
        ? keeper.jumps
        : [...keeper.jumps, jump].slice(-limits.clockJumps),
  };
}

/** Null: the jump is not accepted yet. */
function findJumpReason(
  { isRunning, delayedStepsAt }: Timekeeper,
  stepAllowance: number,
  ahead: number,
  aheadFor: number,
  at: number,
): JumpReason | null {
  if (!isRunning && ahead <= CLOCK_LIMITS.maxJumpAtStart) return "start";
  if (ahead <= stepAllowance) return "step";
  // Once a day a larger step is accepted after a short wait; each further one doubles the wait.
  const requiredWait = Math.min(
    CLOCK_LIMITS.maxHoldTime,
    CLOCK_LIMITS.minHoldTime * 2 ** filterLastDay(delayedStepsAt, at).length,
  );
  return aheadFor >=
    (ahead <= CLOCK_LIMITS.maxJumpAtStart ? requiredWait : CLOCK_LIMITS.maxHoldTime)
    ? "held"
    : null;
}

const filterLastDay = (times: readonly number[], at: number): readonly number[] =>
  times.filter((time) => at - time < DAY);

/** Accepts the system clock, which was just read and is ahead, on an operator's command. */
export function acceptSystemClock(keeper: Timekeeper, wall: Instant, at: number): Timekeeper {
  if (wall <= keeper.time) return keeper;
  const jump = { from: keeper.time, to: wall, reason: "accepted" as const };
  return {
    ...keeper,
    time: wall,
    monotonicAt: at,
    aheadSince: null,
    jumps: [...keeper.jumps, jump],
  };
}

/** Continues from `to` after the clock was set back. Earlier jumps can no longer be undone. */
export const resetClock = (keeper: Timekeeper | null, to: Instant, at: number): Timekeeper => ({
  ...(keeper ?? startClock(to, at)),
  time: to,
  monotonicAt: at,
  aheadSince: null,
  isRunning: true,
  jumps: [],
});

/** So far behind that slots of licenses with an end are no longer granted. */
export const isClockSuspect = (behind: number): boolean => behind >= CLOCK_LIMITS.behindSuspect;
