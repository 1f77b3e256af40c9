import { DAY, MINUTE, type Instant } from "../../domain/time.ts";
import { messageOf } from "../../faults/catalog.ts";
import { parseReport } from "../../http/routes/health/findings.ts";
import type { DoctorReply, MaintenanceJob } from "../../http/running-server.ts";
import type { FullCheck } from "../../operations/health/assess-health.ts";
import { log } from "../../platform/log.ts";

/** After the start, when the machine has other things to do. */
const FIRST_AFTER = 5 * MINUTE;
const INTERVAL = DAY;

/** These say nothing about the installation: the result of the check before stays. */
const NOT_RUN = new Set(["request_cancelled", "too_many_jobs"]);

interface FullCheckOptions {
  /** Runs all checks of `berth doctor`, in a process of its own. */
  readonly doctor: MaintenanceJob<DoctorReply>;
  readonly now: () => Instant;
  /** Calls `work` once, later; returns a function that cancels it. */
  readonly schedule?: (work: () => void, delay: number) => () => void;
}

/** Runs all checks by itself soon after the start and once a day, and keeps the last result. */
export class FullCheckSchedule {
  readonly #options: FullCheckOptions;
  readonly #stopping = new AbortController();
  #last: FullCheck | null = null;
  #cancel: (() => void) | null = null;

  constructor(options: FullCheckOptions) {
    this.#options = options;
  }

  /** Null: not since the start. */
  get last(): FullCheck | null {
    return this.#last;
  }

  /** Runs the checks now, and keeps the result. */
  readonly run: MaintenanceJob<DoctorReply> = async (signal) => {
    const result = await this.#options.doctor(signal);
    const at = this.#options.now();
    if (result.ok) this.#last = { at, report: parseReport(result.value), failure: "" };
    else if (!NOT_RUN.has(result.fault.code)) {
      this.#last = { at, report: null, failure: messageOf(result.fault) };
    }
    return result;
  };

  start(): void {
    this.#scheduleRun(FIRST_AFTER);
  }

  stop(): void {
    this.#stopping.abort();
    this.#cancel?.();
  }

  #scheduleRun(delay: number): void {
    const { schedule = scheduleInProcess } = this.#options;
    this.#cancel = schedule(() => void this.#runAndRepeat(), delay);
  }

  async #runAndRepeat(): Promise<void> {
    try {
      await this.run(this.#stopping.signal);
    } catch (error) {
      log.error("the daily check failed", { error });
    }
    if (!this.#stopping.signal.aborted) this.#scheduleRun(INTERVAL);
  }
}

/** The timer alone does not keep the process running. */
function scheduleInProcess(work: () => void, delay: number): () => void {
  const timer = setTimeout(work, delay);
  timer.unref();
  return () => clearTimeout(timer);
}
