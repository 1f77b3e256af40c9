import { log } from "../../platform/log.ts";

/** How the last update of the usage files ended. */
export class UsageUpdates {
  #error: string | null = null;

  /** Why it failed; null: it succeeded, or there was none since the start. */
  get error(): string | null {
    return this.#error;
  }

  /** Called after each update; null: it succeeded. */
  readonly record = (error: string | null): void => {
    if (error !== null) log.warn("could not update the usage files", { error });
    this.#error = error;
  };
}
