import { log } from "../../platform/log.ts";

/** How the last update of the usage files ended. */
export class UsageUpdates {
  #error: string | null = null;

  /** What the last server left undone; null: nothing. */
  constructor(error: string | null = null) {
    this.#error = error;
  }

  /** Why it failed; null: it succeeded. */
  get error(): string | null {
    return this.#error;
  }

  /** Called after each update; null: it succeeded. */
  readonly record = (error: string | null): void => {
    if (error !== null) log.warn("could not update the usage files", { error });
    this.#error = error;
  };
}
