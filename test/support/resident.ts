// How much memory a process holds, read off the kernel.
import { readFileSync } from "node:fs";
import { PATIENCE } from "./patience.ts";

const STEP = 250;
const STILL = 2_000;

/** Resident memory in MiB, once it has not moved for a while: what is free is given back late. */
async function settled(pid: number): Promise<number> {
  let last = resident(pid);
  let still = 0;
  for (let waited = 0; waited < PATIENCE && still < STILL; waited += STEP) {
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

/**
 * What a process holds while a load goes on. What the collector leaves goes up for many looks and
 * then down by tens of MiB, so the lowest ones are compared: what is kept for ever is in them too.
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

  /** How many MiB the lowest look of the later half is above that of the earlier one. */
  get grown(): number {
    const half = Math.floor(this.#levels.length / 2);
    return Math.min(...this.#levels.slice(-half)) - Math.min(...this.#levels.slice(0, half));
  }

  get shown(): string {
    return `${this.#levels.map((mib) => mib.toFixed(0)).join(" ")} MiB`;
  }
}
