import { findBorrowsToRestore } from "./clock-jumps.ts";
import type { AskClock, JumpClock, MarkClock, SetClockBack } from "./command.ts";
import { isStillTrusted } from "./trust.ts";
import { makeDecision, type Decision } from "./decision.ts";
import type { Event } from "./event.ts";
import type { Fault } from "./fault.ts";
import { err, type Result } from "./result.ts";
import type { State } from "./state.ts";
import { earliest, later, type Instant } from "./time.ts";
import { CLOCK_LIMITS } from "./timekeeper.ts";

/** As long as no dated license was ever lent from, nobody gains by a clock that runs back. */
export const canSetClockFreely = (state: State): boolean => !state.hasLentTimeDependent;

type ClockDecision = Result<Decision<null>, Fault>;

export const decideMarkClock = (_state: State, _command: MarkClock, at: Instant): ClockDecision =>
  makeDecision([{ type: "ClockMarked", at }], null);

/** The time between was not lived through here: what a set-back must know of. */
export const decideJumpClock = (
  _state: State,
  { from, to, reason }: JumpClock,
  at: Instant,
): ClockDecision => makeDecision([{ type: "ClockJumped", at, from, to, reason }], null);

/** Makes the question a vendor's time answers; the newest one counts. */
export const decideAskClock = (
  _state: State,
  { nonce, peer }: AskClock,
  at: Instant,
): ClockDecision => makeDecision([{ type: "ClockAsked", at, nonce, peer }], null);

/** The question that is still open at this instant. */
export const findOpenTimeNonce = (state: State, at: Instant): string | null =>
  at < later(state.clockAskedAt, CLOCK_LIMITS.timeAnswerLifetime) ? state.clockNonce : null;

/** Back to `to`: freely while nothing dated was lent, else only by a vendor's word. */
export function decideSetClockBack(
  state: State,
  { to, nonce, peer, vendor = "", checkedVersion }: SetClockBack,
  at: Instant,
): ClockDecision {
  if (!isStillTrusted(state, vendor, checkedVersion)) return err({ code: "untrusted_vendor" });
  const asked = nonce !== null && nonce === findOpenTimeNonce(state, at);
  if (!asked && !canSetClockFreely(state)) return err({ code: "clock_suspect", behind: at - to });
  if (to >= at && !asked) return makeDecision([], null);
  // An answer that is not earlier moves nothing, and is used up all the same.
  const back = earliest(to, at);
  const events: Event[] = [{ type: "ClockSetBack", at: back, from: at, to: back, peer }];
  const borrows = findBorrowsToRestore(state, at, back);
  for (const { license, user, slot, borrowedUntil } of borrows) {
    const held = state.licenses.get(license)?.pool.get(user);
    const named = { license, user, slot: held?.slot ?? slot };
    events.push({
      type: "SlotRestored",
      at: back,
      ...named,
      until: borrowedUntil,
      isHeld: held !== undefined,
    });
  }
  return makeDecision(events, null);
}
