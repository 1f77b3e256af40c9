import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { OpenActivation, State } from "../model/state.ts";

export interface AirgapGenerate {
  readonly type: "AirgapGenerate";
  readonly activation: Omit<OpenActivation, "at">;
  readonly peer: string;
}

/**
 * Creates an activation code to be read out. It stays open until it is confirmed, dropped or too
 * old. A code has room for the hardware of one host, and none for the state of a pair.
 */
export function decideAirgapGenerate(
  { pair }: State,
  { activation, peer }: AirgapGenerate,
  { at }: RuleContext,
): Result<Decision<OpenActivation>, Fault> {
  if (pair !== null) return err({ code: "codes_not_for_pairs" });
  const openActivation = { ...activation, at };
  return makeDecision(
    [{ type: "ActivationMade", at, activation: openActivation, peer }],
    openActivation,
  );
}
