import type { Pair } from "../../domain/pair/pair.ts";
import type { Instant } from "../../domain/time.ts";
import type { Store } from "../../store/store.ts";
import type { Leadership } from "./leadership.ts";

/** The pair as one of its hosts knows it; null: it is not known. */
export interface PairStatus {
  /** This host; null: no server runs here. */
  readonly host: string | null;
  readonly role: "leader" | "standby" | null;
  readonly epoch: number | null;
  readonly leader: string | null;
  readonly leaderUrl: string | null;
  /** Why the log cannot be used; null: it can. */
  readonly problem: string | null;
  readonly hosts: readonly PairHostStatus[];
  /** Null: no host reached it yet. */
  readonly database: PairDatabase | null;
}

export interface PairHostStatus {
  readonly name: string;
  readonly role: "leader" | "standby" | null;
  readonly hardwareId: string | null;
  readonly url: string | null;
  readonly version: string | null;
  readonly admittedAt: Instant | null;
  readonly seenMsAgo: number | null;
  readonly linesBehind: number | null;
  readonly clockAheadMs: number | null;
}

export interface PairDatabase {
  readonly version: string;
  readonly server: string;
  readonly replication: "strict" | "loose" | "none";
  /** Codes of what makes it less safe. */
  readonly problems: readonly string[];
}

/** `leadership` null: this host is alone, or no server runs. */
export interface PairSide {
  readonly host: string | null;
  readonly leadership: Leadership | null;
}

/** Reads what is known without asking the log. Null: this host is alone. */
export function readPairStatus(
  store: Pick<Store, "peek">,
  { host, leadership }: PairSide,
): PairStatus | null {
  const pair = store.peek((state) => state.pair);
  if (leadership === null) return pair && describeStoppedPair(pair);
  const { role, problem } = leadership;
  const isLeader = role.role === "leader";
  const leader = isLeader ? host : role.leader;
  return {
    host,
    role: role.role,
    epoch: isLeader ? role.epoch : (pair?.epoch ?? null),
    leader,
    leaderUrl: isLeader ? null : role.url,
    problem,
    hosts: listHosts(pair, leader),
    database: null,
  };
}

const describeStoppedPair = (pair: Pair): PairStatus => ({
  host: null,
  role: null,
  epoch: pair.epoch,
  leader: null,
  leaderUrl: null,
  problem: null,
  hosts: listHosts(pair, null),
  database: null,
});

function listHosts(pair: Pair | null, leader: string | null): PairHostStatus[] {
  const hosts = pair === null ? [] : [...pair.hosts.values()];
  return hosts.map(({ name, hardwareId, admittedAt }) => ({
    name,
    role: leader === null ? null : name === leader ? "leader" : "standby",
    hardwareId,
    url: null,
    version: null,
    admittedAt,
    seenMsAgo: null,
    linesBehind: null,
    clockAheadMs: null,
  }));
}
