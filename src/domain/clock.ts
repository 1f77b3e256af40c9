import type { AskClock, MarkClock, SetClockBack } from "./command.ts";
import { decided, type Decision } from "./decision.ts";
import type { Fault } from "./fault.ts";
import { no, type Result } from "./result.ts";
import type { State } from "./state.ts";
import { DAY, earliest, HOUR, later, MINUTE, type Instant } from "./time.ts";

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
}

export const CLOCK = {
  atOnce: DAY,
  atStart: 400 * DAY,
  soon: 5 * MINUTE,
  late: 6 * HOUR,
  warn: 10 * MINUTE,
  suspect: DAY,
  mark: 10 * MINUTE,
  /** How long a vendor's answer to a code is good for. */
  answer: 7 * DAY,
} as const;

export const startClock = (mark: Instant, at: number): Timekeeper => ({
  said: mark,
  at,
  aheadSince: null,
  running: false,
});

/** One reading of both clocks. Time never runs back and never stands still. */
export function readClock(keeper: Timekeeper, wall: Instant, at: number): Timekeeper {
  const carried = later(keeper.said, Math.floor(at - keeper.at));
  // What was cut off counts next time: a thousand readings a second must not stop the clock.
  const carriedAt = keeper.at + Math.floor(at - keeper.at);
  const ahead = wall - carried;
  const since = keeper.aheadSince ?? at;
  const held = at - since;
  const believed =
    ahead <= CLOCK.atOnce ||
    (ahead <= CLOCK.atStart && (!keeper.running || held >= CLOCK.soon)) ||
    held >= CLOCK.late;
  if (ahead > 0 && believed) return { said: wall, at, aheadSince: null, running: true };
  const waiting = ahead > 0 ? since : null;
  return { said: carried, at: carriedAt, aheadSince: waiting, running: true };
}

/** So far behind that new slots with an end are no longer given out. */
export const isSuspect = (now: Instant, wall: Instant): boolean => now - wall >= CLOCK.suspect;

/** As long as no dated license was ever lent from, nobody gains by a clock that runs back. */
export const isFree = (state: State): boolean => !state.lentDated;

type ClockDecision = Result<Decision<null>, Fault>;

export const decideMarkClock = (_state: State, _command: MarkClock, at: Instant): ClockDecision =>
  decided([{ type: "ClockMarked", at }], null);

/** Makes the question a vendor's time answers; the newest one counts. */
export const decideAskClock = (
  _state: State,
  { nonce, peer }: AskClock,
  at: Instant,
): ClockDecision => decided([{ type: "ClockAsked", at, nonce, peer }], null);

/** The question that is still open at this instant. */
export const openQuestion = (state: State, at: Instant): string | null =>
  at < later(state.clockAskedAt, CLOCK.answer) ? state.clockNonce : null;

/** Back to `to`: freely while nothing dated was lent, else only by a vendor's word. */
export function decideSetClockBack(
  state: State,
  { to, nonce, peer }: SetClockBack,
  at: Instant,
): ClockDecision {
  const asked = nonce !== null && nonce === openQuestion(state, at);
  if (!asked && !isFree(state)) return no({ code: "clock_suspect", behind: at - to });
  if (to >= at && !asked) return decided([], null);
  // An answer that is not earlier moves nothing, and is used up all the same.
  const back = earliest(to, at);
  return decided([{ type: "ClockSetBack", at: back, from: at, to: back, peer }], null);
}
