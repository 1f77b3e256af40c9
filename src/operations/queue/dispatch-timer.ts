/** What ends without an event that a timer could know, such as a license, is noticed so late. */
const LONGEST_DELAY_MS = 10_000;

/** One timer for the next time at which a free slot may be given without an event. */
export class DispatchTimer {
  readonly #run: () => void;
  #timer: Timer | null = null;
  #dueAt = Infinity;

  constructor(run: () => void) {
    this.#run = run;
  }

  /** Runs in `delayMs` milliseconds, or earlier if that was planned before. Infinity: never. */
  plan(delayMs: number): void {
    if (delayMs === Infinity) return this.stop();
    const delay = Math.min(Math.max(delayMs, 1), LONGEST_DELAY_MS);
    const dueAt = performance.now() + delay;
    if (this.#timer !== null && this.#dueAt <= dueAt) return;
    this.stop();
    this.#dueAt = dueAt;
    this.#timer = setTimeout(() => {
      this.stop();
      this.#run();
    }, delay);
    this.#timer.unref();
  }

  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#dueAt = Infinity;
  }
}
