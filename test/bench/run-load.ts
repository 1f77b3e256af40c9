// One run of the load generator against one server, with the processor time and writes of the
// server.
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
  /** Bytes that the server wrote to disk for each request. */
  readonly written: number;
  /** A checkpoint ran during the run; its process takes a whole processor. */
  readonly hadCheckpoint: boolean;
}

export type LoadOptions = Omit<LoadPlan, "url">;

/** Interval of the check for a running checkpoint, in ms. */
const POLL_INTERVAL = 25;

export async function runLoad(
  { url, pid }: MeasuredProcess,
  load: LoadOptions,
): Promise<RunResult> {
  const before = readUsage(pid);
  let hadCheckpoint = false;
  const timer = setInterval(() => {
    hadCheckpoint ||= findChild(pid) !== null;
  }, POLL_INTERVAL);
  try {
    const outcome = await generate({ ...load, url });
    const after = readUsage(pid);
    const cpu = ((after.cpu - before.cpu) / outcome.answered) * 1_000;
    const written = (after.written - before.written) / outcome.answered;
    return { ...outcome, cpu, written, hadCheckpoint };
  } finally {
    clearInterval(timer);
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
  if ((await child.exited) !== 0) throw new Error(`the load generator failed on ${plan.kind}`);
  return JSON.parse(text) as LoadOutcome;
}

/** Milliseconds of a kernel clock tick: Linux always reports hundredths of a second. */
const TICK = 10;

/** Processor time in milliseconds and bytes written since the start of the process. */
function readUsage(pid: number): { readonly cpu: number; readonly written: number } {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // User and system time are the 12th and 13th field after the name, which may contain anything.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const cpu = (Number(fields[11]) + Number(fields[12])) * TICK;
  const io = readFileSync(`/proc/${pid}/io`, "utf8");
  return { cpu, written: Number(/^write_bytes: (\d+)/m.exec(io)?.[1]) };
}

/** Waits until no checkpoint is running. */
export async function waitForNoCheckpoint({ pid }: MeasuredProcess): Promise<void> {
  while (findChild(pid) !== null) await Bun.sleep(POLL_INTERVAL);
}
