import type { Pair } from "../../domain/model/pair/pair.ts";
import type { Instant } from "../../domain/time.ts";
import type { DatabaseReport, HostRow } from "../../store/log/shared-log.ts";
import type { Store } from "../../store/store.ts";
import type { Leadership } from "./leadership.ts";
import type { SharedFiles } from "./shared-files.ts";

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
  /** Whether that is because the log cannot be used. */
  readonly isLogAway: boolean;
  /** Why this host does not use a file that both hosts have, by the name of the file. */
  readonly fileProblems: ReadonlyMap<string, string>;
  /** Since when the leader leads. */
  readonly leadsSince: Instant | null;
  readonly hosts: readonly PairHostStatus[];
  /** Null: no host reached it yet. */
  readonly database: DatabaseReport | null;
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

/** `leadership` null: this host is alone, or no server runs. */
export interface PairSide {
  readonly host: string | null;
  readonly leadership: Leadership | null;
  readonly sharedFiles?: Pick<SharedFiles, "problems"> | null;
}

/** Reads what is known without asking the log. Null: this host is alone. */
export function readPairStatus(
  store: Pick<Store, "peek">,
  { leadership, sharedFiles = null }: PairSide,
): PairStatus | null {
  const pair = store.peek((state) => state.pair);
  if (leadership === null) return pair && describeStoppedPair(pair);
  const { host, role, epoch, leader, leaderUrl, problem, ...rest } = leadership.status();
  return {
    host,
    role,
    epoch: epoch ?? pair?.epoch ?? null,
    leader,
    leaderUrl,
    problem,
    isLogAway: rest.isLogAway,
    fileProblems: sharedFiles?.problems ?? new Map(),
    leadsSince: pair?.leadsSince ?? null,
    hosts: listHosts(pair, leader, rest.hosts),
    database: rest.database,
  };
}

const describeStoppedPair = (pair: Pair): PairStatus => ({
  host: null,
  role: null,
  epoch: pair.epoch,
  leader: null,
  leaderUrl: null,
  problem: null,
  isLogAway: false,
  fileProblems: new Map(),
  leadsSince: null,
  hosts: listHosts(pair, null, []),
  database: null,
});

function listHosts(
  pair: Pair | null,
  leader: string | null,
  rows: readonly HostRow[],
): PairHostStatus[] {
  const hosts = pair === null ? [] : [...pair.hosts.values()];
  const rowsByName = new Map(rows.map((row) => [row.host, row]));
  const end = Math.max(0, ...rows.map(({ head }) => head.seq));
  return hosts.map(({ name, hardwareId, admittedAt }) => ({
    name,
    role: leader === null ? null : name === leader ? "leader" : "standby",
    hardwareId,
    admittedAt,
    ...describeRow(rowsByName.get(name), end),
  }));
}

/** The reports of two hosts are of different moments: the one with more lines is the end. */
const describeRow = (row: HostRow | undefined, end: number) => ({
  url: row?.url ?? null,
  version: row?.version ?? null,
  seenMsAgo: row?.ageMs ?? null,
  linesBehind: row === undefined ? null : end - row.head.seq,
  clockAheadMs: row?.clockAheadMs ?? null,
});

/** The other host of the pair; null: only this one was admitted. */
export const findOtherHost = ({ host, hosts }: PairStatus): PairHostStatus | null =>
  hosts.find(({ name }) => name !== host) ?? null;

/** By how much the clocks of both hosts differ; null: one of them is not known. */
export function computeClockSkew({ hosts }: PairStatus): number | null {
  const known = hosts.map(({ clockAheadMs }) => clockAheadMs).filter((clock) => clock !== null);
  return known.length < 2 ? null : Math.max(...known) - Math.min(...known);
}
