// Measures slow disks: strace delays every sync, and waiting requests share the next one.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ensurePackages } from "../support/suite-harness.ts";
import { buildBinary } from "../support/binary.ts";
import { encodeReply } from "./constant-reply.ts";
import { readHeartbeatReply } from "./heartbeat-reply.ts";
import { makeBenchFolder, makePopulatedSite, BenchServer } from "./servers.ts";
import { formatColumns, atLeast, formatNumber, type Figure } from "./goals.ts";
import type { PartResult, BenchSize } from "./bench-part.ts";
import { findChild } from "./checkpoint-watcher.ts";
import { buildBaselines } from "./baselines.ts";

const USERS = 10_000;
const CONNECTIONS = 256;
const LOAD = { kind: "heartbeat", connections: CONNECTIONS, seconds: 3 } as const;
const DELAYS = [2, 8];
/** Milliseconds of a sync on a hard disk. */
const HARD_DISK = 8;

export async function measureSlowDisks(_size: BenchSize): Promise<PartResult> {
  if (!ensurePackages({ strace: "strace" })) {
    return { figures: [], text: "slow disks need strace: apt-get install strace", wrong: [] };
  }
  const { sqlite } = await buildBaselines();
  const figures: Figure[] = [];
  const rows: string[][] = [
    ["sync ms", "req/s", "p99 ms", "operations per sync", "SQLite's req/s"],
  ];
  const wrong: string[] = [];
  for (const delay of DELAYS) {
    const folder = makeBenchFolder();
    const log = join(folder, "syncs");
    const strace = straceCommand(delay, log);
    const data = await makePopulatedSite(join(folder, "data"), USERS);
    const berth = await BenchServer.startLicenseServer(
      "berth",
      [...strace, buildBinary()],
      data,
      USERS,
    );
    const reply = await readHeartbeatReply(berth.url, USERS);
    const syncsBefore = countSyncs(log);
    const result = await berth.run(LOAD);
    const perSync = result.answered / (countSyncs(log) - syncsBefore);
    killTraced(berth);
    const sqliteServer = await BenchServer.startBaseline(
      "sqlite",
      [...strace, sqlite, encodeReply(reply), folder],
      USERS,
    );
    const { perSecond } = await sqliteServer.run(LOAD);
    killTraced(sqliteServer);
    figures.push({
      what: `heartbeats for each sync of ${delay} ms, at ${CONNECTIONS} connections`,
      value: perSync,
      unit: "",
      goal: delay === HARD_DISK ? atLeast(100) : null,
    });
    figures.push({
      what: `heartbeats with syncs of ${delay} ms, compared with SQLite`,
      value: result.perSecond / perSecond,
      unit: "x",
      goal: null,
    });
    rows.push([delay, result.perSecond, result.p99, perSync, perSecond].map(formatNumber));
    wrong.push(...berth.wrong, ...sqliteServer.wrong);
  }
  return { figures, text: formatColumns(rows), wrong };
}

/** Kills the traced process: strace ends with it, but it would not end with strace. */
function killTraced({ pid }: BenchServer): void {
  process.kill(findChild(pid) ?? pid, "SIGKILL");
}

/** Prefix for a command, so that its syncs take so many milliseconds longer. */
function straceCommand(milliseconds: number, log: string): string[] {
  const delay = `inject=fdatasync,fsync:delay_exit=${milliseconds}ms`;
  const command = ["strace", "-f", "--seccomp-bpf", "-q", "-o", log];
  return [...command, "-e", "trace=fdatasync,fsync", "-e", delay];
}

const countSyncs = (log: string): number =>
  readFileSync(log, "utf8").match(/ f(?:data)?sync\(/g)?.length ?? 0;
