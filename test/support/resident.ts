// How much memory a process holds, read off the kernel.
import { readFileSync } from "node:fs";

const STEP = 250;
const STILL = 2_000;
const LONGEST = 60_000;

/** Resident memory in MiB, once it has not moved for a while: what is free is given back late. */
export async function settled(pid: number): Promise<number> {
  let last = resident(pid);
  let still = 0;
  for (let waited = 0; waited < LONGEST && still < STILL; waited += STEP) {
    await Bun.sleep(STEP);
    const now = resident(pid);
    still = Math.abs(now - last) < 0.5 ? still + STEP : 0;
    last = now;
  }
  return last;
}

export function resident(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}
