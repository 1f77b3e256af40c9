// On a disk that takes its time: every sync is held up, and those who wait share the next one.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { canHave } from "../faults/rig.ts";
import { buildBinary } from "../support/binary.ts";
import { benchFolder, crowdIn, Server } from "./field.ts";
import { columns, least, number, type Figure } from "./goals.ts";
import type { Measured, Size } from "./part.ts";
import { childOf } from "./watch.ts";

const USERS = 10_000;
const CONNECTIONS = 256;
const SECONDS = 3;
const DELAYS = [2, 8];
/** As slow as a hard disk. */
const SLOW = 8;

export async function measureDisks(_size: Size): Promise<Measured> {
  if (!canHave({ strace: "strace" })) {
    return { figures: [], text: "slow disks need strace: apt-get install strace", wrong: [] };
  }
  const figures: Figure[] = [];
  const rows: string[][] = [["sync ms", "req/s", "p99 ms", "operations a sync"]];
  const wrong: string[] = [];
  for (const delay of DELAYS) {
    const folder = benchFolder();
    const log = join(folder, "syncs");
    const data = await crowdIn(join(folder, "data"), USERS);
    const program = [...delayed(delay, log), buildBinary()];
    const server = await Server.lending("berth", program, data, USERS);
    const before = syncsIn(log);
    const round = await server.run({
      kind: "heartbeat",
      connections: CONNECTIONS,
      seconds: SECONDS,
    });
    const each = round.answered / (syncsIn(log) - before);
    // strace ends with what it traces; without it, that would go on.
    process.kill(childOf(server.pid) ?? server.pid, "SIGKILL");
    figures.push({
      what: `heartbeats for each sync of ${delay} ms, at ${CONNECTIONS} connections`,
      value: each,
      unit: "",
      goal: delay === SLOW ? least(100) : null,
    });
    rows.push([delay, round.perSecond, round.p99, each].map(number));
    wrong.push(...(server.books?.wrong ?? []));
  }
  return { figures, text: columns(rows), wrong };
}

/** What stands before a command whose syncs take so many milliseconds longer. */
function delayed(milliseconds: number, log: string): string[] {
  const held = `inject=fdatasync:delay_exit=${milliseconds}ms`;
  const words = ["strace", "-f", "--seccomp-bpf", "-q", "-o", log];
  return [...words, "-e", "trace=fdatasync", "-e", held];
}

const syncsIn = (log: string): number =>
  readFileSync(log, "utf8").match(/ fdatasync\(/g)?.length ?? 0;
