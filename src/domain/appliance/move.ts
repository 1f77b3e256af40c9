import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { Retirement, State } from "../model/state.ts";

/** Retires the appliance on this host, so that it can be moved to another one. */
export interface MoveAway {
  readonly type: "MoveAway";
  /** Random identifier of this move. */
  readonly move: string;
  readonly peer: string;
}

/**
 * An appliance moves with its key, its licenses and all slots. The old host grants nothing any
 * more, so that nothing is granted twice. The new host serves for a grace period on hardware that
 * its licenses were not signed for, and requests new licenses meanwhile.
 */
export function decideMoveAway(
  state: State,
  { move, peer }: MoveAway,
  { at }: RuleContext,
): Result<Decision<Retirement>, Fault> {
  // A repeated command is the same move: its file may have to be written again.
  if (state.retirement !== null) return makeDecision([], state.retirement);
  if (state.pair !== null) return err({ code: "in_a_pair" });
  return makeDecision([{ type: "MovedAway", at, move, peer }], { move, at });
}

/**
 * A site that was created, as an installation does for its first token, but never had contact with
 * a vendor.
 */
export const isUnusedSite = (state: State): boolean =>
  state.kind === "site" &&
  state.licenses.size === 0 &&
  state.tombstones.size === 0 &&
  state.activations.size === 0 &&
  state.requestHeads.length === 0 &&
  state.cancelledRequests.size === 0 &&
  state.restores.length === 0 &&
  state.pair === null &&
  state.retirement === null;

/** Whether a site ever had a license: else nothing of it is lost if it is replaced. */
export const hasHadLicense = ({ licenses, tombstones }: State): boolean =>
  licenses.size > 0 || tombstones.size > 0;
