import { limits } from "./limits.ts";
import type { ClockJump, JumpReason } from "./jump.ts";
import { DAY, HOUR, later, MINUTE, type Instant } from "./time.ts";

/**
 * What time it is, for every rule: carried on by the monotonic clock from the newest instant on
 * record, and following the system's clock as far as that can be believed. A wild clock must not
 * burn a license, and a clock set back must not stretch one.
 */
export interface Timekeeper {
  /** What it said last, and when by the monotonic clock (milliseconds). */
  readonly said: Instant;
  readonly at: number;
  /** Since when, by the monotonic clock, the system's clock is too far ahead; null: it is not. */
  readonly aheadSince: number | null;
  /** False until the first reading: a start may take a larger step than a running server. */
  readonly running: boolean;
  /**
   * How far the system's clock may step ahead and be believed at once (milliseconds). Every step
   * uses it up, and only time that passes by the monotonic clock gives it back.
   */
  readonly allowance: number;
  /** When, by the monotonic clock, larger steps were believed after a wait; of the last day. */
  readonly waits: readonly number[];
  /** The jumps since the start, oldest first. */
  readonly jumps: readonly ClockJump[];
}

export const CLOCK = {
  atOnce: DAY,
  atStart: 400 * DAY,
  soon: 5 * MINUTE,
  late: 6 * HOUR,
  warn: 10 * MINUTE,
  suspect: DAY,
  mark: 10 * MINUTE,
  /** A step this large is a jump, and goes on record. */
  jump: MINUTE,
  /** How long a vendor's answer to a code is good for. */
  answer: 7 * DAY,
} as const;

/** `jumps`: those on record, which may have used up the allowance before the server stopped. */
export function startClock(
  mark: Instant,
  at: number,
  jumps: readonly ClockJump[] = [],
): Timekeeper {
  let allowance: number = CLOCK.atOnce;
  let carriedSince = 0;
  const waits: number[] = [];
  for (const [place, { from, to, reason }] of jumps.entries()) {
    if (reason === "step") allowance = Math.max(0, allowance - (to - from));
    const next = jumps[place + 1]?.from ?? mark;
    allowance = refilled(allowance, Math.max(0, next - to));
  }
  for (const [place, { to, reason }] of jumps.toReversed().entries()) {
    const next = jumps[jumps.length - place]?.from ?? mark;
    carriedSince += Math.max(0, next - to);
    if (reason === "held" && carriedSince < DAY) waits.unshift(at - carriedSince);
  }
  return { said: mark, at, aheadSince: null, running: false, allowance, waits, jumps: [] };
}

const refilled = (allowance: number, passed: number): number =>
  Math.min(CLOCK.atOnce, allowance + passed);

/** One reading of both clocks. Time never runs back and never stands still. */
export function readClock(keeper: Timekeeper, wall: Instant, at: number): Timekeeper {
  // What is cut off counts next time: a thousand readings a second must not stop the clock.
  const passed = Math.floor(at - keeper.at);
  const carried = {
    ...keeper,
    said: later(keeper.said, passed),
    at: keeper.at + passed,
    running: true,
    allowance: refilled(keeper.allowance, passed),
  };
  const ahead = wall - carried.said;
  if (ahead <= 0) return { ...carried, aheadSince: null };
  const aheadSince = keeper.aheadSince ?? at;
  const allowance = refilled(keeper.allowance, at - keeper.at);
  const reason = reasonToBelieve({ ...keeper, allowance }, ahead, at - aheadSince, at);
  if (reason === null) return { ...carried, aheadSince };
  const jump = { from: carried.said, to: wall, reason };
  // To the fraction: a clock that is right must use up nothing, however often it is read.
  const stepped = Math.max(0, wall - keeper.said - (at - keeper.at));
  return {
    ...carried,
    said: wall,
    at,
    aheadSince: null,
    allowance: reason === "step" ? Math.max(0, allowance - stepped) : allowance,
    waits: reason === "held" ? [...recent(keeper.waits, at), at] : keeper.waits,
    jumps: ahead < CLOCK.jump ? keeper.jumps : [...keeper.jumps, jump].slice(-limits.clockJumps),
  };
}

/** Null: not yet. */
function reasonToBelieve(
  { running, allowance, waits }: Timekeeper,
  ahead: number,
  held: number,
  at: number,
): JumpReason | null {
  if (!running && ahead <= CLOCK.atStart) return "start";
  if (ahead <= allowance) return "step";
  // Once a day a larger step is believed soon; with each further one the wait doubles.
  const wait = Math.min(CLOCK.late, CLOCK.soon * 2 ** recent(waits, at).length);
  return held >= (ahead <= CLOCK.atStart ? wait : CLOCK.late) ? "held" : null;
}

const recent = (waits: readonly number[], at: number): readonly number[] =>
  waits.filter((then) => at - then < DAY);

/** An operator says that the system's clock, which was just read and is ahead, is right. */
export function acceptClock(keeper: Timekeeper, wall: Instant, at: number): Timekeeper {
  if (wall <= keeper.said) return keeper;
  const jump = { from: keeper.said, to: wall, reason: "accepted" as const };
  return { ...keeper, said: wall, at, aheadSince: null, jumps: [...keeper.jumps, jump] };
}

/** Time was set back, and goes on from here. The jumps before are no longer to be undone. */
export const resetClock = (keeper: Timekeeper | null, to: Instant, at: number): Timekeeper => ({
  ...(keeper ?? startClock(to, at)),
  said: to,
  at,
  aheadSince: null,
  running: true,
  jumps: [],
});

/** So far behind that new slots with an end are no longer given out. */
export const isSuspect = (behind: number): boolean => behind >= CLOCK.suspect;
