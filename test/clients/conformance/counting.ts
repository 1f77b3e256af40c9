// Scenarios: consumption is counted exactly once, whatever happens to requests and replies.
import { expect } from "bun:test";
import { SeededRandom } from "../../support/seeded-random.ts";
import { chooseSize, seed } from "../../support/suite-harness.ts";
import type { Fault } from "./faulty-proxy.ts";
import type { Scenario } from "./world.ts";

const CALLS = chooseSize(2_000, 50_000, 1_000);
/** Calls at the same time. */
const CONCURRENCY = 16;

const CUTS: readonly Fault[] = [
  { kind: "cut before" },
  { kind: "cut after" },
  { kind: "cut body" },
  { kind: "answer", reply: { status: 502, appliance: null, body: "<html>Bad Gateway</html>" } },
];

/** Faults for one of twelve requests. */
function chooseCuts(random: SeededRandom): () => Fault | null {
  return () => (random.intBelow(12) === 0 ? random.pick(CUTS) : null);
}

export const countingScenarios: readonly Scenario[] = [
  {
    title: `counts each of ${CALLS} calls exactly once while connections are cut`,
    async run(world) {
      const random = new SeededRandom(seed);
      const proxies = [await world.openProxy(), await world.openProxy()];
      for (const proxy of proxies) proxy.fail("add_consumption", chooseCuts(random));
      const client = await world.connect(
        proxies.map(({ url }) => url),
        { retry_for: 300 },
      );
      const counts = await client.driver.request("consume_many", {
        client: client.name,
        count: CALLS,
        concurrency: CONCURRENCY,
      });
      expect(counts).toEqual({ done: CALLS, failed: 0 });
      expect(await world.server.total()).toBe(CALLS);
      const received = proxies.flatMap((proxy) => proxy.requestsOf("add_consumption"));
      expect(received.length).toBeGreaterThan(CALLS * 1.02);
      const keys = new Set(received.map(({ headers }) => headers["idempotency-key"]));
      expect(keys.size).toBe(CALLS);
    },
  },
  {
    title: "counts any number, returns the total, and none for 0",
    async run(world) {
      const client = await world.connect(world.server.url);
      const { id } = await world.server.license();
      const first = await client.consume({ n: 7 });
      expect(first).toMatchObject({ total: 7, maximum: null, license_id: id });
      expect(first.key).toMatch(/^[0-9a-f]{32}$/);
      expect((await client.consume()).total).toBe(8);
      expect((await client.consume({ n: 0 })).total).toBe(8);
      expect((await client.consume({ n: -3 })).total).toBe(5);
      expect((await client.consume({ n: 1_000_000_000_000 })).total).toBe(1_000_000_000_005);
    },
  },
  {
    title: "counts a feature, with its maximum",
    async run(world) {
      const client = await world.connect(world.server.url);
      const counted = await client.consume({ n: 3, feature: "EXPORT" });
      expect(counted).toMatchObject({ total: 3, maximum: 50 });
      expect(await client.consumeError({ n: 48, feature: "EXPORT" })).toMatchObject({
        kind: "Refused",
        code: "feature_not_enough_consumptions",
      });
      expect((await world.server.feature("EXPORT")).total_consumptions).toBe(3);
      expect(await world.server.total()).toBe(0);
    },
  },
  {
    title: "counts up to the maximum, and beyond it only what is allowed",
    terms: { consumption: { max: 10, overages: 5, negative: false, period: null } },
    async run(world) {
      const client = await world.connect(world.server.url);
      expect((await client.consume({ n: 10 })).maximum).toBe(10);
      const refusal = { kind: "Refused", code: "license_not_enough_consumptions" };
      expect(await client.consumeError({ allow_overages: false })).toMatchObject(refusal);
      expect(await client.consumeError({ n: 3, max_overages: 2 })).toMatchObject(refusal);
      expect((await client.consume({ n: 3, max_overages: 3 })).total).toBe(13);
      expect(await client.consumeError({ n: 3 })).toMatchObject(refusal);
      expect(await client.consumeError({ n: -1 })).toMatchObject({ code: "negative_not_allowed" });
      expect(await world.server.total()).toBe(13);
    },
  },
  {
    title: "the same key counts once",
    async run(world) {
      const client = await world.connect(world.server.url);
      const first = await client.consume({ n: 2, key: "job-4711" });
      const second = await client.consume({ n: 2, key: "job-4711" });
      expect(first).toMatchObject({ total: 2, key: "job-4711" });
      expect(second).toEqual(first);
      expect(await world.server.total()).toBe(2);
    },
  },
  {
    title: "a key that was used for another number is refused",
    async run(world) {
      const client = await world.connect(world.server.url);
      await client.consume({ n: 2, key: "job-4711" });
      const error = await client.consumeError({ n: 3, key: "job-4711" });
      expect(error).toMatchObject({ kind: "Refused", code: "idempotency_key_reused", status: 409 });
    },
  },
  {
    title: "an error after a lost reply has the key, and a repeat with it counts once",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connectForOneRound(proxy.url);
      proxy.fail("add_consumption", { kind: "cut after" });
      const error = await client.consumeError({ n: 4 });
      expect(error).toMatchObject({ kind: "Unavailable", code: "unreachable" });
      expect(error.key).toBe(proxy.requests[0]?.headers["idempotency-key"] ?? "");
      expect(error.message).toMatch(/key/);
      expect(await world.server.total()).toBe(4);
      proxy.heal();
      const repeated = await client.consume({ n: 4, key: error.key ?? "" });
      expect(repeated).toMatchObject({ total: 4, key: error.key });
      expect(await world.server.total()).toBe(4);
    },
  },
  {
    title: "repeats a call with the same key",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      for (const kind of ["cut after", "cut body", "cut before"] as const) {
        proxy.fail("add_consumption", { kind }, 1);
      }
      const { key } = await client.consume();
      const keys = proxy.requests.map(({ headers }) => headers["idempotency-key"]);
      expect(keys).toEqual([key, key, key, key]);
      expect(await world.server.total()).toBe(1);
    },
  },
  {
    title: "uses a new key for each call",
    async run(world) {
      const client = await world.connect(world.server.url);
      const counted = await Promise.all(Array.from({ length: 20 }, () => client.consume()));
      expect(new Set(counted.map(({ key }) => key)).size).toBe(20);
      expect(await world.server.total()).toBe(20);
    },
  },
];
