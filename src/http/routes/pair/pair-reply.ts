import { Type, type Static } from "@sinclair/typebox";
import type { PairHostStatus, PairStatus } from "../../../operations/pair/pair-status.ts";
import { rfc3339OrNull } from "../../timestamps.ts";
import { FindingReply, PassedCheckReply } from "../health/findings.ts";

const OrNull = <T extends Parameters<typeof Type.Union>[0][number]>(schema: T) =>
  Type.Union([schema, Type.Null()]);

const Role = OrNull(Type.Union([Type.Literal("leader"), Type.Literal("standby")]));

const PairHost = Type.Object(
  {
    name: Type.String(),
    role: Role,
    hardware_id: OrNull(Type.String()),
    url: OrNull(Type.String({ description: "Where clients reach it." })),
    version: OrNull(Type.String({ description: "Of Berth." })),
    admitted_at: OrNull(Type.String({ format: "date-time" })),
    seen_seconds_ago: OrNull(Type.Number({ description: "By the clock of the database." })),
    lines_behind: OrNull(Type.Integer({ description: "How many lines of the log it lacks." })),
    clock_ahead_seconds: OrNull(
      Type.Number({ description: "How far its clock is ahead of the clock of the database." }),
    ),
  },
  { title: "PairHost" },
);

const PairDatabase = Type.Object(
  {
    version: Type.String(),
    server: Type.String(),
    replication: Type.Union([Type.Literal("strict"), Type.Literal("loose"), Type.Literal("none")]),
    problems: Type.Array(Type.String({ description: "A code." })),
  },
  { title: "PairDatabase" },
);

export const Pair = Type.Object(
  {
    host: OrNull(Type.String({ description: "This host; null if no server runs." })),
    role: Role,
    epoch: OrNull(Type.Integer({ description: "Raised with each change of the leader." })),
    leader: OrNull(Type.String()),
    leader_url: OrNull(Type.String()),
    problem: OrNull(Type.String({ description: "Why the database cannot be used." })),
    hosts: Type.Array(PairHost),
    database: OrNull(PairDatabase),
  },
  { title: "Pair" },
);

export const PairReply = Type.Object(
  {
    pair: OrNull(Pair),
    findings: Type.Optional(
      Type.Array(FindingReply, {
        description: "Of this host, if it is on standby; the leader has them in its status.",
      }),
    ),
    passed_checks: Type.Optional(Type.Array(PassedCheckReply)),
    pid: Type.Optional(Type.Integer({ description: "Of the server, if it is on standby." })),
  },
  { title: "PairReply", description: "Members that are null are not known." },
);

export type PairReply = Static<typeof PairReply>;

export const pairReply = (status: PairStatus | null): Pick<PairReply, "pair"> => ({
  pair: status && {
    host: status.host,
    role: status.role,
    epoch: status.epoch,
    leader: status.leader,
    leader_url: status.leaderUrl,
    problem: status.problem,
    hosts: status.hosts.map(pairHostReply),
    database: status.database && databaseReply(status.database),
  },
});

type DatabaseStatus = NonNullable<PairStatus["database"]>;

const pairHostReply = (host: PairHostStatus) => ({
  name: host.name,
  role: host.role,
  hardware_id: host.hardwareId,
  url: host.url,
  version: host.version,
  admitted_at: rfc3339OrNull(host.admittedAt),
  seen_seconds_ago: secondsOrNull(host.seenMsAgo),
  lines_behind: host.linesBehind,
  clock_ahead_seconds: secondsOrNull(host.clockAheadMs),
});

const databaseReply = ({ version, server, replication, problems }: DatabaseStatus) => ({
  version,
  server,
  replication,
  problems: [...problems],
});

/** To a tenth. */
const secondsOrNull = (ms: number | null): number | null =>
  ms === null ? null : Math.round(ms / 100) / 10;
