// Scenarios: slots of floating features.
import { expect } from "bun:test";
import { waitUntil } from "../../support/wait-until.ts";
import { ignoreRefusal } from "./driver.ts";
import type { FaultyProxy } from "./faulty-proxy.ts";
import { SLOTS } from "./site.ts";
import type { Scenario, TestClient, World } from "./world.ts";

const inUse = "floating_in_use_devices";

/** A feature with a time-out of so many seconds, and its slot, which is not due during a test. */
async function holdFeature(world: World, seconds = 3) {
  const proxy = await world.openProxy();
  proxy.rewriteFields("register", (fields) => ({ ...fields, floating_timeout: 24 * 60 }));
  proxy.shortenFeatureTimeout(seconds);
  const client = await world.connect(proxy.url);
  const slot = await client.acquire("ada");
  const feature = await slot.acquireFeature("RENDER");
  return { proxy, client, slot, feature };
}

/** Waits until the server knows the feature again, and fails at once if it is lost instead. */
async function waitForFeature(world: World, client: TestClient): Promise<void> {
  const isInUse = async () => (await world.server.feature("RENDER"))[inUse] === 1;
  await waitUntil(async () => client.driver.events.length > 0 || (await isInUse()));
  expect(client.driver.events).toEqual([]);
}

/** So many renewals of the slot, and the requests directly before and after them. */
function renewalsAround(proxy: FaultyProxy, count: number): string[] {
  const operations = proxy.requests.map(({ operation }) => operation);
  // The first request took the slot.
  const first = operations.indexOf("register", 1);
  return operations.slice(first - 1, first + count + 1);
}

