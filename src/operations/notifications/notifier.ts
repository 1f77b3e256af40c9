import { SECOND, type Instant } from "../../domain/time.ts";
import { log } from "../../platform/log.ts";
import type { DemandCount } from "../demand/demand-counts.ts";
import type { Finding } from "../health/finding.ts";
import type { Channel, Delivery } from "./channels.ts";
import { ConditionChanges } from "./condition-changes.ts";
import type { Condition, EventKind, NotificationEvent } from "./condition.ts";
import { DeliveryQueue, type DeliveryFailure } from "./delivery-queue.ts";
import { DeniedDemand } from "./denied-demand.ts";
import { isChosen, NOTIFICATION_FAILED } from "./event-choice.ts";
import { FullPools, type PoolLicense } from "./full-pools.ts";

/** What the server knows at one moment. */
export interface Observation {
  readonly at: Instant;
  readonly findings: readonly Finding[];
  readonly licenses: readonly PoolLicense[];
  readonly demandCounts: readonly Readonly<DemandCount>[];
  /** Only the findings of this host are known: everything else is as it was. */
  readonly isPartial?: true;
}

export interface NotifierOptions {
  readonly channels: readonly Channel[];
  /** The names that the setting `events` has. */
  readonly events: readonly string[];
  readonly poolFullMinutes: number;
  readonly siteName: () => string;
  /** Null: nothing can be known now. */
  readonly observe: () => Promise<Observation | null>;
  /** Milliseconds of a clock that is never set back. */
  readonly monotonicMs: () => number;
  readonly wallClock: () => Instant;
}

/** The result of a test of one channel. */
export interface ChannelTest {
  readonly setting: Channel["setting"];
  /** Null: too many events wait, or the server is stopping. */
  readonly delivery: Delivery | null;
}

const INTERVAL = 10 * SECOND;

/** Tells programs and syslog of conditions that begin or end. It never delays a request. */
export class Notifier {
  readonly #options: NotifierOptions;
  readonly #queues: readonly { readonly channel: Channel; readonly queue: DeliveryQueue }[];
  readonly #changes = new ConditionChanges();
  readonly #fullPools = new FullPools();
  readonly #deniedDemand = new DeniedDemand();
  #lastConditions: readonly Condition[] = [];
  #timer: Timer | null = null;
  #isChecking = false;

  constructor(options: NotifierOptions) {
    this.#options = options;
    const { channels, monotonicMs, wallClock } = options;
    const createSummary = (count: number): NotificationEvent =>
      this.#createEvent("suppressed", describeSuppressed(count), wallClock(), count);
    this.#queues = channels.map((channel) => ({
      channel,
      queue: new DeliveryQueue({ channel, monotonicMs, wallClock, createSummary }),
    }));
  }

  /** The channels whose last event was not delivered. */
  failures(): DeliveryFailure[] {
    return this.#queues.flatMap(({ queue }) => (queue.failure === null ? [] : [queue.failure]));
  }

  /** Without a channel there is nothing to do. */
  start(): void {
    if (this.#queues.length === 0) return;
    void this.check();
    this.#timer = setInterval(() => void this.check(), INTERVAL);
  }

  /** Takes two seconds if a delivery hangs, and six if it cannot be cancelled. */
  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await Promise.all(this.#queues.map(({ queue }) => queue.stop()));
  }

  /** Queues an event for each change since the last check. */
  async check(): Promise<void> {
    if (this.#isChecking) return;
    this.#isChecking = true;
    try {
      const observation = await this.#options.observe();
      if (observation !== null) this.#sendChanges(observation);
    } catch (error) {
      log.error("the check for notifications failed", { error });
    } finally {
      this.#isChecking = false;
    }
  }

  /** Sends a sample to every channel and waits for the result. */
  test(): Promise<ChannelTest[]> {
    const event = this.#createEvent("test", TEST_CONDITION, this.#options.wallClock(), 0);
    return Promise.all(
      this.#queues.map(async ({ channel: { setting }, queue }) => ({
        setting,
        delivery: await queue.deliverNow(event),
      })),
    );
  }

  #sendChanges(observation: Observation): void {
    const { events, monotonicMs } = this.#options;
    const nowMs = monotonicMs();
    this.#lastConditions =
      observation.isPartial === true
        ? replaceByCode(this.#lastConditions, observation.findings)
        : this.#listConditions(observation, nowMs);
    const conditions = this.#lastConditions.filter((condition) => isChosen(events, condition));
    for (const { event, condition, suppressed } of this.#changes.update(conditions, nowMs)) {
      this.#send(this.#createEvent(event, condition, observation.at, suppressed));
    }
  }

  #listConditions(
    { findings, licenses, demandCounts }: Observation,
    nowMs: number,
  ): readonly Condition[] {
    const { poolFullMinutes } = this.#options;
    const fullPools = this.#fullPools.update(licenses, poolFullMinutes, nowMs);
    return [...findings, ...fullPools, ...this.#deniedDemand.update(demandCounts)];
  }

  /** A channel that fails gets no event about its own failure. */
  #send(event: NotificationEvent): void {
    for (const { channel, queue } of this.#queues) {
      const isAboutItself = event.code === NOTIFICATION_FAILED && event.subject === channel.setting;
      if (!isAboutItself) queue.add(event);
    }
  }

  #createEvent(
    event: EventKind,
    condition: Condition,
    at: Instant,
    suppressed: number,
  ): NotificationEvent {
    return { ...condition, event, at, siteName: this.#options.siteName(), suppressed };
  }
}

/** The conditions that are known now take the place of those with the same codes. */
function replaceByCode(
  conditions: readonly Condition[],
  current: readonly Condition[],
): readonly Condition[] {
  const codes = new Set(current.map(({ code }) => code));
  return [...conditions.filter(({ code }) => !codes.has(code)), ...current];
}

const describeSuppressed = (count: number): Condition => ({
  code: "events_suppressed",
  severity: "warning",
  summary:
    count === 1
      ? "1 event was not sent: there were too many"
      : `${count} events were not sent: there were too many`,
  remedy: "See the findings of now",
  command: "berth status",
  subject: null,
});

const TEST_CONDITION: Condition = {
  code: "test",
  severity: "note",
  summary: "This is a test of the notifications",
  remedy: "",
  command: null,
  subject: null,
};
