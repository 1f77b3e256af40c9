import { makeDecision, type Decision } from "../model/decision.ts";
import type { RefusalKind } from "../model/demand/refusal-total.ts";
import type { RefusalsCounted } from "../model/event.ts";
import type { Fault } from "../model/fault.ts";
import { limits } from "../model/limits.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";

export interface CountRefusals {
  readonly type: "CountRefusals";
  readonly refusals: readonly RefusalCount[];
}

export interface RefusalCount extends RefusalKind {
  readonly count: number;
  readonly users: readonly string[];
}

/**
 * Refusals are counted, not written one by one: a client that retries in a loop must not fill the
 * disk.
 */
export function decideCountRefusals(
  _state: State,
  { refusals }: CountRefusals,
  { at }: RuleContext,
): Result<Decision<null>, Fault> {
  const events = refusals.map(({ product, feature, code, count, users }): RefusalsCounted => ({
    type: "RefusalsCounted",
    at,
    product,
    ...(feature !== null && { feature }),
    code,
    count,
    users: users.slice(-limits.refusalUsers),
  }));
  return makeDecision(events, null);
}
