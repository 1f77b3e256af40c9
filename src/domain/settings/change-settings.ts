import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";
import type { SettingChange } from "../model/setting-change.ts";

export interface ChangeSettings {
  readonly type: "ChangeSettings";
  readonly changes: readonly SettingChange[];
  readonly peer: string;
}

/** For the audit log: the settings themselves are stored in a file of their own. */
export const decideChangeSettings = (
  _state: State,
  { changes, peer }: ChangeSettings,
  { at }: RuleContext,
): Result<Decision<null>, Fault> =>
  makeDecision(
    changes.map(({ name, from, to }) => ({ type: "SettingChanged", at, name, from, to, peer })),
    null,
  );
