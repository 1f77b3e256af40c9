// How much memory a process holds, read off the kernel.
import { readFileSync } from "node:fs";
import { median } from "./median.ts";

const STEP = 250;
const STILL = 2_000;
const LONGEST = 60_000;

/** Resident memory in MiB, once it has not moved for a while: what is free is given back late. */
async function settled(pid: number): Promise<number> {
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

const ENDS = 3;

/**
 * What a process holds while a load goes on. What the collector leaves varies by tens of MiB from
 * one look to the next, so no two of them are compared, but the first few with the last few.
 */
export class MemoryCurve {
  readonly #pid: number;
  readonly #levels: number[] = [];

  constructor(pid: number) {
    this.#pid = pid;
  }

  async look(): Promise<void> {
    this.#levels.push(await settled(this.#pid));
  }

  /** How many MiB the middle one of the last looks is above that of the first ones. */
  get grown(): number {
    return median(this.#levels.slice(-ENDS)) - median(this.#levels.slice(0, ENDS));
  }

  get shown(): string {
    return `${this.#levels.map((mib) => mib.toFixed(0)).join(" ")} MiB`;
  }
}
