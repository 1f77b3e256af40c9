interface CountedEvent {
  readonly at: number;
  readonly keys: readonly string[];
}

/**
 * Counts the events of the last `windowMs` milliseconds, in total and by key. Callers decide which
 * count is too high, and add only what they allow: so the number of events in memory is limited.
 */
export class RateLimiter {
  readonly #windowMs: number;
  /** Oldest first. */
  readonly #events: CountedEvent[] = [];

  constructor(windowMs: number) {
    this.#windowMs = windowMs;
  }

  /** Number of events until now; with a key, only of those that were added with it. */
  count(now: number, key: string | null = null): number {
    this.#forgetOldEvents(now);
    if (key === null) return this.#events.length;
    return this.#events.filter(({ keys }) => keys.includes(key)).length;
  }

  add(now: number, keys: readonly string[] = []): void {
    this.#events.push({ at: now, keys });
  }

  /** Takes back the newest event with exactly these keys, unless it is forgotten already. */
  remove(keys: readonly string[]): void {
    const index = this.#events.findLastIndex(
      (event) => event.keys.length === keys.length && keys.every((key) => event.keys.includes(key)),
    );
    if (index >= 0) this.#events.splice(index, 1);
  }

  #forgetOldEvents(now: number): void {
    // An event after now is from before the clock was set back.
    const firstRecent = this.#events.findIndex(({ at }) => at <= now && now - at < this.#windowMs);
    this.#events.splice(0, firstRecent < 0 ? this.#events.length : firstRecent);
  }
}
