// Time moved by hand. A store folds its journal by the second and by the hour, and counts refusals
// by the minute: with the process's own clock and intervals replaced, a day of that passes as fast
// as the machine can work, under the store's own rules.

interface Interval {
  readonly every: number;
  readonly call: () => void;
  due: number;
}

/** Replaces the monotonic clock and all intervals that are started from here on. */
export class ManualTime {
  /** Milliseconds since the beginning. */
  now = 0;
  readonly #intervals = new Set<Interval>();

  constructor() {
    const start = (call: () => void, every: number): object => {
      const interval = { every, call, due: this.now + every, unref() {} };
      this.#intervals.add(interval);
      return interval;
    };
    globalThis.setInterval = start as unknown as typeof setInterval;
    globalThis.clearInterval = (interval) => {
      this.#intervals.delete(interval as unknown as Interval);
    };
    performance.now = () => this.now;
  }

  /** Whatever comes due on the way is called at its very instant, in order. */
  advance(milliseconds: number): void {
    const until = this.now + milliseconds;
    for (;;) {
      let next: Interval | null = null;
      for (const interval of this.#intervals) {
        if (next === null || interval.due < next.due) next = interval;
      }
      if (next === null || next.due > until) break;
      this.now = next.due;
      next.due += next.every;
      next.call();
    }
    this.now = until;
  }
}
