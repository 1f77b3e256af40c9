import { findBorrowsToRestore } from "./clock-jumps.ts";
import type { ClockJump } from "../model/clock-jump-types.ts";
import { findKeyFault, type SigningKey } from "../trust/trust.ts";
import { makeDecision, type Decision } from "../model/decision.ts";
import type { Event } from "../model/event.ts";
import type { Fault } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";
import { earliest, later, type Instant } from "../time.ts";
import { CLOCK_LIMITS } from "./timekeeper.ts";

/**
 * While no slot or count of a time-dependent license was ever granted, setting the clock back gains
 * nothing.
 */
export const canSetClockFreely = (state: State): boolean => !state.hasLentTimeDependent;

type ClockDecision = Result<Decision<null>, Fault>;

export interface MarkClock {
  readonly type: "MarkClock";
}

export const decideMarkClock = (
  _state: State,
  _command: MarkClock,
  { at }: RuleContext,
): ClockDecision => makeDecision([{ type: "ClockMarked", at }], null);

/** Records that the clock jumped forward. */
export interface JumpClock extends ClockJump {
  readonly type: "JumpClock";
}

/** Records the jump, because a later set-back needs to know of it. */
export const decideJumpClock = (
  _state: State,
  { from, to, reason }: JumpClock,
  { at }: RuleContext,
): ClockDecision => makeDecision([{ type: "ClockJumped", at, from, to, reason }], null);

export interface AskClock {
  readonly type: "AskClock";
  readonly nonce: string;
  readonly peer: string;
}

/** Creates the nonce that a vendor's signed time answers; only the newest nonce counts. */
export const decideAskClock = (
  _state: State,
  { nonce, peer }: AskClock,
  { at }: RuleContext,
): ClockDecision => makeDecision([{ type: "ClockAsked", at, nonce, peer }], null);

/** The nonce that can still be answered at this instant; null: none. */
export const findOpenTimeNonce = (state: State, at: Instant): string | null =>
  at < later(state.clockAskedAt, CLOCK_LIMITS.timeAnswerLifetime) ? state.clockNonce : null;

export interface SetClockBack {
  readonly type: "SetClockBack";
  readonly to: Instant;
  /** The key that signed the time, and when it did; left out: nobody signed it. */
  readonly signed?: { readonly by: SigningKey; readonly at: Instant };
  /** The nonce that the signed time answers; null: only the system clock supports the change. */
  readonly nonce: string | null;
  readonly peer: string;
}

/**
 * Sets the clock back to `to`: without a signature while nothing time-dependent was granted, else
 * only with a vendor's signed time.
 */
export function decideSetClockBack(
  state: State,
  { to, nonce, peer, signed }: SetClockBack,
  { at }: RuleContext,
): ClockDecision {
  // The end of the key is compared with the time that it signed: the one of the site is wrong.
  const keyFault = signed === undefined ? null : findKeyFault(state, signed.by, signed.at);
  if (keyFault !== null) return err(keyFault);
  const isAnswer = nonce !== null && nonce === findOpenTimeNonce(state, at);
  if (!isAnswer && !canSetClockFreely(state))
    return err({ code: "clock_suspect", behind: at - to });
  if (to >= at && !isAnswer) return makeDecision([], null);
  // An answer that is not earlier changes no time, but its nonce is used up.
  const newTime = earliest(to, at);
  const events: Event[] = [{ type: "ClockSetBack", at: newTime, from: at, to: newTime, peer }];
  const borrows = findBorrowsToRestore(state, newTime);
  for (const { license, user, slot, borrowedUntil } of borrows) {
    const registration = state.licenses.get(license)?.pool.get(user);
    const slotFields = { license, user, slot: registration?.slot ?? slot };
    events.push({
      type: "SlotRestored",
      at: newTime,
      ...slotFields,
      until: borrowedUntil,
      isHeld: registration !== undefined,
    });
  }
  return makeDecision(events, null);
}
