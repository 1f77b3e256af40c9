/** Runs tasks one at a time, in the order of arrival. A failed task does not stop the others. */
export class TaskQueue {
  /** Starts the tasks that have to wait. */
  readonly #waiting: (() => void)[] = [];
  readonly #pause: (() => Promise<void>) | null;
  #isBusy = false;

  /** With a pause, each task begins only when the pause after the one before has ended. */
  constructor(pause: (() => Promise<void>) | null = null) {
    this.#pause = pause;
  }

  /** Number of tasks that have not started yet. */
  get waitingCount(): number {
    return this.#waiting.length;
  }

  /** Runs the task after all tasks before it; settles as the task does. */
  async runTask<T>(task: () => T | Promise<T>): Promise<T> {
    await this.#waitForTurn(null);
    return this.#runNow(task);
  }

  /** The same, but null if the signal aborts before the task starts; then it never runs. */
  async runTaskUnlessAborted<T>(
    signal: AbortSignal,
    task: () => T | Promise<T>,
  ): Promise<T | null> {
    if (signal.aborted || !(await this.#waitForTurn(signal))) return null;
    return this.#runNow(task);
  }

  async #runNow<T>(task: () => T | Promise<T>): Promise<T> {
    try {
      return await task();
    } finally {
      if (this.#pause === null) this.#startNext();
      else void this.#pause().then(() => this.#startNext());
    }
  }

  /** False: the signal was aborted before. */
  async #waitForTurn(signal: AbortSignal | null): Promise<boolean> {
    if (!this.#isBusy) return (this.#isBusy = true);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const start = (): void => {
      signal?.removeEventListener("abort", cancel);
      resolve(true);
    };
    const cancel = (): void => {
      this.#waiting.splice(this.#waiting.indexOf(start), 1);
      resolve(false);
    };
    this.#waiting.push(start);
    signal?.addEventListener("abort", cancel, { once: true });
    return promise;
  }

  #startNext(): void {
    const start = this.#waiting.shift();
    if (start === undefined) this.#isBusy = false;
    else start();
  }
}
