import { makeDecision, type Decision } from "../decision.ts";
import type { Fault } from "../fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../rule-context.ts";
import type { State } from "../state.ts";

/** The first command of a host that became the leader. */
export interface ChangeLeader {
  readonly type: "ChangeLeader";
  readonly epoch: number;
  readonly host: string;
  readonly hardwareId: string;
}

export function decideChangeLeader(
  { pair }: State,
  { epoch, host, hardwareId }: ChangeLeader,
  { at }: RuleContext,
): Result<Decision<null>, Fault> {
  if (pair === null || !pair.hosts.has(host)) return err({ code: "host_not_admitted", host });
  return makeDecision([{ type: "LeaderChanged", at, epoch, host, hardwareId }], null);
}
