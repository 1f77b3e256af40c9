// Scenarios: waiting for a slot in the server's queue.
import { expect } from "bun:test";
import { waitUntil } from "../../support/wait-until.ts";
import { SLOTS } from "./site.ts";
import type { Scenario } from "./world.ts";

/** Seconds that no test waits through. */
const LONG = 600;

export const waitingScenarios: readonly Scenario[] = [
  {
    title: "waits until a slot is released",
    async run(world) {
      const [other = ""] = await world.server.takeSlots(SLOTS);
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const acquired = client.startAcquire("waiting", "ada", { wait: LONG });
      const { position, length } = await client.driver.waitForWait("waiting");
      expect([position, length]).toEqual([1, 1]);
      await waitUntil(async () => (await world.server.waiting()) === 1);
      await world.server.releaseUser(other);
      expect(await acquired).toMatchObject({ user: "ada", is_held: true });
      expect(await world.server.waiting()).toBe(0);
    },
  },
  {
    title: "shows its place at once: only later requests wait, for at most 30 seconds",
    async run(world) {
      const [other = ""] = await world.server.takeSlots(SLOTS);
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const acquired = client.startAcquire("waiting", "ada", { wait: LONG });
      await proxy.waitForCount("register", 2);
      const [first, second] = proxy.requestsOf("register");
      expect(first?.headers["prefer"]).toBe("wait=0");
      expect(second?.headers["prefer"]).toBe("wait=30");
      // Retry-After, 15 s, would be too late: until then, nothing waits for the slot.
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeLessThan(10_000);
      await world.server.releaseUser(other);
      await acquired;
    },
  },
  {
    title: "asks for no place if it does not wait",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      await client.acquire("ada");
      expect(proxy.requests[0]?.headers["prefer"]).toBeUndefined();
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "leaves the queue when the wait is over",
    async run(world) {
      await world.server.takeSlots(SLOTS);
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const error = await client.acquireError("ada", { wait: 2 });
      expect(error).toMatchObject({ kind: "NoFreeSlot", code: "floating_not_available" });
      expect(error.position).toBe(1);
      expect(proxy.count("unregister")).toBe(1);
      expect(await world.server.waiting()).toBe(0);
    },
  },
  {
    title: "leaves the queue when the client is closed during the wait",
    async run(world) {
      await world.server.takeSlots(SLOTS);
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const acquired = client.driver.requestError("acquire", {
        client: client.name,
        slot: "waiting",
        user: "ada",
        wait: LONG,
      });
      await client.driver.waitForWait("waiting");
      await waitUntil(async () => (await world.server.waiting()) === 1);
      await client.close();
      expect(await acquired).toMatchObject({ kind: "InvalidArgument", code: "client_closed" });
      // Without a request, the place would end after 30 s.
      expect(proxy.count("unregister")).toBe(1);
      expect(await world.server.waiting()).toBe(0);
    },
  },
  {
    title: "keeps its place while replies are lost",
    async run(world) {
      const [other = ""] = await world.server.takeSlots(SLOTS);
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const acquired = client.startAcquire("waiting", "ada", { wait: LONG });
      await client.driver.waitForWait("waiting");
      await proxy.waitForCount("register", 2);
      proxy.fail("register", { kind: "cut before" }, 2);
      // Cuts the connection of the request that waits.
      proxy.goAway();
      proxy.comeBack();
      await proxy.waitForCount("register", 5);
      await world.server.releaseUser(other);
      expect((await acquired).is_held).toBe(true);
    },
  },
  {
    title: "two users of one client wait in the order of their arrival",
    async run(world) {
      const [first = "", second = ""] = await world.server.takeSlots(SLOTS);
      const client = await world.connect(world.server.url);
      const ada = client.startAcquire("ada", "ada", { wait: LONG });
      await client.driver.waitForWait("ada");
      const bob = client.startAcquire("bob", "bob", { wait: LONG });
      expect((await client.driver.waitForWait("bob")).position).toBe(2);
      await world.server.releaseUser(first);
      expect((await ada).user).toBe("ada");
      await world.server.releaseUser(second);
      expect((await bob).user).toBe("bob");
    },
  },
  {
    title: "another refusal ends the wait at once",
    async run(world) {
      const client = await world.connect(world.server.url);
      const error = await client.acquireError("ada", { wait: LONG, license_id: 4_711_000 });
      expect(error).toMatchObject({ kind: "Refused", code: "license_not_found" });
    },
  },
  {
    title: "releases a lost slot at once while its user waits for another",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(3);
      const client = await world.connect(proxy.url);
      const slot = await client.acquire("ada");
      await world.server.takeSlots(SLOTS - 1);
      await world.server.giveSlot("ada", "bob");
      await client.driver.waitForLoss(slot.name);
      const fields = { client: client.name, slot: "waiting", user: "ada", wait: LONG };
      const ended = client.driver.requestError("acquire", fields);
      await client.driver.waitForWait("waiting");
      await slot.release();
      await client.close();
      expect((await ended).code).toBe("client_closed");
    },
  },
];
