import { HOUR } from "../../domain/time.ts";

/** When a credential was last used, and from which address. */
export interface LastUse {
  readonly at: number;
  readonly address: string;
}

/** How often the uses are saved: a write for each request would be a sync for each request. */
const SAVE_INTERVAL = HOUR;

/** The last use of each token, user and session. */
export class LastUses {
  readonly #uses = new Map<string, LastUse>();
  #savedAt: number | null = null;
  #isChanged = false;

  get(key: string): LastUse | null {
    return this.#uses.get(key) ?? null;
  }

  /** A use from the file. */
  load(key: string, use: LastUse | undefined): void {
    if (use !== undefined) this.#uses.set(key, use);
  }

  note(key: string, use: LastUse): void {
    this.#savedAt ??= use.at;
    this.#uses.set(key, use);
    this.#isChanged = true;
  }

  forget(key: string): void {
    this.#uses.delete(key);
  }

  /** Whether something is to be saved at the stop of the server. */
  get isChanged(): boolean {
    return this.#isChanged;
  }

  isSaveDue(now: number): boolean {
    if (!this.#isChanged || this.#savedAt === null) return false;
    // Before it: the clock was set back.
    return now < this.#savedAt || now - this.#savedAt >= SAVE_INTERVAL;
  }

  markSaved(now: number): void {
    this.#savedAt = now;
    this.#isChanged = false;
  }
}
