import { SECOND } from "../../domain/time.ts";
import { backoff, formatClock } from "./claim-slot.ts";
import type { Slot } from "./claim-reply.ts";
import { TAKEOVER_TIME, type LicenseClient } from "./license-client.ts";
import { pause, withJitter } from "./pause.ts";

export interface KeeperEvents {
  /** Something that the user may want to know. */
  readonly note: (text: string) => void;
  /** The slot is lost, or may be; called once, until the slot is held again. */
  readonly lost: (reason: string) => void;
}

/** How long to wait for the reply of a heartbeat when the command has ended. */
const LAST_REPLY_TIME = 2 * SECOND;
const RELEASE_TIME = 5 * SECOND;
const MAX_RELEASE_PAUSE = SECOND;
const MAX_REGAIN_PAUSE = 15 * SECOND;

/** Renews a slot until it is released, also after the server was away or the slot was lost. */
export class SlotKeeper {
  readonly #client: LicenseClient;
  readonly #events: KeeperEvents;
  /** With a queue, a lost slot is waited for like the first one. */
  readonly #canQueue: boolean;
  readonly #stop = new AbortController();
  #wake = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #slot: Slot;
  #heldUntil: number;
  #isLost = false;
  #isStopping = false;
  #failures = 0;
  #failingSince = 0;
  #isFailureNoted = false;

  constructor(client: LicenseClient, slot: Slot, canQueue: boolean, events: KeeperEvents) {
    this.#client = client;
    this.#slot = slot;
    this.#canQueue = canQueue;
    this.#events = events;
    this.#heldUntil = performance.now() + slot.timeout;
    this.#running = this.#run();
  }

  /** Sends the next heartbeat now: this process was suspended. */
  renewNow(): void {
    this.#wake.abort();
  }

  /**
   * Gives the slot back, in a few seconds, or when a takeover has ended; false: no server confirmed
   * it.
   */
  async release(): Promise<boolean> {
    const callEnd = setTimeout(() => this.#stop.abort(), LAST_REPLY_TIME);
    this.#isStopping = true;
    this.#wake.abort();
    await this.#running;
    clearTimeout(callEnd);
    const startedAt = performance.now();
    let limit = RELEASE_TIME;
    for (let attempt = 1; performance.now() - startedAt < limit; attempt += 1) {
      const deadline = AbortSignal.timeout(limit - (performance.now() - startedAt));
      const outcome = await this.#client.unregister(deadline);
      if (outcome === "released") return true;
      if (outcome === "takeover") limit = TAKEOVER_TIME;
      await pause(withJitter(Math.min(attempt * 300, MAX_RELEASE_PAUSE)), deadline).catch(() => {});
    }
    return false;
  }

  /** When the slot ends by itself, as a time of day. */
  get end(): string {
    return formatClock(this.#slot.expiresAt);
  }

  async #run(): Promise<void> {
    let interval = withJitter(this.#slot.timeout / 3);
    for (;;) {
      await this.#sleep(interval);
      if (this.#isStopping) return;
      try {
        interval = await this.#renew();
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        throw error;
      }
    }
  }

  async #sleep(interval: number): Promise<void> {
    if (this.#isStopping) return;
    await pause(interval, this.#wake.signal).catch(() => {});
    if (!this.#isStopping) this.#wake = new AbortController();
  }

  /** Sends one heartbeat, and returns the pause until the next. */
  async #renew(): Promise<number> {
    const sentAt = performance.now();
    const wait = this.#isLost && this.#canQueue ? 0 : null;
    const outcome = await this.#client.register(wait, this.#stop.signal);
    if (outcome.kind === "granted") {
      this.#noteRenewal(outcome.slot);
      this.#slot = outcome.slot;
      this.#heldUntil = sentAt + outcome.slot.timeout;
      this.#isLost = false;
      this.#isFailureNoted = false;
      this.#failures = 0;
      return withJitter(outcome.slot.timeout / 3);
    }
    if (outcome.kind === "refused" && outcome.status === 400) {
      this.#lose(`${outcome.message} (${outcome.code})`);
      return withJitter(Math.min(outcome.retryAfter ?? MAX_REGAIN_PAUSE, MAX_REGAIN_PAUSE));
    }
    const reason =
      outcome.kind === "refused"
        ? `${outcome.server} refused: ${outcome.message} (${outcome.code})`
        : outcome.reasons.join("; ");
    const isTakeover = outcome.kind === "unanswered" && outcome.isTakeover;
    return this.#retryLater(reason, sentAt, isTakeover);
  }

  #retryLater(reason: string, sentAt: number, isTakeover: boolean): number {
    if (this.#failures === 0) this.#failingSince = sentAt;
    this.#failures += 1;
    // A takeover ends by itself, long before the slot does.
    const isExpected = isTakeover && performance.now() - this.#failingSince < TAKEOVER_TIME;
    if (!isExpected && !this.#isFailureNoted && !this.#isLost) {
      this.#isFailureNoted = true;
      this.#events.note(`the slot cannot be renewed: ${reason}; it is kept until ${this.end}`);
    }
    const remaining = this.#heldUntil - performance.now();
    if (remaining <= 0) this.#lose(`it could not be renewed in time: ${reason}`);
    const interval = backoff(this.#failures);
    return remaining > 0 ? Math.min(interval, remaining) : interval;
  }

  #noteRenewal(slot: Slot): void {
    const { server, registeredAt } = this.#slot;
    const wasTakenAnew = slot.server === server && slot.registeredAt !== registeredAt;
    if (this.#isLost) this.#events.note("a slot is held again");
    else if (wasTakenAnew) this.#events.note("the slot was released, and has been taken again");
    else if (this.#isFailureNoted) this.#events.note("the slot is renewed again");
  }

  #lose(reason: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    this.#events.lost(reason);
  }
}
