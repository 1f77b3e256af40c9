import { makeDecision, type Decision } from "../decision.ts";
import type { Fault } from "../fault.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../rule-context.ts";
import type { State } from "../state.ts";
import type { SettingChange } from "./setting-change.ts";

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
