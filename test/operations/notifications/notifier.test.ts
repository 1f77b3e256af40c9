// Which events are sent, in which order, and how many. Clock and channels are those of the test.
import { describe, expect, test } from "bun:test";
import { HOUR, instant, MINUTE, SECOND } from "../../../src/domain/time.ts";
import { createFinding, type Finding } from "../../../src/operations/health/finding.ts";
import type { Channel, Delivery } from "../../../src/operations/notifications/channels.ts";
import { toSyslogMessage } from "../../../src/operations/notifications/channels.ts";
import {
  toDocument,
  type NotificationEvent,
} from "../../../src/operations/notifications/condition.ts";
import { isChosen } from "../../../src/operations/notifications/event-choice.ts";
import { DeliveryQueue } from "../../../src/operations/notifications/delivery-queue.ts";
import { Notifier, type Observation } from "../../../src/operations/notifications/notifier.ts";
import { waitUntil } from "../../support/wait-until.ts";

const DELIVERED: Delivery = { exitCode: 0, failure: null, output: "", durationMs: 1 };

const finding = (
  code: Finding["code"],
  severity: Finding["severity"],
  subject: string | null = null,
): Finding => createFinding(code, severity, { summary: `about ${code}`, remedy: "Act", subject });

/** A channel that keeps what it gets; `hold` lets deliveries wait. */
class TestChannel implements Channel {
  readonly setting: Channel["setting"];
  readonly perMinute: number;
  readonly events: NotificationEvent[] = [];
  failure: string | null = null;
  #held: PromiseWithResolvers<void> | null = null;
  isRunning = false;

  constructor(setting: Channel["setting"] = "on_event", perMinute = 1_000) {
    this.setting = setting;
    this.perMinute = perMinute;
  }

  hold(): void {
    this.#held = Promise.withResolvers();
  }

  release(): void {
    this.#held?.resolve();
    this.#held = null;
  }

  readonly deliver = async (event: NotificationEvent, signal: AbortSignal): Promise<Delivery> => {
    if (this.isRunning) throw new Error("two deliveries at once");
    this.isRunning = true;
    this.events.push(event);
    signal.addEventListener("abort", () => this.release());
    await this.#held?.promise;
    this.isRunning = false;
    return { ...DELIVERED, failure: this.failure };
  };

  get codes(): string[] {
    return this.events.map(({ event, code }) => `${event} ${code}`);
  }
}

/** A site whose findings the test sets. */
class Site {
  findings: readonly Finding[] = [];
  nowMs = 0;
  readonly notifier: Notifier;

  constructor(channels: readonly Channel[], events: readonly string[] = ["default"]) {
    this.notifier = new Notifier({
      channels,
      events,
      poolFullMinutes: 15,
      siteName: () => "Plant 4",
      observe: async (): Promise<Observation> => ({
        at: instant(this.nowMs),
        findings: this.findings,
        licenses: [],
        demandCounts: [],
      }),
      monotonicMs: () => this.nowMs,
      wallClock: () => instant(this.nowMs),
    });
  }
}

