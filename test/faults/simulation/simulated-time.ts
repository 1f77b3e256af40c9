// Clocks and timers that stand still until they are told to move, in place of this process's own.
const realImmediate = globalThis.setImmediate;

const BEGINNING = Date.UTC(2026, 2, 2, 9);
const STARTED = 1_000;

export class SimulatedTime {
  /** The system's clock; it goes where it is put. */
  wall = BEGINNING;
  /** The other clock only ever goes on. */
  monotonic = STARTED;
  #next: (() => void)[] = [];
  #intervals = new Map<object, () => void>();

  /** What time it is in truth: the time that passed since the beginning, whatever a clock says. */
  get trueNow(): number {
    return BEGINNING + this.monotonic - STARTED;
  }

  /** From here on this process has no other time. */
  replaceGlobals(): void {
    Date.now = () => this.wall;
    performance.now = () => this.monotonic;
    globalThis.setImmediate = ((run: () => void) => this.#next.push(run)) as never;
    globalThis.setInterval = ((run: () => void) => {
      const timer = { unref: () => timer };
      this.#intervals.set(timer, run);
      return timer;
    }) as never;
    globalThis.clearInterval = ((timer: object) => this.#intervals.delete(timer)) as never;
  }

  advance(milliseconds: number): void {
    this.wall += milliseconds;
    this.monotonic += milliseconds;
  }

  /** Everything that can happen without the disk and without a timer happens. */
  async runPending(): Promise<void> {
    do {
      for (const run of this.#next.splice(0)) run();
      await new Promise<void>((resolve) => {
        realImmediate(resolve);
      });
    } while (this.#next.length > 0);
  }

  fireIntervals(): void {
    for (const run of this.#intervals.values()) run();
  }

  /** The process whose timers these were is gone. */
  clearTimers(): void {
    this.#next = [];
    this.#intervals.clear();
  }

  /** Runs something beside, whose timers are gone with it. */
  async runWithOwnTimers<T>(run: () => Promise<T>): Promise<T> {
    const [next, intervals] = [this.#next, this.#intervals];
    [this.#next, this.#intervals] = [[], new Map()];
    try {
      return await run();
    } finally {
      [this.#next, this.#intervals] = [next, intervals];
    }
  }
}
