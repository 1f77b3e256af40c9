import { err, type Result } from "../../domain/result.ts";
import type { MaintenanceFault } from "../../http/running-server.ts";

/** More than one operator and a page that is loaded anew; each of them may take a minute. */
const MAX_WAITING = 8;

/** One at a time, in the order they came: two would need twice the memory. */
export class JobQueue {
  readonly #waiting: (() => void)[] = [];
  #busy = false;

  async run<T>(
    signal: AbortSignal,
    work: () => Promise<Result<T, MaintenanceFault>>,
  ): Promise<Result<T, MaintenanceFault>> {
    if (this.#waiting.length >= MAX_WAITING)
      return err({ code: "too_many_requests", busy: "requests" });
    if (!(await this.#wait(signal))) return err({ code: "request_cancelled" });
    try {
      return await work();
    } finally {
      this.#next();
    }
  }

  /** Whether it is its turn now; whoever went away has none. */
  async #wait(signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false;
    if (!this.#busy) return (this.#busy = true);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const enter = (): void => {
      signal.removeEventListener("abort", leave);
      resolve(true);
    };
    const leave = (): void => {
      this.#waiting.splice(this.#waiting.indexOf(enter), 1);
      resolve(false);
    };
    this.#waiting.push(enter);
    signal.addEventListener("abort", leave, { once: true });
    return promise;
  }

  #next(): void {
    const enter = this.#waiting.shift();
    if (enter === undefined) this.#busy = false;
    else enter();
  }
}
