import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";

/** Which cloud credentials were replaced. Commands and events never contain the values. */
export interface SetKeys {
  readonly type: "SetKeys";
  readonly changed: readonly string[];
  readonly peer: string;
}

/** For the audit log: the values themselves are stored in an encrypted file. */
export const decideSetKeys = (
  _state: State,
  { changed, peer }: SetKeys,
  { at }: RuleContext,
): Result<Decision<null>, Fault> => makeDecision([{ type: "KeysSet", at, changed, peer }], null);
