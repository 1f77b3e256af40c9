// Scenarios: how a client, its slots and its process end.
import { expect } from "bun:test";
import { waitUntil } from "../../support/wait-until.ts";
import { TIMEOUT_MINUTES } from "./site.ts";
import type { Scenario } from "./world.ts";

const CLOSED = { kind: "InvalidArgument", code: "client_closed" };

export const endingScenarios: readonly Scenario[] = [
  {
    title: "the end of the program releases its slots",
    async run(world) {
      const client = await world.connect(world.server.url);
      await (await client.acquire("ada")).acquireFeature("RENDER");
      await client.acquire("bob");
      expect(await world.server.slotsInUse()).toBe(2);
      expect(await client.driver.end()).toEqual({ code: 0, stderr: "" });
      expect(await world.server.slotsInUse()).toBe(0);
    },
  },
  {
    title: "the end of the program keeps its borrows",
    async run(world) {
      const client = await world.connect(world.server.url, { nonce: "device-0123456789" });
      await client.acquire("ada");
      await client.borrow("ada");
      expect(await client.driver.end()).toEqual({ code: 0, stderr: "" });
      expect(await world.server.slotsInUse()).toBe(1);
    },
  },
  {
    title: "the program ends although the server never answers",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      for (const user of ["ada", "bob", "eve"]) await client.acquire(user);
      proxy.fail("*", { kind: "hang" });
      const started = performance.now();
      expect((await client.driver.end()).code).toBe(0);
      // The clients allow 3 s for all slots together; a busy machine takes longer.
      expect(performance.now() - started).toBeLessThan(30_000);
    },
  },
  {
    title: "a killed program sends nothing more, and its slot ends by the time-out",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(3);
      const client = await world.connect(proxy.url);
      await client.acquire("ada");
      await proxy.waitForCount("register", 2);
      expect((await client.driver.kill()).code).toBeNull();
      await waitUntil(() => proxy.requests.every(({ answeredAt }) => answeredAt !== null));
      const sent = proxy.requests.length;
      await Bun.sleep(2_000);
      expect(proxy.requests).toHaveLength(sent);
      const registration = await world.server.registration("ada");
      const left = Date.parse(registration?.expires_at ?? "") - Date.now();
      expect(left).toBeLessThanOrEqual(TIMEOUT_MINUTES * 60_000);
      expect(registration?.borrowed_until).toBeNull();
    },
  },
  {
    title: "close releases the slots but not the borrows, and can be repeated",
    async run(world) {
      const client = await world.connect(world.server.url, { nonce: "device-0123456789" });
      const slot = await client.acquire("ada");
      const feature = await slot.acquireFeature("RENDER");
      await client.borrow("bob");
      await client.close();
      await client.close();
      expect(await world.server.registration("ada")).toBeNull();
      expect((await world.server.registration("bob"))?.borrowed_until).toBeString();
      expect([await slot.isHeld(), await feature.isHeld()]).toEqual([false, false]);
      await slot.release();
      await feature.release();
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "a closed client refuses every call",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url, { nonce: "device-0123456789" });
      const slot = await client.acquire("ada");
      await client.close();
      const before = proxy.requests.length;
      expect(await client.acquireError("ada")).toMatchObject(CLOSED);
      expect(await client.borrowError("ada")).toMatchObject(CLOSED);
      expect(await client.consumeError()).toMatchObject(CLOSED);
      expect(await slot.acquireFeatureError("RENDER")).toMatchObject(CLOSED);
      const fields = { client: client.name, user: "ada" };
      expect(await client.driver.requestError("release_user", fields)).toMatchObject(CLOSED);
      expect(proxy.requests).toHaveLength(before);
    },
  },
  {
    title: "sends no heartbeats after close",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(3);
      const client = await world.connect(proxy.url);
      await client.acquire("ada");
      await proxy.waitForCount("register", 2);
      await client.close();
      const before = proxy.requests.length;
      await Bun.sleep(2_500);
      expect(proxy.requests).toHaveLength(before);
    },
  },
  {
    title: "close during calls waits for them or ends them, and leaves no slot taken",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.fail("*", { kind: "delay", ms: 300 });
      const client = await world.connect(proxy.url);
      const users = ["ada", "bob", "eve"];
      const calls = users.map((user) => client.startAcquire(`slot-of-${user}`, user, {}));
      await proxy.waitForCount("register", users.length);
      await client.close();
      await Promise.allSettled(calls);
      await waitUntil(async () => (await world.server.slotsInUse()) === 0);
    },
  },
  {
    title: "a slot that the program forgets is released",
    clients: ["python", "node", "bun"],
    async run(world) {
      const client = await world.connect(world.server.url);
      const slot = await client.acquire("ada");
      const kept = await client.acquire("bob");
      await client.driver.request("drop", { slot: slot.name });
      await waitUntil(async () => (await world.server.slotsInUse()) === 1);
      expect(await kept.isHeld()).toBe(true);
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "a forked process neither holds nor releases the slot of its parent",
    clients: ["python", "c"],
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(6);
      const client = await world.connect(proxy.url);
      const slot = await client.acquire("ada");
      const seen = await client.driver.request("fork", { client: client.name, slot: slot.name });
      expect([seen.is_held, seen.acquire_code]).toEqual([false, "forked"]);
      expect([await slot.isHeld(), await world.server.slotsInUse()]).toEqual([true, 1]);
      const before = proxy.count("register");
      await proxy.waitForCount("register", before + 1);
      expect(await slot.isHeld()).toBe(true);
      expect(proxy.count("unregister")).toBe(0);
      expect(await slot.release()).toBe(true);
    },
  },
  {
    title: "the program ends soon although a heartbeat is never answered",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(45);
      const client = await world.connect(proxy.url, { timeout: 60 });
      await client.acquire("ada");
      proxy.fail("*", { kind: "hang" });
      await proxy.waitForCount("register", 2);
      const started = performance.now();
      expect((await client.driver.end()).code).toBe(0);
      // The heartbeat could take 30 s; the clients allow 3 s at their end.
      expect(performance.now() - started).toBeLessThan(20_000);
    },
  },
];
