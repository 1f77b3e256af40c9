// Memory use of a process, as the kernel reports it.
import { readFileSync } from "node:fs";
import { PATIENCE } from "./patience.ts";

const POLL_INTERVAL = 250;
const STABLE_FOR = 2_000;

/** Resident memory in MiB once it is stable: the runtime returns free memory with a delay. */
async function waitForStableMemory(pid: number): Promise<number> {
  let last = readResidentMiB(pid);
  let stableFor = 0;
  for (let waited = 0; waited < PATIENCE && stableFor < STABLE_FOR; waited += POLL_INTERVAL) {
    await Bun.sleep(POLL_INTERVAL);
    const now = readResidentMiB(pid);
    stableFor = Math.abs(now - last) < 0.5 ? stableFor + POLL_INTERVAL : 0;
    last = now;
  }
  return last;
}

export function readResidentMiB(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/**
 * Samples the memory of a process under load. Because of garbage collection, memory grows over many
 * samples and then falls by tens of MiB. So the lowest samples are compared: a leak is in them too.
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

  /**
   * Calls `load` before each of `stages` samples, and before as many again, twice at most, while
   * memory seems to grow: if the later half of the samples ends before a collection, garbage is in
   * all of them. More samples contain a collection; a leak is larger in them.
   */
  async sampleStages(
    stages: number,
    maxGrowthMiB: number,
    load: (stage: number) => Promise<unknown>,
  ): Promise<void> {
    for (let stage = 1; stage <= 3 * stages; stage += 1) {
      await load(stage);
      await this.sample();
      if (stage % stages === 0 && this.growthMiB < maxGrowthMiB) return;
    }
  }

  /** Difference in MiB between the lowest samples of the later and the earlier half. */
  get growthMiB(): number {
    const half = Math.floor(this.#samples.length / 2);
    return Math.min(...this.#samples.slice(-half)) - Math.min(...this.#samples.slice(0, half));
  }

  get summary(): string {
    return `${this.#samples.map((mib) => mib.toFixed(0)).join(" ")} MiB`;
  }
}
