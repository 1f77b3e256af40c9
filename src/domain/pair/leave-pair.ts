import { makeDecision, type Decision } from "../decision.ts";
import type { Fault } from "../fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../rule-context.ts";
import type { State } from "../state.ts";

/** Ends the pair: the host that leads serves alone. */
export interface LeavePair {
  readonly type: "LeavePair";
  readonly peer: string;
}

export function decideLeavePair(
  { pair }: State,
  { peer }: LeavePair,
  { at }: RuleContext,
): Result<Decision<{ readonly host: string }>, Fault> {
  if (pair === null) return err({ code: "not_a_pair" });
  const { leader: host } = pair;
  return makeDecision([{ type: "PairLeft", at, host, peer }], { host });
}
