// One run of the generator against one server, and what the server's process used for it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findChild } from "./checkpoint-watcher.ts";
import type { LoadOutcome, LoadPlan } from "./load-plan.ts";

/** A server that is being measured. */
export interface MeasuredProcess {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
}

export interface RunResult extends LoadOutcome {
  /** Processor time of the server, in milliseconds for 1,000 requests. */
  readonly cpu: number;
  /** What the server wrote to its disk, in bytes for each request. */
  readonly written: number;
  /** A checkpoint was being made, which takes a processor for itself. */
  readonly hadCheckpoint: boolean;
}

export type LoadOptions = Omit<LoadPlan, "url">;

/** How often to look whether a checkpoint is being made. */
const LOOK = 25;

export async function runLoad(
  { url, pid }: MeasuredProcess,
  load: LoadOptions,
): Promise<RunResult> {
  const before = readUsage(pid);
  let withCheckpoint = false;
  const looking = setInterval(() => {
    withCheckpoint ||= findChild(pid) !== null;
  }, LOOK);
  try {
    const outcome = await generate({ ...load, url });
    const after = readUsage(pid);
    const cpu = ((after.cpu - before.cpu) / outcome.answered) * 1_000;
    const written = (after.written - before.written) / outcome.answered;
    return { ...outcome, cpu, written, hadCheckpoint: withCheckpoint };
  } finally {
    clearInterval(looking);
  }
}

async function generate(plan: LoadPlan): Promise<LoadOutcome> {
  const script = join(import.meta.dir, "load-generator.ts");
  const child = Bun.spawn([process.execPath, script, JSON.stringify(plan)], {
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
  });
  const text = await child.stdout.text();
  if ((await child.exited) !== 0) throw new Error(`the generator failed on ${plan.kind}`);
  return JSON.parse(text) as LoadOutcome;
}

/** Of the kernel's clock, which every Linux tells in hundredths of a second. */
const TICK = 10;

/** Processor time in milliseconds and bytes written, since the process began. */
function readUsage(pid: number): { readonly cpu: number; readonly written: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // After the name, which may hold anything: user and system time are the 12th and 13th from there.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const cpu = (Number(fields[11]) + Number(fields[12])) * TICK;
  const io = readFileSync(`/proc/${pid}/io`, "utf8");
  return { cpu, written: Number(/^write_bytes: (\d+)/m.exec(io)?.[1]) };
}

/** Waits until no checkpoint is being made. */
export async function waitForNoCheckpoint({ pid }: MeasuredProcess): Promise<void> {
  while (findChild(pid) !== null) await Bun.sleep(LOOK);
}