export const featureScenarios: readonly Scenario[] = [
  {
    title: "takes a slot of a feature and releases it",
    async run(world) {
      const proxy = await world.openProxy();
      const slot = await (await world.connect(proxy.url)).acquire("ada");
      const feature = await slot.acquireFeature("RENDER");
      expect(await feature.isHeld()).toBe(true);
      expect((await world.server.feature("RENDER"))[inUse]).toBe(1);
      expect(await feature.release()).toBe(true);
      expect(await feature.isHeld()).toBe(false);
      expect((await world.server.feature("RENDER"))[inUse]).toBe(0);
      expect([await slot.isHeld(), proxy.count("featureRelease")]).toEqual([true, 1]);
    },
  },
  {
    title: "is refused with NoFreeSlot when all slots of the feature are taken",
    async run(world) {
      const client = await world.connect(world.server.url);
      for (const user of ["ada", "bob"])
        await (await client.acquire(user)).acquireFeature("RENDER");
      const slot = await client.acquire("eve");
      expect(await slot.acquireFeatureError("RENDER")).toMatchObject({
        kind: "NoFreeSlot",
        code: "floating_not_available",
      });
      expect(await slot.isHeld()).toBe(true);
    },
  },
  {
    title: "refuses an unknown feature, and one without slots",
    async run(world) {
      const slot = await (await world.connect(world.server.url)).acquire("ada");
      expect(await slot.acquireFeatureError("NONE")).toMatchObject({
        kind: "Refused",
        code: "invalid_license_feature_code",
      });
      expect(await slot.acquireFeatureError("EXPORT")).toMatchObject({
        kind: "Refused",
        code: "feature_not_floating",
      });
    },
  },
  {
    title: "sends heartbeats for the feature by itself",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenFeatureTimeout(3);
      const client = await world.connect(proxy.url);
      const feature = await (await client.acquire("ada")).acquireFeature("RENDER");
      await proxy.waitForCount("featureRegister", 4);
      expect(await feature.isHeld()).toBe(true);
      // The slot itself has its own, longer time-out.
      expect(proxy.count("register")).toBe(1);
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "reports the loss of the feature, and keeps the slot",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenFeatureTimeout(3);
      const client = await world.connect(proxy.url);
      const slot = await client.acquire("ada");
      const feature = await slot.acquireFeature("RENDER");
      const body = { status: 400, code: "license_expired", message: "the feature has ended" };
      proxy.answer("featureRegister", { status: 400, body });
      const loss = await client.driver.waitForLoss(feature.name);
      expect(loss).toMatchObject({ kind: "Refused", code: "license_expired" });
      expect([await feature.isHeld(), await slot.isHeld()]).toEqual([false, true]);
    },
  },
  {
    title: "the release of the slot ends its features without a loss",
    async run(world) {
      const client = await world.connect(world.server.url);
      const slot = await client.acquire("ada");
      const feature = await slot.acquireFeature("RENDER");
      await slot.release();
      expect(await feature.isHeld()).toBe(false);
      expect((await world.server.feature("RENDER"))[inUse]).toBe(0);
      expect(await world.server.slotsInUse()).toBe(0);
      await feature.release();
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "the loss of the slot ends its features, and is reported once",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(3);
      const client = await world.connect(proxy.url, { timeout: 1 });
      const slot = await client.acquire("ada");
      const feature = await slot.acquireFeature("RENDER");
      proxy.goAway();
      await client.driver.waitForLoss(slot.name);
      expect([await feature.isHeld(), await slot.isHeld()]).toEqual([false, false]);
      expect(client.driver.events).toHaveLength(1);
    },
  },
  {
    title: "the release of a borrowed slot releases its features",
    async run(world) {
      const client = await world.connect(world.server.url, { nonce: "device-0123456789" });
      const slot = await client.acquire("ada");
      await slot.acquireFeature("RENDER");
      await client.borrow("ada");
      expect(await slot.release()).toBe(true);
      expect(await world.server.slotsInUse()).toBe(1);
      expect((await world.server.feature("RENDER"))[inUse]).toBe(0);
    },
  },
  {
    title: "a feature is not held if the slot is lost while it is acquired",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(3);
      proxy.shortenFeatureTimeout(3);
      const client = await world.connect(proxy.url);
      const slot = await client.acquire("ada");
      const body = { status: 400, code: "license_expired", message: "the license has ended" };
      proxy.fail("featureRegister", { kind: "delay", ms: 4_000 * world.timeScale });
      proxy.answer("register", { status: 400, body });
      const fields = { slot: slot.name, feature: "late", code: "RENDER" };
      const acquired = client.driver.request("acquire_feature", fields).catch(() => null);
      await client.driver.waitForLoss(slot.name);
      // An error, or a feature that is not held: in no case is it renewed or reported as lost.
      expect((await acquired)?.is_held ?? false).toBe(false);
      const sent = proxy.count("featureRegister");
      await Bun.sleep(2_000);
      expect([proxy.count("featureRegister"), client.driver.events.length]).toEqual([sent, 1]);
    },
  },
  {
    title: "a release by name while the user takes a slot and a feature causes no loss",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      proxy.fail("register", { kind: "delay", ms: 500 }, 1);
      const acquired = client.acquire("ada");
      await proxy.waitForCount("register", 1);
      proxy.fail("unregister", { kind: "delay", ms: 1_500 }, 1);
      const released = client.releaseUser("ada");
      const slot = await acquired;
      await ignoreRefusal(slot.acquireFeature("RENDER"));
      // Whether the slot is released or renewed: the server knows it before it knows the feature.
      proxy.fail("register", { kind: "cut before" }, 1);
      await released;
      const isSame = async (): Promise<boolean> =>
        (await slot.isHeld()) === ((await world.server.registration("ada")) !== null);
      await waitUntil(isSame, "the client and the server agree");
      await slot.release();
      expect((await world.server.feature("RENDER"))[inUse]).toBe(0);
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "takes the slot and then the feature again if the user was released at the server",
    async run(world) {
      const { proxy, client, slot, feature } = await holdFeature(world);
      await world.server.releaseUser("ada");
      await waitForFeature(world, client);
      expect([await slot.isHeld(), await feature.isHeld()]).toEqual([true, true]);
      expect(await world.server.registration("ada")).not.toBeNull();
      // The feature is refused, then the slot is taken, then the feature.
      expect(renewalsAround(proxy, 1)).toEqual(["featureRegister", "register", "featureRegister"]);
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "renews no feature of a released user until its slot is taken again",
    async run(world) {
      const { proxy, client, slot } = await holdFeature(world);
      proxy.fail("register", { kind: "cut before" }, 2);
      await world.server.releaseUser("ada");
      await waitForFeature(world, client);
      const failed = ["register", "register"];
      const renewals = ["featureRegister", ...failed, "register", "featureRegister"];
      expect(renewalsAround(proxy, 3)).toEqual(renewals);
      expect(await slot.isHeld()).toBe(true);
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "reports the loss of the slot if a feature shows that the slot was given to others",
    async run(world) {
      const { proxy, client, slot, feature } = await holdFeature(world, 12);
      await world.server.takeSlots(SLOTS - 1);
      // Meanwhile, no heartbeat may take the slot again.
      proxy.fail("*", { kind: "cut before" });
      await world.server.giveSlot("ada", "bob");
      proxy.heal();
      const loss = await client.driver.waitForLoss(slot.name);
      expect(loss).toMatchObject({ kind: "NoFreeSlot", code: "floating_not_available" });
      expect([await slot.isHeld(), await feature.isHeld()]).toEqual([false, false]);
      expect(client.driver.events).toHaveLength(1);
    },
  },
  {
    title: "reports the loss of a feature that is refused also after its slot is renewed",
    async run(world) {
      const { proxy, client, slot, feature } = await holdFeature(world);
      const body = { status: 400, code: "user_not_registered", message: "no slot" };
      proxy.answer("featureRegister", { status: 400, body });
      const loss = await client.driver.waitForLoss(feature.name);
      expect(loss).toMatchObject({ kind: "Refused", code: "user_not_registered" });
      expect([await slot.isHeld(), await feature.isHeld()]).toEqual([true, false]);
      expect(client.driver.events).toHaveLength(1);
    },
  },
];
