import { makeDecision, type Decision } from "../decision.ts";
import type { AccessChange } from "./access-change.ts";
import type { Fault } from "../fault.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../rule-context.ts";
import type { State } from "../state.ts";

export interface ChangeAccess {
  readonly type: "ChangeAccess";
  readonly change: AccessChange;
  readonly name: string;
  readonly peer: string;
}

/** For the audit log: tokens, logins and sessions themselves are stored elsewhere, hashed. */
export const decideChangeAccess = (
  _state: State,
  { change, name, peer }: ChangeAccess,
  { at }: RuleContext,
): Result<Decision<null>, Fault> =>
  makeDecision([{ type: "AccessChanged", at, change, name, peer }], null);
