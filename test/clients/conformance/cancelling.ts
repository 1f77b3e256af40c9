// Scenarios: an acquire that its application cancels, in the languages that have a way to do so.
import { expect } from "bun:test";
import { waitUntil } from "../../support/wait-until.ts";
import { SLOTS } from "./site.ts";
import type { Scenario, TestClient } from "./world.ts";

const clients = ["node", "bun"] as const;
const acquireFields = (client: TestClient) => ({
  client: client.name,
  slot: "cancelled",
  user: "ada",
  is_cancellable: true as const,
});
/** The code of the reason that the driver gives. */
const cancelled = { code: "cancelled" };

export const cancellingScenarios: readonly Scenario[] = [
  {
    title: "an acquire cancelled in the queue fails with the reason, and leaves the queue",
    clients,
    async run(world) {
      const [other = ""] = await world.server.takeSlots(SLOTS);
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const fields = { ...acquireFields(client), wait: 600 };
      const failed = client.driver.requestError("acquire", fields);
      await client.driver.waitForWait("cancelled");
      await waitUntil(async () => (await world.server.waiting()) === 1);
      await client.driver.request("cancel", { slot: "cancelled" });
      expect(await failed).toMatchObject(cancelled);
      await waitUntil(async () => (await world.server.waiting()) === 0);
      // The server would also drop a place that is not used for a while.
      expect(proxy.count("unregister")).toBe(1);
      await world.server.releaseUser(other);
      expect(await world.server.registration("ada")).toBeNull();
    },
  },
  {
    title: "an acquire cancelled while the server decides leaves no slot taken",
    clients,
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(3);
      proxy.fail("register", { kind: "delay", ms: 1_000 }, 1);
      const client = await world.connect(proxy.url);
      const failed = client.driver.requestError("acquire", acquireFields(client));
      await proxy.waitForCount("register", 1);
      await client.driver.request("cancel", { slot: "cancelled" });
      expect(await failed).toMatchObject(cancelled);
      // Before the reply, the server has granted the slot.
      await waitUntil(() => (proxy.requestsOf("register")[0]?.answeredAt ?? null) !== null);
      await waitUntil(async () => (await world.server.registration("ada")) === null);
      // Released at once: a slot without an owner would be renewed until it is collected.
      expect(proxy.requests.map(({ operation }) => operation)).toEqual(["register", "unregister"]);
      expect(client.driver.events).toEqual([]);
      // The cancelled call does not disturb the next one.
      expect(await (await client.acquire("ada")).isHeld()).toBe(true);
    },
  },
  {
    title: "an acquire that is cancelled before it begins sends no request",
    clients,
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      await client.driver.request("cancel", { slot: "cancelled" });
      const failed = client.driver.requestError("acquire", acquireFields(client));
      expect(await failed).toMatchObject(cancelled);
      expect(proxy.requests).toEqual([]);
    },
  },
];
