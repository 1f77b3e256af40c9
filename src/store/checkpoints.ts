import type { StoreOptions } from "./store-options.ts";

/** The checkpoints of one store: one at a time, what came of the last one, and how far they got. */
export class Checkpoints {
  readonly #options: Pick<StoreOptions, "folder" | "checkpoint">;
  #running: Promise<void> | null = null;
  #error: string | null = null;
  /** The last line the state covers. */
  covers: number;
  /** Closed segments lie beyond the state. */
  hasUnfolded: boolean;

  constructor(
    options: Pick<StoreOptions, "folder" | "checkpoint">,
    { covers, unfolded }: { readonly covers: number; readonly unfolded: boolean },
  ) {
    this.#options = options;
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

  async #run(rotate: () => Promise<number>): Promise<void> {
    try {
      const open = await rotate();
      this.hasUnfolded = true;
      await this.#options.checkpoint(this.#options.folder, open);
      this.hasUnfolded = false;
      this.covers = open - 1;
      this.#error = null;
    } catch (error) {
      this.#error = error instanceof Error ? error.message : String(error);
    }
  }
}
