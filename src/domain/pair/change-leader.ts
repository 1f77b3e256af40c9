import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import { isSameMachine, type HardwareDigest } from "../model/hardware-digest.ts";
import type { State } from "../model/state.ts";
import { endedFault } from "./admit-host.ts";

/** The first command of a host that became the leader. */
export interface ChangeLeader {
  readonly type: "ChangeLeader";
  readonly log: string;
  readonly epoch: number;
  readonly host: string;
  readonly hardwareId: string;
  readonly hardware: readonly HardwareDigest[];
}

/** The address that is recorded for what a host does by itself. */
const BY_ITSELF = "start";

/** The first host that leads forms the pair. */
export function decideChangeLeader(
  { pair, endedPair }: State,
  { log, epoch, host, hardwareId, hardware }: ChangeLeader,
  { at }: RuleContext,
): Result<Decision<null>, Fault> {
  const admittedHardware = pair?.hosts.get(host)?.hardware ?? [];
  if (pair !== null && !isSameMachine(admittedHardware, hardware))
    return err({ code: "host_not_admitted", host });
  if (pair === null && endedPair?.log === log) return err(endedFault(endedPair));
  const changed = { type: "LeaderChanged", at, epoch, host, hardwareId } as const;
  if (pair !== null) return makeDecision([changed], null);
  const admitted = { type: "HostAdmitted", at, log, host, hardwareId, hardware } as const;
  return makeDecision([{ ...admitted, peer: BY_ITSELF }, changed], null);
}
