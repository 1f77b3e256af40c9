// Replaces the clocks and timers of this process; they only move when a test says so.
const realImmediate = globalThis.setImmediate;

const START_TIME = Date.UTC(2026, 2, 2, 9);
const START_MONOTONIC = 1_000;

export class SimulatedTime {
  /** The system clock, which can be set to any time. */
  wall = START_TIME;
  /** The monotonic clock, which only advances. */
  monotonic = START_MONOTONIC;
  #immediates: (() => void)[] = [];
  #intervals = new Map<object, () => void>();

  /** The true time: the start plus the time that has passed, whatever the system clock says. */
  get trueNow(): number {
    return START_TIME + this.monotonic - START_MONOTONIC;
  }

  /** Replaces the global clocks and timers of this process. */
  replaceGlobals(): void {
    Date.now = () => this.wall;
    performance.now = () => this.monotonic;
    globalThis.setImmediate = ((callback: () => void) => this.#immediates.push(callback)) as never;
    globalThis.setInterval = ((callback: () => void) => {
      const timer = { unref: () => timer };
      this.#intervals.set(timer, callback);
      return timer;
    }) as never;
    globalThis.clearInterval = ((timer: object) => this.#intervals.delete(timer)) as never;
  }

  advance(milliseconds: number): void {
    this.wall += milliseconds;
    this.monotonic += milliseconds;
  }

  /** Runs everything that can run without a disk sync or an interval. */
  async runPending(): Promise<void> {
    do {
      for (const callback of this.#immediates.splice(0)) callback();
      await new Promise<void>((resolve) => {
        realImmediate(resolve);
      });
    } while (this.#immediates.length > 0);
  }

  fireIntervals(): void {
    for (const callback of this.#intervals.values()) callback();
  }

  /** Removes all timers; the process that owned them has ended. */
  clearTimers(): void {
    this.#immediates = [];
    this.#intervals.clear();
  }

  /** Runs work with its own timers, which are removed afterwards. */
  async runWithOwnTimers<T>(work: () => Promise<T>): Promise<T> {
    const [immediates, intervals] = [this.#immediates, this.#intervals];
    [this.#immediates, this.#intervals] = [[], new Map()];
    try {
      return await work();
    } finally {
      [this.#immediates, this.#intervals] = [immediates, intervals];
    }
  }
}
