import { err, type Result } from "../domain/result.ts";
import type { AnyFault, MaintenanceFault } from "../faults/fault-types.ts";
import { TaskQueue } from "../platform/schedule/task-queue.ts";

export type JobOutcome<T> = Promise<Result<T, MaintenanceFault>>;

/** Enough for several operators who reload a page; each job may take a minute. */
const MAX_WAITING_JOBS = 8;

/** Until one has ended, nothing says how long a job takes. */
const ASSUMED_DURATION = 5_000;
const MAX_RETRY_SECONDS = 60;

/** Runs one job at a time: two would need twice the memory. */
export class JobQueue {
  readonly #queue = new TaskQueue();
  /** How long the last job took, in milliseconds. */
  #lastDuration = ASSUMED_DURATION;
  readonly #stopping = new AbortController();

  /** How many jobs wait for their turn. */
  get waitingCount(): number {
    return this.#queue.waitingCount;
  }

  /** Runs a job after those before it, unless the signal or a stop of the server cancels it. */
  async runJob<T, F extends AnyFault = MaintenanceFault>(
    signal: AbortSignal | null,
    job: (cancel: AbortSignal) => Promise<Result<T, F>>,
  ): Promise<Result<T, F | MaintenanceFault>> {
    if (this.#queue.waitingCount >= MAX_WAITING_JOBS)
      return err({ code: "too_many_jobs", retryAfterSeconds: this.#estimateRetrySeconds() });
    return this.runJobAlways(signal, job);
  }

  /** Also if too many jobs wait. For jobs that callers cannot start without limit. */
  async runJobAlways<T, F extends AnyFault = MaintenanceFault>(
    signal: AbortSignal | null,
    job: (cancel: AbortSignal) => Promise<Result<T, F>>,
  ): Promise<Result<T, F | MaintenanceFault>> {
    const { signal: stopping } = this.#stopping;
    const cancel = signal === null ? stopping : AbortSignal.any([signal, stopping]);
    const outcome = await this.#queue.runTaskUnlessAborted(cancel, async () => {
      const start = performance.now();
      try {
        return await job(cancel);
      } finally {
        this.#lastDuration = performance.now() - start;
      }
    });
    return outcome ?? err({ code: "request_cancelled" });
  }

  /** By then half of the jobs that wait have ended, if they take as long as the last one. */
  #estimateRetrySeconds(): number {
    const seconds = Math.ceil((MAX_WAITING_JOBS * this.#lastDuration) / 2_000);
    return Math.min(Math.max(seconds, 1), MAX_RETRY_SECONDS);
  }

  /** Cancels all jobs, now and later. */
  stop(): void {
    this.#stopping.abort();
  }
}
