import type { LogLeader } from "../../store/log/shared-log.ts";

/** Of the term: the leader stops before the other host may begin, also if its clock runs slower. */
const MARGIN_SHARE = 0.2;
const MAX_MARGIN_MS = 2_000;
const RENEWAL_SHARE = 0.2;

interface TermOptions {
  /** How long the leader may answer after its last renewal; another host waits as long. */
  readonly termMs: number;
  /** Milliseconds of a clock that never jumps, and that continues while the machine sleeps. */
  readonly bootMs: () => number;
  /** Called soon after the last moment of a term that was not renewed. */
  readonly onLapse: () => void;
}

/** How long a leader may answer, by the boot clock. */
export class Term {
  readonly #options: TermOptions;
  #answersUntil = -Infinity;
  #renewAt = -Infinity;
  #timer: Timer | null = null;

  constructor(options: TermOptions) {
    this.#options = options;
  }

  /** Whether this host may still answer. */
  get isLasting(): boolean {
    return this.#options.bootMs() < this.#answersUntil;
  }

  get isRenewalDue(): boolean {
    return this.#options.bootMs() >= this.#renewAt;
  }

  /** The term was claimed or renewed by a statement that was sent then. */
  extend(sentAt: number): void {
    const { termMs, bootMs, onLapse } = this.#options;
    this.#answersUntil = sentAt + termMs - Math.min(MAX_MARGIN_MS, termMs * MARGIN_SHARE);
    this.#renewAt = sentAt + termMs * RENEWAL_SHARE;
    clearTimeout(this.#timer ?? undefined);
    const remaining = Math.max(0, this.#answersUntil - bootMs());
    this.#timer = setTimeout(onLapse, Math.ceil(remaining) + 1);
    this.#timer.unref();
  }

  end(): void {
    clearTimeout(this.#timer ?? undefined);
    this.#answersUntil = -Infinity;
    this.#renewAt = -Infinity;
  }
}

/**
 * How long the term of another host was not renewed, by the clock of this host. The clock of the
 * log may jump, for example when another database server takes over; this one does not.
 */
export class ObservedTerm {
  #term: string | null = null;
  #lapsesAt = -Infinity;

  /** Was read from the log, and is known here at `receivedAt`. */
  note({ term, termMs }: Pick<LogLeader, "term" | "termMs">, receivedAt: number): void {
    if (term === this.#term) return;
    this.#term = term;
    this.#lapsesAt = receivedAt + termMs;
  }

  /** Whether the leader that had it certainly answers no more. */
  hasLapsed(now: number): boolean {
    return now >= this.#lapsesAt;
  }
}
