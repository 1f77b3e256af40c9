import { makeDecision, type Decision } from "../model/decision.ts";
import type { AccessChange } from "../model/event.ts";
import type { Fault } from "../model/fault.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";

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
