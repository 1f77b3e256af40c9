// What the queue, the session lengths and the metrics of a host do with lines of the other host.
import { describe, expect, test } from "bun:test";
import { combineObservers } from "../../../src/operations/combine-observers.ts";
import { QueueDispatcher } from "../../../src/operations/queue/queue-dispatcher.ts";
import { SessionLengths } from "../../../src/operations/queue/session-lengths.ts";
import { HOUR, later } from "../../../src/domain/time.ts";
import { transactOrThrow, unwrap } from "../../support/licensed-store.ts";
import { leadPair, openPair, type PairOfSites } from "../../support/pair-of-sites.ts";
import { takePlace } from "../../support/queue-commands.ts";
import { MONDAY, register, unregister } from "../../support/scenario.ts";

interface ObservedPair extends PairOfSites {
  readonly dispatcher: QueueDispatcher;
  readonly sessionLengths: SessionLengths;
  readonly contact: { now: number };
  /** The types of the events that beta counted as its own. */
  readonly counted: string[];
}

/** A pair in which alpha leads; the observers are beta's. */
async function openObservedPair(): Promise<ObservedPair> {
  const dispatcher = new QueueDispatcher();
  const sessionLengths = new SessionLengths();
  const contact = { now: 0 };
  const counted: string[] = [];
  const counter = {
    applied: () => {},
    durable: (events: readonly { readonly type: string }[]) => {
      counted.push(...events.map(({ type }) => type));
    },
  };
  const observer = combineObservers(dispatcher, sessionLengths, counter);
  const pair = await openPair({ beta: { observer } });
  const { store, clock } = pair.beta;
  dispatcher.attach({ store, now: () => clock.now, contactClock: () => contact.now });
  unwrap(await leadPair(pair.log, pair.alpha, "alpha"));
  return { ...pair, dispatcher, sessionLengths, contact, counted };
}

describe("lines of the other host", () => {
  test("end no place for want of contact when this host begins to lead much later", async () => {
    const { log, alpha, beta, contact } = await openObservedPair();
    await transactOrThrow(alpha.store, takePlace("zoe"));
    await beta.store.follow();
    contact.now += HOUR;
    unwrap(await leadPair(log, beta, "beta"));
    await transactOrThrow(beta.store, register("ada"));
    const queue = beta.store.peek(({ queues }) => queues.get("cad"));
    expect(queue?.get("zoe")).toBeDefined();
  });

  test("count as contact with all users that wait, as this host cannot know better", async () => {
    const { log, alpha, beta, contact } = await openObservedPair();
    unwrap(await leadPair(log, beta, "beta"));
    await transactOrThrow(beta.store, takePlace("zoe"));
    unwrap(await leadPair(log, alpha, "alpha"));
    contact.now += HOUR;
    unwrap(await leadPair(log, beta, "beta"));
    await transactOrThrow(beta.store, register("ada"));
    const queue = beta.store.peek(({ queues }) => queues.get("cad"));
    expect(queue?.get("zoe")).toBeDefined();
  });

  test("are not counted as changes of this host", async () => {
    const { log, alpha, beta, counted } = await openObservedPair();
    await transactOrThrow(alpha.store, register("ada"));
    await beta.store.follow();
    expect(counted).toEqual([]);
    unwrap(await leadPair(log, beta, "beta"));
    await transactOrThrow(beta.store, register("bob"));
    expect(counted).toEqual(["LeaderChanged", "SlotTaken"]);
  });

  test("count for the lengths of sessions", async () => {
    const { alpha, beta, sessionLengths } = await openObservedPair();
    await transactOrThrow(alpha.store, register("ada"));
    alpha.clock.now = later(MONDAY, 60_000);
    await transactOrThrow(alpha.store, unregister("ada"));
    await beta.store.follow();
    expect(sessionLengths.read("cad", later(MONDAY, HOUR)).lengths).toEqual([60_000]);
  });
});
