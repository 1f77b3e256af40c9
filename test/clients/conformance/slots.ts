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
];
