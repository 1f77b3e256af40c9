// On a disk that takes its time: every sync is held up, and those who wait share the next one.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ensurePackages } from "../support/suite-harness.ts";
import { buildBinary } from "../support/binary.ts";
import { measureAnswerBytes, makeBenchFolder, makePopulatedSite, BenchServer } from "./servers.ts";
import { formatColumns, atLeast, formatNumber, type Figure } from "./goals.ts";
import type { PartResult, BenchSize } from "./bench-part.ts";
import { findChild } from "./checkpoint-watcher.ts";
import { buildBaselines } from "./baselines.ts";

const USERS = 10_000;
const CONNECTIONS = 256;
const LOAD = { kind: "heartbeat", connections: CONNECTIONS, seconds: 3 } as const;
const DELAYS = [2, 8];
/** As slow as a hard disk. */
const SLOW = 8;

export async function measureSlowDisks(_size: BenchSize): Promise<PartResult> {
  if (!ensurePackages({ strace: "strace" })) {
    return { figures: [], text: "slow disks need strace: apt-get install strace", wrong: [] };
  }
  const { sqlite } = await buildBaselines();
  const figures: Figure[] = [];
  const rows: string[][] = [["sync ms", "req/s", "p99 ms", "operations a sync", "SQLite's req/s"]];
  const wrong: string[] = [];
  for (const delay of DELAYS) {
    const folder = makeBenchFolder();
    const log = join(folder, "syncs");
    const slowly = straceCommand(delay, log);
    const data = await makePopulatedSite(join(folder, "data"), USERS);
    const berth = await BenchServer.startLicenseServer(
      "berth",
      [...slowly, buildBinary()],
      data,
      USERS,
    );
    const bytes = String(await measureAnswerBytes(berth.url));
    const before = syncsIn(log);
    const round = await berth.run(LOAD);
    const each = round.answered / (syncsIn(log) - before);
    end(berth);
    const other = await BenchServer.startBaseline(
      "sqlite",
      [...slowly, sqlite, bytes, folder],
      USERS,
    );
    const { perSecond } = await other.run(LOAD);
    end(other);
    figures.push({
      what: `heartbeats for each sync of ${delay} ms, at ${CONNECTIONS} connections`,
      value: each,
      unit: "",
      goal: delay === SLOW ? atLeast(100) : null,
    });
    figures.push({
      what: `heartbeats with syncs of ${delay} ms, against SQLite's`,
      value: round.perSecond / perSecond,
      unit: "x",
      goal: null,
    });
    rows.push([delay, round.perSecond, round.p99, each, perSecond].map(formatNumber));
    wrong.push(...(berth.expectedTotals?.mismatches ?? []));
  }
  return { figures, text: formatColumns(rows), wrong };
}

/** strace ends with what it traces; without it, that would go on. */
function end({ pid }: BenchServer): void {
  process.kill(findChild(pid) ?? pid, "SIGKILL");
}

/** What stands before a command whose syncs take so many milliseconds longer. */
function straceCommand(milliseconds: number, log: string): string[] {
  const held = `inject=fdatasync,fsync:delay_exit=${milliseconds}ms`;
  const words = ["strace", "-f", "--seccomp-bpf", "-q", "-o", log];
  return [...words, "-e", "trace=fdatasync,fsync", "-e", held];
}

const syncsIn = (log: string): number =>
  readFileSync(log, "utf8").match(/ f(?:data)?sync\(/g)?.length ?? 0;
