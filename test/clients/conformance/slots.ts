// Scenarios: taking and releasing slots.
import { expect } from "bun:test";
import { SLOTS } from "./site.ts";
import type { Scenario } from "./world.ts";

export const slotScenarios: readonly Scenario[] = [
  {
    title: "takes a slot and releases it",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      expect(proxy.requests).toEqual([]);
      const slot = await client.acquire("ada", { user_info: "CAD 12.1" });
      const { id } = await world.server.license();
      expect(slot.acquired).toMatchObject({
        user: "ada",
        license_id: id,
        is_held: true,
        is_borrowed: false,
      });
      expect(proxy.requests[0]?.fields).toMatchObject({
        product: world.product,
        user: "ada",
        user_info: "CAD 12.1",
      });
      expect(proxy.requests[0]?.fields["os_hostname"]).toBeString();
      expect(await world.server.slotsInUse()).toBe(1);
      expect(await slot.release()).toBe(true);
      expect(await world.server.slotsInUse()).toBe(0);
      expect(proxy.requests.map(({ operation }) => operation)).toEqual(["register", "unregister"]);
    },
  },
  {
    title: "is refused with NoFreeSlot when all slots are taken",
    async run(world) {
      await world.server.takeSlots(SLOTS);
      const client = await world.connect(world.server.url);
      expect(await client.acquireError("ada")).toMatchObject({
        kind: "NoFreeSlot",
        code: "floating_not_available",
        status: 400,
      });
      expect(await world.server.waiting()).toBe(0);
    },
  },
  {
    title: "the same user twice has one slot, and the last release frees it",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const [first, second] = await Promise.all([client.acquire("ada"), client.acquire("ada")]);
      expect(await world.server.slotsInUse()).toBe(1);
      await first.release();
      await first.release();
      expect([await second.isHeld(), await world.server.slotsInUse()]).toEqual([true, 1]);
      expect(proxy.count("unregister")).toBe(0);
      expect(await second.release()).toBe(true);
      expect([await world.server.slotsInUse(), proxy.count("unregister")]).toEqual([0, 1]);
    },
  },
  {
    title: "gives the application the license",
    async run(world) {
      const client = await world.connect(world.server.url);
      const slot = await client.acquire("ada");
      const { license } = await client.driver.request("license", { slot: slot.name });
      expect(license).toMatchObject({
        id: slot.acquired?.license_id,
        floating_users: SLOTS,
        product_details: { short_code: world.product },
      });
    },
  },
  {
    title: "takes the slot of the license that is named, and no other",
    async run(world) {
      const client = await world.connect(world.server.url);
      const { id } = await world.server.license();
      expect((await client.acquire("ada", { license_id: id })).acquired?.license_id).toBe(id);
      expect(await client.acquireError("bob", { license_id: id + 100_000 })).toMatchObject({
        kind: "Refused",
        code: "license_not_found",
      });
    },
  },
  {
    title: "sends names of any script unchanged",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const user = 'Zoë "Ω" \\ 李雷 \u{1f600}';
      const info = "two\nlines\tand a tab";
      const slot = await client.acquire(user, { user_info: info });
      expect(slot.acquired?.user).toBe(user);
      expect(proxy.requests[0]?.fields).toMatchObject({ user, user_info: info });
      expect(await slot.release()).toBe(true);
      expect(await world.server.slotsInUse()).toBe(0);
    },
  },
  {
    title: "a release of the user by name ends its slots without a loss",
    async run(world) {
      const client = await world.connect(world.server.url);
      const slot = await client.acquire("ada");
      await client.releaseUser("ada");
      expect([await slot.isHeld(), await world.server.slotsInUse()]).toEqual([false, 0]);
      // A user without a slot is released already.
      await client.releaseUser("ada");
      await slot.release();
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "two clients of one user share the slot at the server",
    async run(world) {
      const one = await world.connect(world.server.url);
      const two = await world.connect(world.server.url, {}, one.driver);
      await one.acquire("ada");
      await two.acquire("ada");
      expect(await world.server.slotsInUse()).toBe(1);
    },
  },
  {
    title: "a release that the server never confirms returns in bounded time, and raises nothing",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url, { timeout: 1 });
      const slot = await client.acquire("ada");
      proxy.fail("*", { kind: "cut before" });
      expect(await slot.release()).toBe(false);
      expect(await slot.isHeld()).toBe(false);
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "a release whose reply was lost is repeated, and that the slot is gone means success",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      const slot = await client.acquire("ada");
      proxy.fail("unregister", { kind: "cut after" }, 1);
      expect(await slot.release()).toBe(true);
      expect([await world.server.slotsInUse(), proxy.count("unregister")]).toEqual([0, 2]);
    },
  },
  {
    title: "no release of one thread overtakes the next request of another",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.fail("unregister", { kind: "delay", ms: 500 }, 1);
      const client = await world.connect(proxy.url);
      const first = await client.acquire("ada");
      const released = first.release();
      await proxy.waitForCount("unregister", 1);
      const second = await client.acquire("ada");
      expect(await released).toBe(true);
      expect(await second.isHeld()).toBe(true);
      expect(await world.server.registration("ada")).not.toBeNull();
    },
  },
  {
    title: "many threads that take and release one user's slot leave none taken",
    async run(world) {
      const client = await world.connect(world.server.url);
      const takeAndRelease = async (): Promise<void> => {
        for (let round = 0; round < 10; round += 1) {
          const slot = await client.acquire("ada");
          expect(await slot.isHeld()).toBe(true);
          await slot.release();
        }
      };
      await Promise.all(Array.from({ length: 5 }, takeAndRelease));
      expect(await world.server.slotsInUse()).toBe(0);
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "the same user in another Unicode form has the same slot",
    clients: ["python", "node", "bun"],
    async run(world) {
      const client = await world.connect(world.server.url);
      const composed = await client.acquire("Zo\u00eb");
      const decomposed = await client.acquire("Zoe\u0308");
      expect(await composed.release()).toBe(true);
      expect([await decomposed.isHeld(), await world.server.slotsInUse()]).toEqual([true, 1]);
      expect(await decomposed.release()).toBe(true);
      expect(await world.server.slotsInUse()).toBe(0);
    },
  },
  {
    title: "an acquire waits for a release by name of a user without a slot in this client",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      proxy.fail("unregister", { kind: "delay", ms: 1_500 }, 1);
      const released = client.releaseUser("ada");
      await proxy.waitForCount("unregister", 1);
      const slot = await client.acquire("ada");
      await released;
      const [unregister] = proxy.requestsOf("unregister");
      const [register] = proxy.requestsOf("register");
      expect(register?.at).toBeGreaterThanOrEqual(unregister?.answeredAt ?? Infinity);
      expect([await slot.isHeld(), await world.server.slotsInUse()]).toEqual([true, 1]);
    },
  },
];