describe("notifications", () => {
  test("tell every channel what begins and what ends", async () => {
    const channels = [new TestChannel(), new TestChannel("event_syslog")];
    const site = new Site(channels);
    site.findings = [finding("disk_low", "warning"), finding("backup_none", "note")];
    await site.notifier.check();
    site.findings = [];
    site.nowMs = 10 * SECOND;
    await site.notifier.check();
    for (const channel of channels) {
      await waitUntil(() => channel.events.length === 2);
      expect(channel.codes).toEqual(["raised disk_low", "cleared disk_low"]);
      expect(channel.events[0]).toMatchObject({ siteName: "Plant 4", at: 0, suppressed: 0 });
    }
  });

  test("show a failure until an event is delivered, and do not tell the channel that fails", async () => {
    const [program, syslog] = [new TestChannel(), new TestChannel("event_syslog")];
    const site = new Site([program, syslog]);
    program.failure = "it exited with code 3";
    site.findings = [finding("disk_low", "warning")];
    await site.notifier.check();
    await waitUntil(() => site.notifier.failures().length === 1);
    expect(site.notifier.failures()).toEqual([
      { setting: "on_event", at: instant(0), reason: "it exited with code 3" },
    ]);
    site.findings = [...site.findings, finding("notification_failed", "warning", "on_event")];
    await site.notifier.check();
    await waitUntil(() => syslog.events.length === 2);
    expect(syslog.codes).toEqual(["raised disk_low", "raised notification_failed"]);
    program.failure = null;
    expect(await site.notifier.test()).toEqual([
      { setting: "on_event", delivery: DELIVERED },
      { setting: "event_syslog", delivery: DELIVERED },
    ]);
    expect(program.codes).toEqual(["raised disk_low", "test test"]);
    expect(site.notifier.failures()).toEqual([]);
  });

  test("wait while a delivery hangs, and a test goes before the events that wait", async () => {
    const channel = new TestChannel();
    const site = new Site([channel]);
    channel.hold();
    site.findings = [finding("disk_low", "warning"), finding("clock_ahead", "warning")];
    await site.notifier.check();
    await waitUntil(() => channel.isRunning);
    const tested = site.notifier.test();
    channel.release();
    await tested;
    await waitUntil(() => channel.events.length === 3);
    expect(channel.codes).toEqual(["raised disk_low", "test test", "raised clock_ahead"]);
  });

  test("stop although a delivery hangs, and drop what waits", async () => {
    const channel = new TestChannel();
    const site = new Site([channel]);
    channel.hold();
    site.findings = [finding("disk_low", "warning"), finding("clock_ahead", "warning")];
    await site.notifier.check();
    await waitUntil(() => channel.isRunning);
    const tested = site.notifier.test();
    await site.notifier.stop();
    expect(channel.codes).toEqual(["raised disk_low"]);
    expect(await tested).toEqual([{ setting: "on_event", delivery: null }]);
    // The stop killed it: that is no failure.
    expect(site.notifier.failures()).toEqual([]);
  });

  test("of what cannot be known now are not sent", async () => {
    const channel = new TestChannel();
    const notifier = new Notifier({
      channels: [channel],
      events: ["default"],
      poolFullMinutes: 15,
      siteName: () => "",
      observe: async () => null,
      monotonicMs: () => 0,
      wallClock: () => instant(0),
    });
    await notifier.check();
    await notifier.stop();
    expect(channel.events).toEqual([]);
  });
});

