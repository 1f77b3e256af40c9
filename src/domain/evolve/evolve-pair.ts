import type { HostAdmitted, LeaderChanged, PairLeft } from "../model/pair/pair-event-types.ts";
import type { MutableState } from "./mutable-state.ts";

export function admitHost(state: MutableState, event: HostAdmitted): void {
  const { log, host: name, hardwareId, hardware, at } = event;
  const hosts = new Map(state.pair?.hosts);
  hosts.set(name, { name, hardwareId, hardware, admittedAt: at });
  const { epoch = 0, leader = name, leadsSince = at } = state.pair ?? {};
  state.pair = { log, epoch, leader, leadsSince, hosts };
}

export function changeLeader(state: MutableState, { epoch, host, at }: LeaderChanged): void {
  if (state.pair === null) return;
  state.pair = { ...state.pair, epoch, leader: host, leadsSince: at };
}

export function leavePair(state: MutableState, { log, host, hardware, at }: PairLeft): void {
  state.pair = null;
  state.endedPair = { log, host, hardware, at };
}
