// One run of the generator against one server, and what the server's process used for it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { childOf } from "./watch.ts";
import type { Outcome, Plan } from "./plan.ts";

/** A server that is being measured. */
export interface Subject {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
}

export interface Round extends Outcome {
  /** Processor time of the server, in milliseconds for 1,000 requests. */
  readonly cpu: number;
  /** What the server wrote to its disk, in bytes for each request. */
  readonly written: number;
  /** A checkpoint was being made, which takes a processor for itself. */
  readonly withCheckpoint: boolean;
}

export type Load = Omit<Plan, "url">;

/** How often to look whether a checkpoint is being made. */
const LOOK = 25;

export async function run({ url, pid }: Subject, load: Load): Promise<Round> {
  const before = usedBy(pid);
  let withCheckpoint = false;
  const looking = setInterval(() => {
    withCheckpoint ||= childOf(pid) !== null;
  }, LOOK);
  try {
    const outcome = await generate({ ...load, url });
    const after = usedBy(pid);
    const cpu = ((after.cpu - before.cpu) / outcome.answered) * 1_000;
    const written = (after.written - before.written) / outcome.answered;
    return { ...outcome, cpu, written, withCheckpoint };
  } finally {
    clearInterval(looking);
  }
}

async function generate(plan: Plan): Promise<Outcome> {
  const script = join(import.meta.dir, "generator.ts");
  const child = Bun.spawn([process.execPath, script, JSON.stringify(plan)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const text = await child.stdout.text();
  if ((await child.exited) !== 0) throw new Error(`the generator failed on ${plan.kind}`);
  return JSON.parse(text) as Outcome;
}

/** Of the kernel's clock, which every Linux tells in hundredths of a second. */
const TICK = 10;

/** Processor time in milliseconds and bytes written, since the process began. */
function usedBy(pid: number): { readonly cpu: number; readonly written: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // After the name, which may hold anything: user and system time are the 12th and 13th from there.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const cpu = (Number(fields[11]) + Number(fields[12])) * TICK;
  const io = readFileSync(`/proc/${pid}/io`, "utf8");
  return { cpu, written: Number(/^write_bytes: (\d+)/m.exec(io)?.[1]) };
}

/** Waits until no checkpoint is being made. */
export async function quiet({ pid }: Subject): Promise<void> {
  while (childOf(pid) !== null) await Bun.sleep(LOOK);
}
