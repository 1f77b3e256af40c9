import { restoredBy } from "./clock-jumps.ts";
import type { AskClock, JumpClock, MarkClock, SetClockBack } from "./command.ts";
import { isStillTrusted } from "./trust.ts";
import { decided, type Decision } from "./decision.ts";
import type { Event } from "./event.ts";
import type { Fault } from "./fault.ts";
import { no, type Result } from "./result.ts";
import type { State } from "./state.ts";
import { earliest, later, type Instant } from "./time.ts";
import { CLOCK } from "./timekeeper.ts";

/** As long as no dated license was ever lent from, nobody gains by a clock that runs back. */
export const isFree = (state: State): boolean => !state.lentDated;

type ClockDecision = Result<Decision<null>, Fault>;

export const decideMarkClock = (_state: State, _command: MarkClock, at: Instant): ClockDecision =>
  decided([{ type: "ClockMarked", at }], null);

/** The time between was not lived through here: what a set-back must know of. */
export const decideJumpClock = (
  _state: State,
  { from, to, reason }: JumpClock,
  at: Instant,
): ClockDecision => decided([{ type: "ClockJumped", at, from, to, reason }], null);

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
  { to, nonce, peer, vendor = "", checkedVersion }: SetClockBack,
  at: Instant,
): ClockDecision {
  if (!isStillTrusted(state, vendor, checkedVersion)) return no({ code: "untrusted_vendor" });
  const asked = nonce !== null && nonce === openQuestion(state, at);
  if (!asked && !isFree(state)) return no({ code: "clock_suspect", behind: at - to });
  if (to >= at && !asked) return decided([], null);
  // An answer that is not earlier moves nothing, and is used up all the same.
  const back = earliest(to, at);
  const events: Event[] = [{ type: "ClockSetBack", at: back, from: at, to: back, peer }];
  for (const { license, user, slot, borrowedUntil: until } of restoredBy(state, at, back)) {
    const held = state.licenses.get(license)?.pool.get(user);
    const named = { license, user, slot: held?.slot ?? slot };
    events.push({ type: "SlotRestored", at: back, ...named, until, isHeld: held !== undefined });
  }
  return decided(events, null);
}
