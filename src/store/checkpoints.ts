import { join } from "node:path";
import { CHECKPOINT_LOCK } from "./files.ts";
import type { StoreOptions } from "./store-options.ts";
import { dropUnfinished } from "./unfinished.ts";

/** Until a failed one is tried again; the next rotation may come sooner. */
const RETRY = 60_000;

/** A checkpoint that neither got on nor ended: another one is likely to do the same. */
export class CheckpointHung extends Error {
  override readonly name = "CheckpointHung";
}

/** What the store that wants them knows, and has to know. */
interface Around {
  /** The last audited line that the journal has. */
  readonly newestAudited: () => number;
  /** How one ended; null: well. */
  readonly ended: (error: unknown) => void;
}

type Options = Pick<StoreOptions, "disk" | "folder" | "checkpoint">;

/** The checkpoints of one store: one at a time, what came of the last one, and how far they got. */
export class Checkpoints {
  readonly #options: Options;
  readonly #around: Around;
  #failedAt = 0;
  #running: Promise<void> | null = null;
  #error: string | null = null;
  #isHung = false;
  #since = 0;
  readonly #stopping = new AbortController();
  /** The last line the state covers. */
  covers: number;
  /** Closed segments lie beyond the state. */
  hasUnfolded: boolean;

  constructor(
    options: Options,
    { covers, unfolded }: { readonly covers: number; readonly unfolded: boolean },
    around: Around,
  ) {
    this.#options = options;
    this.#around = around;
    this.covers = covers;
    this.hasUnfolded = unfolded;
  }

  /** The one that is being made. */
  get running(): Promise<void> | null {
    return this.#running;
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
  get runningFor(): number | null {
    return this.#running === null ? null : performance.now() - this.#since;
  }

  /** Waits for the one under way, but no longer than it gets on. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
  }

  /** Closed segments wait for a checkpoint that failed some time ago. */
  get isRetryDue(): boolean {
    const isOver = performance.now() - this.#failedAt >= RETRY;
    return this.hasUnfolded && this.#error !== null && isOver;
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
    this.#running ??= this.#run(rotate).finally(() => {
      this.#running = null;
    });
    return this.#running;
  }

  /** Does something that none may run beside, and keeps the next one waiting. */
  async between<T>(work: () => Promise<T>): Promise<T> {
    while (this.#running !== null) await this.#running;
    this.#since = performance.now();
    const done = work();
    const ended = (): void => {
      this.#running = null;
    };
    this.#running = done.then(ended, ended);
    return done;
  }

  async #run(rotate: () => Promise<number>): Promise<void> {
    let isBegun = false;
    this.#since = performance.now();
    this.#isHung = false;
    try {
      const open = await rotate();
      this.hasUnfolded = true;
      isBegun = true;
      await this.#options.checkpoint(this.#options.folder, open, this.#stopping.signal);
      this.hasUnfolded = false;
      this.covers = open - 1;
      this.#error = null;
      this.#around.ended(null);
    } catch (error) {
      this.#around.ended(error);
      this.#error = error instanceof Error ? error.message : String(error);
      this.#isHung = error instanceof CheckpointHung;
      this.#failedAt = performance.now();
      if (isBegun) this.#dropUnfinished();
    }
  }

  /** One that was killed could not do so itself. */
  #dropUnfinished(): void {
    const { disk, folder } = this.#options;
    try {
      const lock = disk.lock(join(folder, CHECKPOINT_LOCK));
      if (lock === null) return;
      dropUnfinished(disk, folder, this.#around.newestAudited());
      lock.release();
    } catch {
      // The next start tries again.
    }
  }
}
