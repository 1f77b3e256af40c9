import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";
import { later } from "../time.ts";
import { RECALL_DURATION } from "../model/rules/recall.ts";
import { listIdleReservations } from "./judge-claim.ts";

export interface RecallReservation {
  readonly type: "RecallReservation";
  readonly product: string;
  readonly feature: string | null;
  readonly group: string;
}

/**
 * A member of the group was refused while others use its lent slots: from now on, the next free
 * ones are kept for the group. Changes nothing if they are, or if there is nothing to recall.
 */
export function decideRecallReservation(
  state: State,
  { product, feature, group }: RecallReservation,
  { at }: RuleContext,
): Result<Decision<{ readonly isRecalled: boolean }>, Fault> {
  const idle = listIdleReservations(state, { product, feature }, at);
  const isLent = idle.some((entry) => entry.group === group && entry.acting === "lend");
  if (!isLent) return makeDecision([], { isRecalled: false });
  const until = later(at, RECALL_DURATION);
  return makeDecision([{ type: "ReservationRecalled", at, product, feature, group, until }], {
    isRecalled: true,
  });
}
