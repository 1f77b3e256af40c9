import { makeDecision, type Decision } from "../decision.ts";
import type { Fault } from "../fault.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../rule-context.ts";
import type { OpenActivation, State } from "../state.ts";

export interface AirgapGenerate {
  readonly type: "AirgapGenerate";
  readonly activation: Omit<OpenActivation, "at">;
  readonly peer: string;
}

/**
 * Creates an activation code to be read out. It stays open until it is confirmed, dropped or too
 * old.
 */
export function decideAirgapGenerate(
  _state: State,
  { activation, peer }: AirgapGenerate,
  { at }: RuleContext,
): Result<Decision<OpenActivation>, Fault> {
  const openActivation = { ...activation, at };
  return makeDecision(
    [{ type: "ActivationMade", at, activation: openActivation, peer }],
    openActivation,
  );
}
