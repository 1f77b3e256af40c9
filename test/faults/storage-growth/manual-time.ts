// Time that only advances when a test says so. The store's rules for checkpoints count in seconds
// and hours, and refusals are written once a minute. With the process's clock and intervals
// replaced, a day passes as fast as the machine can work, under the store's own rules.

interface Interval {
  readonly period: number;
  readonly callback: () => void;
  due: number;
}

/** Replaces the monotonic clock and all intervals started from now on. */
export class ManualTime {
  /** Milliseconds since the start. */
  now = 0;
  readonly #intervals = new Set<Interval>();

  constructor() {
    const startInterval = (callback: () => void, period: number): object => {
      const interval = { period, callback, due: this.now + period, unref() {} };
      this.#intervals.add(interval);
      return interval;
    };
    globalThis.setInterval = startInterval as unknown as typeof setInterval;
    globalThis.clearInterval = (interval) => {
      this.#intervals.delete(interval as unknown as Interval);
    };
    performance.now = () => this.now;
  }

  /** Calls every interval that becomes due on the way, in order, each at its own time. */
  advance(milliseconds: number): void {
    const until = this.now + milliseconds;
    for (;;) {
      let next: Interval | null = null;
      for (const interval of this.#intervals) {
        if (next === null || interval.due < next.due) next = interval;
      }
      if (next === null || next.due > until) break;
      this.now = next.due;
      next.due += next.period;
      next.callback();
    }
    this.now = until;
  }
}
