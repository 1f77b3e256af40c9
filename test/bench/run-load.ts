// One run of the load generator against one server, with the processor time and writes of the
// server.
import { join } from "node:path";
import type { LoadOutcome, LoadPlan } from "./load-plan.ts";
import { readUsage } from "./process-usage.ts";

/** A server that is being measured. */
export interface MeasuredProcess {
  readonly name: string;
  readonly url: string;
  /** Empty: its processes are unknown. */
  readonly pids: readonly number[];
}

export interface RunResult extends LoadOutcome {
  /** Processor time of the server, in milliseconds for 1,000 requests. */
  readonly cpu: number;
  /** Bytes that the server wrote to disk for each request. */
  readonly written: number;
}

export type LoadOptions = Omit<LoadPlan, "url">;

export async function runLoad(
  { url, pids }: MeasuredProcess,
  load: LoadOptions,
): Promise<RunResult> {
  const before = readUsage(pids);
  const outcome = await generate({ ...load, url });
  const after = readUsage(pids);
  const cpu = ((after.cpu - before.cpu) / outcome.answered) * 1_000;
  const written = (after.written - before.written) / outcome.answered;
  return { ...outcome, cpu, written };
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
