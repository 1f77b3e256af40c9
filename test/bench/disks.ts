// On a disk that takes its time: every sync is held up, and those who wait share the next one.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { canHave } from "../faults/rig.ts";
import { buildBinary } from "../support/binary.ts";
import { answerBytes, benchFolder, crowdIn, Server } from "./field.ts";
import { columns, least, number, type Figure } from "./goals.ts";
import type { Measured, Size } from "./part.ts";
import { childOf } from "./watch.ts";
import { buildYardsticks } from "./yardsticks.ts";

const USERS = 10_000;
const CONNECTIONS = 256;
const LOAD = { kind: "heartbeat", connections: CONNECTIONS, seconds: 3 } as const;
const DELAYS = [2, 8];
/** As slow as a hard disk. */
const SLOW = 8;

export async function measureDisks(_size: Size): Promise<Measured> {
  if (!canHave({ strace: "strace" })) {
    return { figures: [], text: "slow disks need strace: apt-get install strace", wrong: [] };
  }
  const { sqlite } = await buildYardsticks();
  const figures: Figure[] = [];
  const rows: string[][] = [["sync ms", "req/s", "p99 ms", "operations a sync", "SQLite's req/s"]];
  const wrong: string[] = [];
  for (const delay of DELAYS) {
    const folder = benchFolder();
    const log = join(folder, "syncs");
    const slowly = delayed(delay, log);
    const data = await crowdIn(join(folder, "data"), USERS);
    const berth = await Server.lending("berth", [...slowly, buildBinary()], data, USERS);
    const bytes = String(await answerBytes(berth.url));
    const before = syncsIn(log);
    const round = await berth.run(LOAD);
    const each = round.answered / (syncsIn(log) - before);
    end(berth);
    const other = await Server.constant("sqlite", [...slowly, sqlite, bytes, folder], USERS);
    const { perSecond } = await other.run(LOAD);
    end(other);
    figures.push({
      what: `heartbeats for each sync of ${delay} ms, at ${CONNECTIONS} connections`,
      value: each,
      unit: "",
      goal: delay === SLOW ? least(100) : null,
    });
    figures.push({
      what: `heartbeats with syncs of ${delay} ms, against SQLite's`,
      value: round.perSecond / perSecond,
      unit: "x",
      goal: null,
    });
    rows.push([delay, round.perSecond, round.p99, each, perSecond].map(number));
    wrong.push(...(berth.books?.wrong ?? []));
  }
  return { figures, text: columns(rows), wrong };
}

/** strace ends with what it traces; without it, that would go on. */
function end({ pid }: Server): void {
  process.kill(childOf(pid) ?? pid, "SIGKILL");
}

/** What stands before a command whose syncs take so many milliseconds longer. */
function delayed(milliseconds: number, log: string): string[] {
  const held = `inject=fdatasync,fsync:delay_exit=${milliseconds}ms`;
  const words = ["strace", "-f", "--seccomp-bpf", "-q", "-o", log];
  return [...words, "-e", "trace=fdatasync,fsync", "-e", held];
}

const syncsIn = (log: string): number =>
  readFileSync(log, "utf8").match(/ f(?:data)?sync\(/g)?.length ?? 0;
