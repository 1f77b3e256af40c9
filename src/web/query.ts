import { batch, computed, effect, signal, untracked, type ReadonlySignal } from "@preact/signals";
import { errorMessageOf, isUnanswered } from "./api-error.ts";

/** What a query needs to know about the page; tests give their own. */
export interface QueryEnvironment {
  /** Whether the status stream is connected. */
  readonly isConnected: ReadonlySignal<boolean>;
  /** A change of its value makes queries read again. */
  readonly lastChange: () => unknown;
  readonly now: () => number;
  /** Runs the work after the delay; returns a function that prevents it. */
  readonly schedule: (work: () => void, delay: number) => () => void;
}

export interface QueryOptions<T> {
  /**
   * A change of its value makes the query read again; the signals in it are followed. Default: the
   * number of changes that the server has written.
   */
  readonly watch?: () => unknown;
  /** The shortest time from a read to the next that a change causes; may depend on its duration. */
  readonly minInterval?: number | ((readTime: number) => number);
  /** After this time it reads again without a change; null: never. */
  readonly maxAge?: number | null | ((data: T) => number | null);
}

export type ReadQuery<T> = (signal: AbortSignal) => Promise<T>;

const MIN_INTERVAL = 2_000;
const FIRST_RETRY_DELAY = 1_000;
const MAX_RETRY_DELAY = 30_000;

/** A single lost request is repeated before anything is shown. */
const FAILURES_BEFORE_MESSAGE = 2;

/** Reads from the server while it is shown, and keeps the last data that it got. */
export class Query<T> {
  /** The last data; null: none has been read yet. */
  readonly data = signal<T | null>(null);
  /**
   * Why the last read failed; empty: it did not. A lost connection is no reason to show: the header
   * shows it, and the query reads again after it.
   */
  readonly error: ReadonlySignal<string>;

  readonly #read: ReadQuery<T>;
  readonly #options: QueryOptions<T>;
  readonly #environment: QueryEnvironment;
  readonly #fault = signal<unknown>(null);
  readonly #failures = signal(0);
  #users = 0;
  #reading: AbortController | null = null;
  #isChangePending = false;
  #lastRead = { finishedAt: Number.NEGATIVE_INFINITY, duration: 0 };
  #cancelTimer: (() => void) | null = null;
  #unwatch: readonly (() => void)[] = [];

  constructor(read: ReadQuery<T>, environment: QueryEnvironment, options: QueryOptions<T> = {}) {
    this.#read = read;
    this.#environment = environment;
    this.#options = options;
    this.error = computed(() => this.#messageToShow());
  }

  /** Begins to read; returns a function that ends it. Several components can share one query. */
  start(): () => void {
    this.#users += 1;
    if (this.#users === 1) {
      this.#unwatch = [this.#watchConnection(), this.#watchChanges()];
      void this.refresh();
    }
    let isStarted = true;
    return () => {
      if (!isStarted) return;
      isStarted = false;
      this.#users -= 1;
      if (this.#users === 0) this.#stop();
    };
  }

  /** Reads now; resolves when the data or the error is there. */
  readonly refresh = async (): Promise<void> => {
    this.#reading?.abort();
    this.#cancelTimer?.();
    this.#isChangePending = false;
    const { signal: cancelled } = (this.#reading = new AbortController());
    const startedAt = this.#environment.now();
    try {
      const data = await this.#read(cancelled);
      if (cancelled.aborted) return;
      this.set(data);
    } catch (error) {
      if (cancelled.aborted) return;
      batch(() => {
        this.#fault.value = error;
        this.#failures.value += 1;
      });
    }
    this.#reading = null;
    const finishedAt = this.#environment.now();
    this.#lastRead = { finishedAt, duration: finishedAt - startedAt };
    this.#scheduleNext();
  };

  /** Shows data that is known already, such as the reply to a change. */
  set(data: T): void {
    batch(() => {
      this.data.value = data;
      this.#fault.value = null;
      this.#failures.value = 0;
    });
  }

  #stop(): void {
    this.#reading?.abort();
    this.#reading = null;
    this.#cancelTimer?.();
    for (const unwatch of this.#unwatch) unwatch();
    this.#unwatch = [];
  }

  #isConnected(): boolean {
    return this.#environment.isConnected.value;
  }

  #messageToShow(): string {
    const { value: fault } = this.#fault;
    if (fault === null) return "";
    const isLost =
      isUnanswered(fault) &&
      (!this.#isConnected() || this.#failures.value < FAILURES_BEFORE_MESSAGE);
    return isLost ? "" : errorMessageOf(fault);
  }

  #watchConnection(): () => void {
    let wasConnected = this.#environment.isConnected.peek();
    return effect(() => {
      const isConnected = this.#isConnected();
      if (isConnected && !wasConnected) untracked(() => void this.#refreshAfterLoss());
      wasConnected = isConnected;
    });
  }

  async #refreshAfterLoss(): Promise<void> {
    this.#failures.value = 0;
    await this.refresh();
  }

  #watchChanges(): () => void {
    const watched = computed(this.#options.watch ?? this.#environment.lastChange);
    let isFirst = true;
    return effect(() => {
      void watched.value;
      if (!isFirst) untracked(() => this.#noteChange());
      isFirst = false;
    });
  }

  /** A change during a read may be missing in its data: another read follows. */
  #noteChange(): void {
    if (this.#isChangePending) return;
    this.#isChangePending = true;
    if (this.#reading === null) this.#scheduleNext();
  }

  #scheduleNext(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    if (this.#users === 0) return;
    const delay = this.#nextDelay();
    if (delay === null) return;
    this.#cancelTimer = this.#environment.schedule(() => void this.refresh(), delay);
  }

  /** Null: only a change or the connection causes the next read. */
  #nextDelay(): number | null {
    const fault = this.#fault.peek();
    if (fault !== null && mayRetry(fault)) return retryDelay(this.#failures.peek());
    if (this.#isChangePending) {
      const { finishedAt, duration } = this.#lastRead;
      const { minInterval = MIN_INTERVAL } = this.#options;
      const interval = typeof minInterval === "number" ? minInterval : minInterval(duration);
      return Math.max(0, finishedAt + interval - this.#environment.now());
    }
    const { maxAge = null } = this.#options;
    const data = this.data.peek();
    if (typeof maxAge !== "function") return maxAge;
    return data === null ? null : maxAge(data);
  }
}

/** A refusal stays a refusal until something changes; a lost or overloaded server comes back. */
const mayRetry = (fault: unknown): boolean => {
  const { status = 500 } = fault as { readonly status?: number };
  return status === 0 || status === 429 || status >= 500;
};

const retryDelay = (failures: number): number =>
  Math.min(MAX_RETRY_DELAY, FIRST_RETRY_DELAY * 2 ** Math.max(0, failures - 1));
