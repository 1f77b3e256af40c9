import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import type { HardwareDigest } from "../model/hardware-digest.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";

/** Ends the pair: this host serves alone. */
export interface LeavePair {
  readonly type: "LeavePair";
  readonly host: string;
  readonly hardware: readonly HardwareDigest[];
  /** The log cannot be reached. */
  readonly isWithoutLog: boolean;
  readonly peer: string;
}

export function decideLeavePair(
  { pair }: State,
  { host, hardware, isWithoutLog, peer }: LeavePair,
  { at }: RuleContext,
): Result<Decision<{ readonly host: string }>, Fault> {
  if (pair === null) return err({ code: "not_a_pair" });
  const { log } = pair;
  const mark = isWithoutLog ? { withoutLog: true as const } : {};
  return makeDecision([{ type: "PairLeft", at, log, host, hardware, ...mark, peer }], { host });
}