describe("a queue of events", () => {
  const event = (summary: string): NotificationEvent => ({
    ...finding("disk_low", "warning"),
    summary,
    event: "raised",
    at: instant(0),
    siteName: "Plant 4",
    suppressed: 0,
  });

  const createQueue = (channel: Channel, clock: { nowMs: number }) =>
    new DeliveryQueue({
      channel,
      monotonicMs: () => clock.nowMs,
      wallClock: () => instant(0),
      createSummary: (count) => event(`${count} left out`),
      limitCheckMs: 1,
      stopGraceMs: 1,
    });

  test("sends so many in a minute as the channel allows, and the others later", async () => {
    const [channel, clock] = [new TestChannel("on_event", 10), { nowMs: 0 }];
    const queue = createQueue(channel, clock);
    for (let number = 1; number <= 25; number += 1) queue.add(event(String(number)));
    for (const [minute, sent] of [10, 20, 25].entries()) {
      clock.nowMs = minute * MINUTE;
      await waitUntil(() => channel.events.length === sent);
      // One millisecond before the end of the minute.
      clock.nowMs += MINUTE - 1;
      await Bun.sleep(20);
      expect(channel.events.length).toBe(sent);
    }
    expect(channel.events.map(({ summary }) => Number(summary))).toEqual(
      Array.from({ length: 25 }, (_, index) => index + 1),
    );
  });

  test("keeps 50 events at most, and says at the end how many it left out", async () => {
    const [channel, clock] = [new TestChannel("on_event", 1_000), { nowMs: 0 }];
    const queue = createQueue(channel, clock);
    channel.hold();
    queue.add(event("first"));
    await waitUntil(() => channel.isRunning);
    for (let number = 1; number <= 57; number += 1) queue.add(event(String(number)));
    expect(await queue.deliverNow(event("test"))).toBeNull();
    channel.release();
    await waitUntil(() => channel.events.length === 52);
    expect(channel.events.map(({ summary }) => summary).slice(-2)).toEqual(["50", "7 left out"]);
  });

  test("delivers an event that comes just when the last one was delivered", async () => {
    const channel = new TestChannel();
    const queue = createQueue(channel, { nowMs: 0 });
    // The queue goes idle some turns after a delivery: an event comes at each of them.
    for (let turns = 0; turns < 12; turns += 1) {
      expect(await queue.deliverNow(event(`before ${turns}`))).not.toBeNull();
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      queue.add(event(`after ${turns}`));
      await waitUntil(() => channel.events.at(-1)?.summary === `after ${turns}`);
    }
  });

  test("stops although a delivery ignores that it is cancelled", async () => {
    const { promise: never } = Promise.withResolvers<Delivery>();
    const started = Promise.withResolvers<AbortSignal>();
    const deliver: Channel["deliver"] = (_, signal) => {
      started.resolve(signal);
      return never;
    };
    const channel: Channel = { setting: "event_syslog", perMinute: 1, deliver };
    const queue = createQueue(channel, { nowMs: 0 });
    queue.add(event("1"));
    const signal = await started.promise;
    await queue.stop();
    expect(signal.aborted).toBe(true);
  });

  test("ends its wait for the next minute when it stops", async () => {
    const [channel, clock] = [new TestChannel("on_event", 1), { nowMs: 0 }];
    const queue = createQueue(channel, clock);
    queue.add(event("1"));
    queue.add(event("2"));
    await waitUntil(() => channel.events.length === 1);
    await queue.stop();
    clock.nowMs = HOUR;
    queue.add(event("3"));
    await Bun.sleep(20);
    expect(channel.events.length).toBe(1);
  });
});

describe("the setting events", () => {
  const CASES = [
    ["default", finding("disk_low", "warning"), true],
    ["default", finding("disk_full", "error"), true],
    ["default", finding("slots_full", "note"), false],
    ["default", { ...finding("slots_full", "note"), code: "pool_full" }, true],
    ["default", finding("pair_leader_changed", "note"), true],
    ["note", finding("slots_full", "note"), true],
    ["note", { ...finding("slots_full", "note"), code: "pool_full" }, false],
    ["slots_full", finding("slots_full", "note"), true],
    ["error", finding("disk_low", "warning"), false],
  ] as const;

  test.each(CASES)("%s, case %#", (name, condition, isReported) => {
    expect(isChosen([name], condition)).toBe(isReported);
  });
});

describe("the texts of an event", () => {
  const event: NotificationEvent = {
    ...finding("license_expiring", "warning", "CAD"),
    summary: "a\nBcc: eve@example.net\r\n\u202Eb\0",
    event: "raised",
    at: instant(0),
    siteName: "Plant 4",
    suppressed: 2,
  };

  test("are one line each, and not long", () => {
    expect(toDocument(event).summary).toBe("a Bcc: eve@example.net   b ");
    expect(toDocument({ ...event, summary: "x".repeat(5_000) }).summary).toHaveLength(1_000);
  });

  test("are one line of syslog, with the severity of the event", () => {
    expect(toSyslogMessage({ ...event, summary: "CAD expires in 9 days" })).toMatchObject({
      severity: "warning",
      messageId: "license_expiring",
      text: "license_expiring raised CAD: CAD expires in 9 days (2 more times before). Act",
    });
    expect(
      toSyslogMessage({ ...event, event: "cleared", suppressed: 0, summary: "x" }),
    ).toMatchObject({ severity: "info", text: "license_expiring cleared CAD: x" });
  });
});
