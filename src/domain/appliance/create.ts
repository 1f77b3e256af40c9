import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { DataFolderKind, State } from "../model/state.ts";

export interface Create {
  readonly type: "Create";
  readonly kind: DataFolderKind;
  readonly appliance: string;
}

/** The first event of a data folder. */
export const decideCreate = (
  _state: State,
  { kind, appliance }: Create,
  { at }: RuleContext,
): Result<Decision<null>, Fault> => makeDecision([{ type: "Created", at, kind, appliance }], null);
