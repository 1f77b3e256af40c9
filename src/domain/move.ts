import type { MoveAway } from "./command.ts";
import { makeDecision, type Decision } from "./decision.ts";
import type { MovedAway, MovedIn } from "./event.ts";
import type { Fault } from "./fault.ts";
import { limits } from "./limits.ts";
import type { Result } from "./result.ts";
import type { License, Retirement, State } from "./state.ts";
import { HOUR, later, type Instant } from "./time.ts";

/**
 * An appliance moves with its key, its licenses and everybody's slots. What is left behind does
 * nothing any more, so that nothing is lent twice; what arrives serves for a while on hardware its
 * licenses were not signed for, and asks for new ones meanwhile.
 */
export function decideMoveAway(
  state: State,
  { move, peer }: MoveAway,
  at: Instant,
): Result<Decision<Retirement>, Fault> {
  // Asked again, it is the same move: its file may have to be written once more.
  if (state.retirement !== null) return makeDecision([], state.retirement);
  return makeDecision([{ type: "MovedAway", at, move, peer }], { move, at });
}

export function moveAway(state: State, { move, at }: MovedAway): void {
  state.retirement = { move, at };
}

export function moveIn(state: State, { restore, at }: MovedIn): void {
  state.retirement = null;
  state.restores.push(restore);
  if (state.restores.length > limits.restores) state.restores.shift();
  // Called off where it began, with nothing done elsewhere: a later move has all of its time.
  if (restore.replaced === restore.seq) return;
  // From the first move on: moving on and on must not make the time longer.
  for (const license of state.licenses.values()) license.movedAt ??= at;
}

/** Begun, as an installation does for its first token, and never brought to any vendor. */
export const isUnusedSite = (state: State): boolean =>
  state.kind === "site" &&
  state.licenses.size === 0 &&
  state.tombstones.size === 0 &&
  state.activations.size === 0 &&
  state.requestHeads.length === 0 &&
  state.restores.length === 0 &&
  state.retirement === null;

/** Until when it is good on hardware it was not signed for; null: it was not moved. */
export const moveGraceEnd = ({ movedAt, terms }: License): Instant | null =>
  movedAt === null ? null : later(movedAt, terms.moveGraceHours * HOUR);
