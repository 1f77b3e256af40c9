import { join } from "node:path";
import { CHECKPOINT_LOCK_FILE } from "./files.ts";
import type { StoreOptions } from "./store-options.ts";
import { removeUnfinishedCheckpoint } from "./unfinished-checkpoint.ts";

/** Until a failed one is tried again; the next rotation may come sooner. */
const RETRY_INTERVAL = 60_000;

/** A checkpoint that neither got on nor ended: another one is likely to do the same. */
export class CheckpointHung extends Error {
  override readonly name = "CheckpointHung";
}

/** What the store that wants them knows, and has to know. */
interface CheckpointCallbacks {
  /** The last audited line that the journal has. */
  readonly getLastAuditSeq: () => number;
  /** How one ended; null: well. */
  readonly onEnd: (error: unknown) => void;
}

type CheckpointRunnerOptions = Pick<StoreOptions, "disk" | "folder" | "checkpoint">;

/** The checkpoints of one store: one at a time, what came of the last one, and how far they got. */
export class CheckpointRunner {
  readonly #options: CheckpointRunnerOptions;
  readonly #callbacks: CheckpointCallbacks;
  #failedAt = 0;
  #currentRun: Promise<void> | null = null;
  #error: string | null = null;
  #isHung = false;
  #startedAt = 0;
  readonly #stopping = new AbortController();
  /** The last line the state covers. */
  coveredSeq: number;
  /** Closed segments lie beyond the state. */
  hasUnfoldedSegments: boolean;

  constructor(
    options: CheckpointRunnerOptions,
    {
      coveredSeq,
      hasUnfoldedSegments,
    }: { readonly coveredSeq: number; readonly hasUnfoldedSegments: boolean },
    around: CheckpointCallbacks,
  ) {
    this.#options = options;
    this.#callbacks = around;
    this.coveredSeq = coveredSeq;
    this.hasUnfoldedSegments = hasUnfoldedSegments;
  }

  /** The one that is being made. */
  get currentRun(): Promise<void> | null {
    return this.#currentRun;
  }

  /** Why the last one failed; null when it did not. */
  get error(): string | null {
    return this.#error;
  }

  /** Whether the last one had to be given up on. */
  get isHung(): boolean {
    return this.#isHung;
  }

  /** For how many milliseconds one has been under way; null: none is. */
  get runningMs(): number | null {
    return this.#currentRun === null ? null : performance.now() - this.#startedAt;
  }

  /** Waits for the one under way, but no longer than it gets on. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#currentRun;
  }

  /** Closed segments wait for a checkpoint that failed some time ago. */
  get isRetryDue(): boolean {
    const isOver = performance.now() - this.#failedAt >= RETRY_INTERVAL;
    return this.hasUnfoldedSegments && this.#error !== null && isOver;
  }

  /** What kept the last one from succeeding may be gone. */
  retrySoon(): void {
    this.#failedAt = -Infinity;
  }

  /**
   * Folds all segments before the one that `rotate` says is open; never rejects. The one under way
   * serves whoever asks meanwhile.
   */
  run(rotate: () => Promise<number>): Promise<void> {
    this.#currentRun ??= this.#run(rotate).finally(() => {
      this.#currentRun = null;
    });
    return this.#currentRun;
  }

  /** Does something that none may run beside, and keeps the next one waiting. */
  async pauseDuring<T>(work: () => Promise<T>): Promise<T> {
    while (this.#currentRun !== null) await this.#currentRun;
    this.#startedAt = performance.now();
    const done = work();
    const ended = (): void => {
      this.#currentRun = null;
    };
    this.#currentRun = done.then(ended, ended);
    return done;
  }

  async #run(rotate: () => Promise<number>): Promise<void> {
    let isBegun = false;
    this.#startedAt = performance.now();
    this.#isHung = false;
    try {
      const open = await rotate();
      this.hasUnfoldedSegments = true;
      isBegun = true;
      await this.#options.checkpoint(this.#options.folder, open, this.#stopping.signal);
      this.hasUnfoldedSegments = false;
      this.coveredSeq = open - 1;
      this.#error = null;
      this.#callbacks.onEnd(null);
    } catch (error) {
      this.#callbacks.onEnd(error);
      this.#error = error instanceof Error ? error.message : String(error);
      this.#isHung = error instanceof CheckpointHung;
      this.#failedAt = performance.now();
      if (isBegun) this.#removeUnfinished();
    }
  }

  /** One that was killed could not do so itself. */
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
