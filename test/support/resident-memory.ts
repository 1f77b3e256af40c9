// How much memory a process holds, read off the kernel.
import { readFileSync } from "node:fs";
import { PATIENCE } from "./patience.ts";

const POLL_INTERVAL = 250;
const STABLE_FOR = 2_000;

/** Resident memory in MiB, once it has not moved for a while: what is free is given back late. */
async function waitForStableMemory(pid: number): Promise<number> {
  let last = readResidentMiB(pid);
  let still = 0;
  for (let waited = 0; waited < PATIENCE && still < STABLE_FOR; waited += POLL_INTERVAL) {
    await Bun.sleep(POLL_INTERVAL);
    const now = readResidentMiB(pid);
    still = Math.abs(now - last) < 0.5 ? still + POLL_INTERVAL : 0;
    last = now;
  }
  return last;
}

export function readResidentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/**
 * What a process holds while a load goes on. What the collector leaves goes up for many looks and
 * then down by tens of MiB, so the lowest ones are compared: what is kept for ever is in them too.
 */
export class MemoryCurve {
  readonly #pid: number;
  readonly #samples: number[] = [];

  constructor(pid: number) {
    this.#pid = pid;
  }

  async sample(): Promise<void> {
    this.#samples.push(await waitForStableMemory(this.#pid));
  }

  /** How many MiB the lowest look of the later half is above that of the earlier one. */
  get growthMiB(): number {
    const half = Math.floor(this.#samples.length / 2);
    return Math.min(...this.#samples.slice(-half)) - Math.min(...this.#samples.slice(0, half));
  }

  get summary(): string {
    return `${this.#samples.map((mib) => mib.toFixed(0)).join(" ")} MiB`;
  }
}
