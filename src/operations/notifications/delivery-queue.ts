import { HOUR, MINUTE, SECOND, type Instant } from "../../domain/time.ts";
import { log } from "../../platform/log.ts";
import { RateLimiter } from "../../platform/schedule/rate-limiter.ts";
import type { Channel, Delivery } from "./channels.ts";
import type { NotificationEvent } from "./condition.ts";

export interface DeliveryQueueOptions {
  readonly channel: Channel;
  /** Milliseconds of a clock that is never set back. */
  readonly monotonicMs: () => number;
  readonly wallClock: () => Instant;
  /** The event that says how many were not sent. */
  readonly createSummary: (count: number) => NotificationEvent;
  /** How often a queue at its limit looks whether the minute is over; default: each second. */
  readonly limitCheckMs?: number;
  /** How long a delivery under way may go on when the server stops; default: two seconds. */
  readonly stopGraceMs?: number;
}

/** The last event of a channel could not be delivered. */
export interface DeliveryFailure {
  readonly setting: Channel["setting"];
  readonly at: Instant;
  readonly reason: string;
}

interface WaitingEvent {
  readonly event: NotificationEvent;
  readonly report: ((delivery: Delivery | null) => void) | null;
}

/** More than a site has conditions; the rest is counted. */
const MAX_WAITING = 50;
/** A channel that fails for days is logged so often at most. */
const LOG_INTERVAL_MS = HOUR;
/** The name of a syslog server can take long to look up, and that cannot be cancelled. */
const KILL_GRACE_FACTOR = 2;

/** Delivers events one after the other, at most so many in a minute; never throws. */
export class DeliveryQueue {
  readonly #options: DeliveryQueueOptions;
  readonly #limiter = new RateLimiter(MINUTE);
  readonly #waiting: WaitingEvent[] = [];
  readonly #killing = new AbortController();
  readonly #stopping = new AbortController();
  #running: Promise<void> | null = null;
  #dropped = 0;
  #failure: DeliveryFailure | null = null;
  #loggedAtMs = -Infinity;

  constructor(options: DeliveryQueueOptions) {
    this.#options = options;
  }

  /** Null: the last event was delivered, or there was none. */
  get failure(): DeliveryFailure | null {
    return this.#failure;
  }

  get #hasWork(): boolean {
    return this.#waiting.length > 0 || this.#dropped > 0;
  }

  add(event: NotificationEvent): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#waiting.length >= MAX_WAITING) this.#dropped += 1;
    else this.#waiting.push({ event, report: null });
    this.#start();
  }

  /** Delivers an event before those that wait; null: the server is stopping, or too many wait. */
  deliverNow(event: NotificationEvent): Promise<Delivery | null> {
    if (this.#stopping.signal.aborted || this.#waiting.length >= MAX_WAITING) {
      return Promise.resolve(null);
    }
    const { promise, resolve } = Promise.withResolvers<Delivery | null>();
    this.#waiting.unshift({ event, report: resolve });
    this.#start();
    return promise;
  }

  /** Lets a delivery under way end, but not for long. What waits is dropped. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    for (const { report } of this.#waiting.splice(0)) report?.(null);
    const { stopGraceMs = 2 * SECOND } = this.#options;
    const gaveUp = Promise.withResolvers<void>();
    const timers = [
      setTimeout(() => this.#killing.abort(), stopGraceMs),
      setTimeout(gaveUp.resolve, (1 + KILL_GRACE_FACTOR) * stopGraceMs),
    ];
    await Promise.race([this.#running, gaveUp.promise]);
    for (const timer of timers) clearTimeout(timer);
  }

  #start(): void {
    this.#running ??= this.#deliverAll().finally(() => {
      this.#running = null;
      // An event may have come after the last look at the queue, and before this moment.
      if (this.#hasWork && !this.#stopping.signal.aborted) this.#start();
    });
  }

  async #deliverAll(): Promise<void> {
    // So that the caller of `add` does not wait for the start of a process.
    await Bun.sleep(0);
    for (;;) {
      await this.#waitForLimit();
      const next = this.#stopping.signal.aborted ? null : this.#takeNext();
      if (next === null) return;
      const { channel, monotonicMs } = this.#options;
      this.#limiter.add(monotonicMs());
      const delivery = await channel.deliver(next.event, this.#killing.signal);
      this.#note(delivery);
      next.report?.(delivery);
    }
  }

  #takeNext(): WaitingEvent | null {
    const next = this.#waiting.shift();
    if (next !== undefined) return next;
    if (this.#dropped === 0) return null;
    const event = this.#options.createSummary(this.#dropped);
    this.#dropped = 0;
    return { event, report: null };
  }

  /** Until one more may be sent, or the server stops. */
  async #waitForLimit(): Promise<void> {
    const { channel, monotonicMs, limitCheckMs = SECOND } = this.#options;
    const { signal } = this.#stopping;
    while (this.#hasWork && this.#limiter.count(monotonicMs()) >= channel.perMinute) {
      if (signal.aborted) return;
      const { promise, resolve } = Promise.withResolvers<void>();
      const timer = setTimeout(resolve, limitCheckMs);
      const wake = (): void => resolve();
      signal.addEventListener("abort", wake, { once: true });
      await promise;
      signal.removeEventListener("abort", wake);
      clearTimeout(timer);
    }
  }

  #note({ failure }: Delivery): void {
    const { channel, monotonicMs, wallClock } = this.#options;
    const { setting } = channel;
    // The kill at a stop is no failure of the program.
    if (this.#killing.signal.aborted) return;
    this.#failure = failure === null ? null : { setting, at: wallClock(), reason: failure };
    if (failure === null || monotonicMs() - this.#loggedAtMs < LOG_INTERVAL_MS) return;
    this.#loggedAtMs = monotonicMs();
    log.warn("a notification was not delivered", { setting, reason: failure });
  }
}
