import { join } from "node:path";
import { CHECKPOINT_LOCK_FILE } from "../folder/files.ts";
import type { StoreOptions } from "../store-options.ts";
import { removeUnfinishedCheckpoint } from "./unfinished-checkpoint.ts";
import { messageOfError } from "../../platform/error-message.ts";

/** Delay before a failed checkpoint is retried; the next rotation may come sooner. */
const RETRY_INTERVAL = 60_000;

/** A checkpoint made no progress and did not end: another one is likely to do the same. */
export class CheckpointHung extends Error {
  override readonly name = "CheckpointHung";
}

/** How the runner asks and informs its store. */
interface CheckpointCallbacks {
  /** The last audited line in the journal. */
  readonly getLastAuditSeq: () => number;
  /** Called when a checkpoint ends; null: it succeeded. */
  readonly onEnd: (error: unknown) => void;
}

type CheckpointRunnerOptions = Pick<StoreOptions, "disk" | "folder" | "checkpoint">;

/** Runs the checkpoints of one store, one at a time, and keeps the result of the last one. */
export class CheckpointRunner {
  readonly #options: CheckpointRunnerOptions;
  readonly #callbacks: CheckpointCallbacks;
  #failedAt = 0;
  #currentRun: Promise<void> | null = null;
  #error: string | null = null;
  #isHung = false;
  #startedAt = 0;
  #progressAt = 0;
  #succeededAt = performance.now();
  readonly #stopping = new AbortController();
  /** The last journal line that the state covers. */
  coveredSeq: number;
  /** Closed segments exist that the state does not cover. */
  hasUncheckpointedSegments: boolean;

  constructor(
    options: CheckpointRunnerOptions,
    {
      coveredSeq,
      hasUncheckpointedSegments,
    }: { readonly coveredSeq: number; readonly hasUncheckpointedSegments: boolean },
    callbacks: CheckpointCallbacks,
  ) {
    this.#options = options;
    this.#callbacks = callbacks;
    this.coveredSeq = coveredSeq;
    this.hasUncheckpointedSegments = hasUncheckpointedSegments;
  }

  /** The checkpoint that is running; null: none is. */
  get currentRun(): Promise<void> | null {
    return this.#currentRun;
  }

  /** Why the last checkpoint failed; null: it did not. */
  get error(): string | null {
    return this.#error;
  }

  /** Whether the last checkpoint hung and was abandoned. */
  get isHung(): boolean {
    return this.#isHung;
  }

  /** For how many milliseconds a checkpoint has been running; null: none is. */
  get runningMs(): number | null {
    return this.#currentRun === null ? null : performance.now() - this.#startedAt;
  }

  /** For how many milliseconds the running checkpoint has stood still; 0: none is running. */
  get stalledMs(): number {
    return this.#currentRun === null ? 0 : performance.now() - this.#progressAt;
  }

  /** Milliseconds since the last checkpoint succeeded; if none did, since the start. */
  get ageMs(): number {
    return performance.now() - this.#succeededAt;
  }

  /** Waits for the running checkpoint, as long as it makes progress. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#currentRun;
  }

  /** Closed segments wait for a checkpoint, and the last one failed long enough ago. */
  get isRetryDue(): boolean {
    const isIntervalOver = performance.now() - this.#failedAt >= RETRY_INTERVAL;
    return this.hasUncheckpointedSegments && this.#error !== null && isIntervalOver;
  }

  /** Called when the cause of the last failure may be gone. */
  retrySoon(): void {
    this.#failedAt = -Infinity;
  }

  /**
   * Makes a checkpoint of all segments before the open one, whose number `rotate` returns. Never
   * rejects. A call during a running checkpoint gets that one.
   */
  runCheckpoint(rotate: () => Promise<number>): Promise<void> {
    this.#currentRun ??= this.#run(rotate).finally(() => {
      this.#currentRun = null;
    });
    return this.#currentRun;
  }

  /** Runs `work` while no checkpoint runs; the next checkpoint waits for it. */
  async pauseDuring<T>(work: () => Promise<T>): Promise<T> {
    while (this.#currentRun !== null) await this.#currentRun;
    this.#startedAt = performance.now();
    // How far such work is, is not known here.
    this.#progressAt = Infinity;
    const result = work();
    const clearRun = (): void => {
      this.#currentRun = null;
    };
    this.#currentRun = result.then(clearRun, clearRun);
    return result;
  }

  async #run(rotate: () => Promise<number>): Promise<void> {
    let isStarted = false;
    this.#startedAt = performance.now();
    this.#progressAt = this.#startedAt;
    this.#isHung = false;
    try {
      const open = await rotate();
      this.hasUncheckpointedSegments = true;
      isStarted = true;
      await this.#options.checkpoint(this.#options.folder, open, this.#stopping.signal, () => {
        this.#progressAt = performance.now();
      });
      this.hasUncheckpointedSegments = false;
      this.coveredSeq = open - 1;
      this.#error = null;
      this.#succeededAt = performance.now();
      this.#callbacks.onEnd(null);
    } catch (error) {
      this.#callbacks.onEnd(error);
      this.#error = messageOfError(error);
      this.#isHung = error instanceof CheckpointHung;
      this.#failedAt = performance.now();
      if (isStarted) this.#removeUnfinished();
    }
  }

  /** A checkpoint that was killed could not clean up itself. */
  #removeUnfinished(): void {
    const { disk, folder } = this.#options;
    try {
      const lock = disk.lock(join(folder, CHECKPOINT_LOCK_FILE));
      if (lock === null) return;
      removeUnfinishedCheckpoint(disk, folder, this.#callbacks.getLastAuditSeq());
      lock.release();
    } catch {
      // The next start tries again.
    }
  }
}
