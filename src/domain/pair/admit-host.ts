import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import { err, type Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { HardwareDigest } from "../model/hardware-digest.ts";
import type { State } from "../model/state.ts";
import { MAX_HOSTS, type EndedPair } from "../model/pair/pair.ts";

/** Lets a host serve this appliance. */
export interface AdmitHost {
  readonly type: "AdmitHost";
  readonly log: string;
  readonly host: string;
  readonly hardwareId: string;
  readonly hardware: readonly HardwareDigest[];
  readonly peer: string;
}

/** The hardware of a host that is admitted again replaces what was known of it. */
export function decideAdmitHost(
  { pair, endedPair }: State,
  { log, host, hardwareId, hardware, peer }: AdmitHost,
  { at }: RuleContext,
): Result<Decision<{ readonly host: string }>, Fault> {
  if (pair === null && endedPair?.log === log) return err(endedFault(endedPair));
  const others = [...(pair?.hosts.keys() ?? [])].filter((name) => name !== host);
  if (others.length >= MAX_HOSTS) return err({ code: "pair_complete", hosts: others });
  const known = pair?.hosts.get(host);
  if (known?.hardwareId === hardwareId && pair?.log === log) return makeDecision([], { host });
  return makeDecision([{ type: "HostAdmitted", at, log, host, hardwareId, hardware, peer }], {
    host,
  });
}

export const endedFault = ({ host, at }: EndedPair): Fault => ({ code: "pair_ended", host, at });
