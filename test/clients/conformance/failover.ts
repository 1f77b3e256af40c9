// Scenarios: several addresses of one appliance, the two hosts of a pair.
import { expect } from "bun:test";
import { waitUntil } from "../../support/wait-until.ts";
import type { Fault, FaultyProxy } from "./faulty-proxy.ts";
import { TestClient, type Scenario, type World } from "./world.ts";

/** An address where nothing listens. */
const DEAD = "http://127.0.0.1:1";
const OTHER_APPLIANCE = "0123456789ABCDEF";

const STANDBY = {
  status: 503,
  body: { status: 503, code: "standby", message: "the other host of the pair answers" },
};

async function openTwo(world: World): Promise<readonly [FaultyProxy, FaultyProxy]> {
  return [await world.openProxy(), await world.openProxy()];
}

/** A first host that does not answer; the second one must be used, and go on being used. */
const usesSecond = (title: string, fault: Fault): Scenario => ({
  title: `uses the second server if the first one ${title}, and stays there`,
  async run(world) {
    const [first, second] = await openTwo(world);
    first.fail("*", fault);
    // Time for the second server on a busy machine: it must not be given up, too.
    const client = await world.connect([first.url, second.url], { timeout: 5 });
    const slot = await client.acquire("ada");
    expect([first.count("register"), second.count("register")]).toEqual([1, 1]);
    first.heal();
    await client.consume();
    await slot.release();
    expect([first.requests.length, second.requests.length]).toEqual([1, 3]);
  },
});

export const failoverScenarios: readonly Scenario[] = [
  usesSecond("closes the connection", { kind: "cut before" }),
  usesSecond("is the standby", { kind: "answer", reply: STANDBY }),
  usesSecond("never answers", { kind: "hang" }),
  usesSecond("sends its reply too slowly", { kind: "drip", ms: 100 }),
  usesSecond("redirects", {
    kind: "answer",
    reply: { status: 302, headers: { location: "http://127.0.0.1:1/" } },
  }),
  {
    title: "takes several addresses as one text, with commas and spaces between them",
    async run(world) {
      const driver = world.startDriver();
      const { product } = world;
      for (const urls of [`${DEAD},${world.server.url}`, ` ${DEAD}/ , ${world.server.url} `]) {
        await driver.request("client", { client: "several", urls, product });
        const client = new TestClient(driver, "several");
        expect(await (await client.acquire("ada")).isHeld()).toBe(true);
      }
      for (const urls of [`${DEAD},`, ",", `${DEAD},,${DEAD}`, `${DEAD};${DEAD}`]) {
        const error = await driver.requestError("client", { client: "none", urls, product });
        expect([urls, error.kind]).toEqual([urls, "InvalidArgument"]);
      }
    },
  },
  {
    title: "uses the second server if nothing listens at the first address",
    async run(world) {
      const client = await world.connect([DEAD, world.server.url]);
      expect(await (await client.acquire("ada")).isHeld()).toBe(true);
    },
  },
  {
    title: "a heartbeat goes to the second server when the first one fails",
    async run(world) {
      const [first, second] = await openTwo(world);
      for (const proxy of [first, second]) proxy.shortenTimeout(6);
      const client = await world.connect([first.url, second.url]);
      const slot = await client.acquire("ada");
      first.goAway();
      await second.waitForCount("register", 2);
      expect(await slot.isHeld()).toBe(true);
      expect(await slot.release()).toBe(true);
      expect(second.count("unregister")).toBe(1);
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "repeats a call until a server takes over",
    async run(world) {
      const [first, second] = await openTwo(world);
      first.goAway();
      second.answer("*", STANDBY);
      const client = await world.connect([first.url, second.url]);
      const acquired = client.startAcquire("slot", "ada", {});
      await second.waitForCount("register", 2);
      second.heal();
      expect((await acquired).is_held).toBe(true);
    },
  },
  {
    title: "has the code of the standby if no server takes over",
    async run(world) {
      const [first, second] = await openTwo(world);
      for (const proxy of [first, second]) proxy.answer("*", STANDBY);
      const client = await world.connectForOneRound([first.url, second.url]);
      const error = await client.acquireError("ada");
      expect(error).toMatchObject({ kind: "Unavailable", code: "standby" });
      expect([first.count("register"), second.count("register")]).toEqual([1, 1]);
    },
  },
  {
    title: "refuses another appliance than the one that answered first",
    async run(world) {
      const [first, second] = await openTwo(world);
      second.claimAppliance(OTHER_APPLIANCE);
      const client = await world.connectForOneRound([first.url, second.url]);
      await client.consume();
      first.goAway();
      const error = await client.consumeError();
      expect(error).toMatchObject({ kind: "OtherAppliance", code: "other_appliance" });
      first.comeBack();
      expect((await client.consume()).total).toBeGreaterThanOrEqual(2);
    },
  },
  {
    title: "loses its slot rather than keep it at another appliance",
    async run(world) {
      const [first, second] = await openTwo(world);
      first.shortenTimeout(3);
      second.shortenTimeout(3);
      second.claimAppliance(OTHER_APPLIANCE);
      const client = await world.connect([first.url, second.url], { timeout: 1 });
      const slot = await client.acquire("ada");
      first.goAway();
      await client.driver.waitForLoss(slot.name);
      expect(await slot.isHeld()).toBe(false);
    },
  },
  {
    title: "refuses a reply that does not name its appliance",
    async run(world) {
      const [first, second] = await openTwo(world);
      first.claimAppliance(null);
      const one = await world.connectForOneRound(first.url);
      expect(await one.acquireError("ada")).toMatchObject({ kind: "Unavailable" });
      const two = await world.connect([first.url, second.url]);
      expect(await (await two.acquire("ada")).isHeld()).toBe(true);
    },
  },
  {
    title: "uses a second appliance in a second client",
    async run(world) {
      const [first, second] = await openTwo(world);
      second.claimAppliance(OTHER_APPLIANCE);
      const one = await world.connect(first.url);
      const two = await world.connect(second.url, {}, one.driver);
      await one.acquire("ada");
      await two.acquire("bob");
      expect(await world.server.slotsInUse()).toBe(2);
    },
  },
  {
    title: "waits as long as Retry-After says before it repeats a call",
    async run(world) {
      const proxy = await world.openProxy();
      const reply = { code: "too_many_requests", message: "too many requests", status: 429 };
      proxy.answer("register", { status: 429, headers: { "retry-after": "2" }, body: reply }, 1);
      const client = await world.connect(proxy.url);
      await client.acquire("ada");
      const [first, second] = proxy.requestsOf("register");
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(1_800);
    },
  },
  {
    title: "gives up when the time for repeats is over",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.fail("*", { kind: "cut before" });
      const client = await world.connect(proxy.url, { retry_for: 2 });
      const started = performance.now();
      const error = await client.acquireError("ada");
      expect(error).toMatchObject({ kind: "Unavailable", code: "unreachable" });
      expect(error.message).toContain(proxy.url);
      expect(performance.now() - started).toBeGreaterThan(500);
      const { length } = proxy.requests;
      expect(length).toBeGreaterThan(1);
      // Pauses of 0.25, 0.5 and 1 s: more requests would mean that it does not pause.
      expect(length).toBeLessThan(8);
      await waitUntil(() => proxy.requests.length === length);
    },
  },
];
