import { err, type Result } from "../../domain/result.ts";
import type { MaintenanceFault } from "../../faults/fault-types.ts";

/** Enough for several operators who reload a page; each job may take a minute. */
const MAX_WAITING = 8;

/** Runs one job at a time, in the order of arrival: two would need twice the memory. */
export class JobQueue {
  readonly #waiting: (() => void)[] = [];
  #isBusy = false;

  async run<T>(
    signal: AbortSignal,
    job: () => Promise<Result<T, MaintenanceFault>>,
  ): Promise<Result<T, MaintenanceFault>> {
    if (this.#waiting.length >= MAX_WAITING)
      return err({ code: "too_many_requests", busy: "requests" });
    if (!(await this.#waitForTurn(signal))) return err({ code: "request_cancelled" });
    try {
      return await job();
    } finally {
      this.#startNext();
    }
  }

  /** Waits for the turn of this job; false: the caller cancelled it. */
  async #waitForTurn(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (!this.#isBusy) return (this.#isBusy = true);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const start = (): void => {
      signal.removeEventListener("abort", cancel);
      resolve(true);
    };
    const cancel = (): void => {
      this.#waiting.splice(this.#waiting.indexOf(start), 1);
      resolve(false);
    };
    this.#waiting.push(start);
    signal.addEventListener("abort", cancel, { once: true });
    return promise;
  }

  #startNext(): void {
    const start = this.#waiting.shift();
    if (start === undefined) this.#isBusy = false;
    else start();
  }
}
