import { err, type Result } from "../domain/result.ts";
import type { MaintenanceFault } from "../faults/fault-types.ts";
import { TaskQueue } from "../platform/schedule/task-queue.ts";

export type JobOutcome<T> = Promise<Result<T, MaintenanceFault>>;

/** Enough for several operators who reload a page; each job may take a minute. */
const MAX_WAITING_JOBS = 8;

/** Runs one job at a time: two would need twice the memory. */
export class JobQueue {
  readonly #queue = new TaskQueue();
  readonly #stopping = new AbortController();

  /** Runs a job after those before it, unless the signal or a stop of the server cancels it. */
  async runJob<T>(
    signal: AbortSignal | null,
    job: (cancel: AbortSignal) => JobOutcome<T>,
  ): JobOutcome<T> {
    if (this.#queue.waitingCount >= MAX_WAITING_JOBS)
      return err({ code: "too_many_requests", busy: "requests" });
    return this.runJobAlways(signal, job);
  }

  /** Also if too many jobs wait. For jobs that callers cannot start without limit. */
  async runJobAlways<T>(
    signal: AbortSignal | null,
    job: (cancel: AbortSignal) => JobOutcome<T>,
  ): JobOutcome<T> {
    const { signal: stopping } = this.#stopping;
    const cancel = signal === null ? stopping : AbortSignal.any([signal, stopping]);
    const outcome = await this.#queue.runTaskUnlessAborted(cancel, () => job(cancel));
    return outcome ?? err({ code: "request_cancelled" });
  }

  /** Cancels all jobs, now and later. */
  stop(): void {
    this.#stopping.abort();
  }
}
