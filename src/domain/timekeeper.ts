import { limits } from "./limits.ts";
import type { ClockJump, JumpReason } from "./clock-jump-types.ts";
import { DAY, HOUR, later, MINUTE, type Instant } from "./time.ts";

/**
 * What time it is, for every rule: carried on by the monotonic clock from the newest instant on
 * record, and following the system's clock as far as that can be believed. A wild clock must not
 * burn a license, and a clock set back must not stretch one.
 */
export interface Timekeeper {
  /** What it said last, and when by the monotonic clock (milliseconds). */
  readonly time: Instant;
  readonly monotonicAt: number;
  /** Since when, by the monotonic clock, the system's clock is too far ahead; null: it is not. */
  readonly aheadSince: number | null;
  /** False until the first reading: a start may take a larger step than a running server. */
  readonly isRunning: boolean;
  /**
   * How far the system's clock may step ahead and be believed at once (milliseconds). Every step
   * uses it up, and only time that passes by the monotonic clock gives it back.
   */
  readonly stepAllowance: number;
  /** When, by the monotonic clock, larger steps were believed after a wait; of the last day. */
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
  /** A step this large is a jump, and goes on record. */
  minRecordedJump: MINUTE,
  /** How long a vendor's answer to a code is good for. */
  timeAnswerLifetime: 7 * DAY,
} as const;

/** `jumps`: those on record, which may have used up the allowance before the server stopped. */
export function startClock(
  mark: Instant,
  at: number,
  jumps: readonly ClockJump[] = [],
): Timekeeper {
  let allowance: number = CLOCK_LIMITS.maxImmediateJump;
  let carriedSince = 0;
  const waits: number[] = [];
  for (const [place, { from, to, reason }] of jumps.entries()) {
    if (reason === "step") allowance = Math.max(0, allowance - (to - from));
    const next = jumps[place + 1]?.from ?? mark;
    allowance = refillAllowance(allowance, Math.max(0, next - to));
  }
  for (const [place, { to, reason }] of jumps.toReversed().entries()) {
    const next = jumps[jumps.length - place]?.from ?? mark;
    carriedSince += Math.max(0, next - to);
    if (reason === "held" && carriedSince < DAY) waits.unshift(at - carriedSince);
  }
  return {
    time: mark,
    monotonicAt: at,
    aheadSince: null,
    isRunning: false,
    stepAllowance: allowance,
    delayedStepsAt: waits,
    jumps: [],
  };
}

const refillAllowance = (allowance: number, passed: number): number =>
  Math.min(CLOCK_LIMITS.maxImmediateJump, allowance + passed);

/** One reading of both clocks. Time never runs back and never stands still. */
export function readClock(keeper: Timekeeper, wall: Instant, at: number): Timekeeper {
  // What is cut off counts next time: a thousand readings a second must not stop the clock.
  const passed = Math.floor(at - keeper.monotonicAt);
  const carried = {
    ...keeper,
    time: later(keeper.time, passed),
    monotonicAt: keeper.monotonicAt + passed,
    isRunning: true,
    stepAllowance: refillAllowance(keeper.stepAllowance, passed),
  };
  const ahead = wall - carried.time;
  if (ahead <= 0) return { ...carried, aheadSince: null };
  const aheadSince = keeper.aheadSince ?? at;
  const allowance = refillAllowance(keeper.stepAllowance, at - keeper.monotonicAt);
  const reason = findJumpReason(
    { ...keeper, stepAllowance: allowance },
    ahead,
    at - aheadSince,
    at,
  );
  if (reason === null) return { ...carried, aheadSince };
  const jump = { from: carried.time, to: wall, reason };
  // To the fraction: a clock that is right must use up nothing, however often it is read.
  const stepped = Math.max(0, wall - keeper.time - (at - keeper.monotonicAt));
  return {
    ...carried,
    time: wall,
    monotonicAt: at,
    aheadSince: null,
    stepAllowance: reason === "step" ? Math.max(0, allowance - stepped) : allowance,
    delayedStepsAt:
      reason === "held" ? [...filterLastDay(keeper.delayedStepsAt, at), at] : keeper.delayedStepsAt,
    jumps:
      ahead < CLOCK_LIMITS.minRecordedJump
        ? keeper.jumps
        : [...keeper.jumps, jump].slice(-limits.clockJumps),
  };
}

/** Null: not yet. */
function findJumpReason(
  { isRunning, stepAllowance, delayedStepsAt }: Timekeeper,
  ahead: number,
  held: number,
  at: number,
): JumpReason | null {
  if (!isRunning && ahead <= CLOCK_LIMITS.maxJumpAtStart) return "start";
  if (ahead <= stepAllowance) return "step";
  // Once a day a larger step is believed soon; with each further one the wait doubles.
  const wait = Math.min(
    CLOCK_LIMITS.maxHoldTime,
    CLOCK_LIMITS.minHoldTime * 2 ** filterLastDay(delayedStepsAt, at).length,
  );
  return held >= (ahead <= CLOCK_LIMITS.maxJumpAtStart ? wait : CLOCK_LIMITS.maxHoldTime)
    ? "held"
    : null;
}

const filterLastDay = (waits: readonly number[], at: number): readonly number[] =>
  waits.filter((then) => at - then < DAY);

/** An operator says that the system's clock, which was just read and is ahead, is right. */
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

/** Time was set back, and goes on from here. The jumps before are no longer to be undone. */
export const resetClock = (keeper: Timekeeper | null, to: Instant, at: number): Timekeeper => ({
  ...(keeper ?? startClock(to, at)),
  time: to,
  monotonicAt: at,
  aheadSince: null,
  isRunning: true,
  jumps: [],
});

/** So far behind that new slots with an end are no longer given out. */
export const isClockSuspect = (behind: number): boolean => behind >= CLOCK_LIMITS.behindSuspect;
