// Scenarios: a client keeps its slot by itself, and reports a loss once. The proxy shortens the
// time-out that the client sees; the server keeps the slot for the license's minutes.
import { expect } from "bun:test";
import { waitUntil } from "../../support/wait-until.ts";
import type { FaultyProxy, OwnReply } from "./faulty-proxy.ts";
import { SLOTS } from "./site.ts";
import type { Scenario, TestClient, TestSlot, World } from "./world.ts";

interface Holding {
  readonly proxy: FaultyProxy;
  readonly client: TestClient;
  readonly slot: TestSlot;
}

/** A client that holds a slot with a time-out of so many seconds. */
async function holdSlot(world: World, seconds: number): Promise<Holding> {
  const proxy = await world.openProxy();
  proxy.shortenTimeout(seconds);
  const client = await world.connect(proxy.url, { timeout: 2 });
  return { proxy, client, slot: await client.acquire("ada") };
}

/** Stops the process of a client for so many seconds. */
async function stopFor(world: World, { driver }: TestClient, seconds: number): Promise<void> {
  driver.signal("SIGSTOP");
  await Bun.sleep(1_000 * seconds * world.timeScale);
  driver.signal("SIGCONT");
}

const countGranted = (proxy: FaultyProxy): number =>
  proxy.requestsOf("register").filter(({ status }) => status === 200).length;

/** Waits for the next heartbeats that succeed, and fails at once if the slot is lost instead. */
async function waitForHeartbeats({ proxy, client }: Holding, count: number): Promise<void> {
  const before = countGranted(proxy);
  const isOver = (): boolean =>
    countGranted(proxy) >= before + count || client.driver.events.length > 0;
  await waitUntil(isOver, `${count} heartbeats`);
  expect(client.driver.events).toEqual([]);
}

/** A reply to a heartbeat. */
const refusal = (status: number, code: string) => ({
  status,
  body: { status, code, message: `the server says ${code}` },
});

/** The slot is kept through replies that do not mean that it is lost. */
const keepsThrough = (title: string, replies: readonly OwnReply[]): Scenario => ({
  title: `keeps the slot if heartbeats are answered with ${title}`,
  async run(world) {
    const holding = await holdSlot(world, 12);
    for (const reply of replies) holding.proxy.answer("register", reply, 1);
    const { proxy, client } = holding;
    await client.waitForRequestsOrLoss(proxy, "register", 1 + replies.length);
    await waitForHeartbeats(holding, 1);
    expect(await holding.slot.isHeld()).toBe(true);
  },
});

export const heartbeatScenarios: readonly Scenario[] = [
  {
    title: "sends heartbeats by itself, at about a third of the time-out",
    async run(world) {
      const holding = await holdSlot(world, 6);
      const { proxy, slot } = holding;
      await waitForHeartbeats(holding, 3);
      const times = proxy.requestsOf("register").map(({ at }) => at);
      const gaps = times.slice(1).map((at, index) => at - (times[index] ?? 0));
      // A third is 2 s; a busy machine may delay one of them.
      for (const gap of gaps) expect(gap).toBeGreaterThan(1_200 * world.timeScale);
      expect(Math.min(...gaps)).toBeLessThan(3_000 * world.timeScale);
      expect(await slot.isHeld()).toBe(true);
    },
  },
  {
    title: "keeps the slot while the server is away for less than the time-out",
    async run(world) {
      const holding = await holdSlot(world, 10);
      const { proxy, client, slot } = holding;
      proxy.fail("*", { kind: "cut before" });
      await client.waitForRequestsOrLoss(proxy, "register", 3);
      expect(await slot.isHeld()).toBe(true);
      proxy.heal();
      await waitForHeartbeats(holding, 2);
      expect(await slot.isHeld()).toBe(true);
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "reports the loss once if the server is away for longer than the time-out",
    async run(world) {
      const { proxy, client, slot } = await holdSlot(world, 3);
      const granted = proxy.requests[0]?.at ?? 0;
      proxy.goAway();
      const loss = await client.driver.waitForLoss(slot.name);
      expect(loss).toMatchObject({ kind: "Unavailable", code: "unreachable" });
      expect(performance.now() - granted).toBeGreaterThan(2_500);
      expect(await slot.isHeld()).toBe(false);
      proxy.comeBack();
      const before = proxy.count("register");
      // Three times as long as the pause between two heartbeats.
      await Bun.sleep(3_000);
      expect(proxy.count("register")).toBe(before);
      expect(client.driver.lossesOf(slot.name)).toHaveLength(1);
      expect(await slot.isHeld()).toBe(false);
      // The application can take a slot again.
      expect(await (await client.acquire("ada")).isHeld()).toBe(true);
    },
  },
  {
    title: "keeps a slot whose end passed in a stop of the process, if the next heartbeat succeeds",
    async run(world) {
      const holding = await holdSlot(world, 3);
      const { proxy, client, slot } = holding;
      proxy.fail("register", { kind: "delay", ms: 1_000 }, 1);
      await stopFor(world, client, 4);
      await client.waitForRequestsOrLoss(proxy, "register", 2);
      expect(await slot.isHeld()).toBe(true);
      await waitForHeartbeats(holding, 2);
      expect(await slot.isHeld()).toBe(true);
    },
  },
  {
    title: "loses a slot whose end passed in a stop of the process, if the next heartbeat fails",
    async run(world) {
      const holding = await holdSlot(world, 3);
      const { proxy, client, slot } = holding;
      proxy.goAway();
      await stopFor(world, client, 4);
      expect(await client.driver.waitForLoss(slot.name)).toMatchObject({ kind: "Unavailable" });
      expect(await slot.isHeld()).toBe(false);
    },
  },
  {
    title: "reports the loss in time if the server accepts connections and never answers",
    async run(world) {
      const { proxy, client, slot } = await holdSlot(world, 3);
      proxy.fail("*", { kind: "hang" });
      await waitUntil(async () => !(await slot.isHeld()));
      expect(await client.driver.waitForLoss(slot.name)).toMatchObject({ kind: "Unavailable" });
    },
  },
  {
    title: "reports the loss at once if the server refuses a heartbeat",
    async run(world) {
      const { proxy, client, slot } = await holdSlot(world, 10);
      proxy.answer("register", refusal(400, "license_expired"));
      const loss = await client.driver.waitForLoss(slot.name);
      expect(loss).toMatchObject({ kind: "Refused", code: "license_expired" });
      expect(proxy.count("register")).toBe(2);
      expect(await slot.isHeld()).toBe(false);
    },
  },
  {
    title: "reports the loss to each acquire of the same user, and to each of the same feature",
    async run(world) {
      const { proxy, client, slot } = await holdSlot(world, 4);
      proxy.shortenFeatureTimeout(4);
      const again = await client.acquire("ada");
      const features = [await slot.acquireFeature("RENDER"), await again.acquireFeature("RENDER")];
      proxy.answer("featureRegister", refusal(400, "feature_expired"));
      for (const { name } of features) {
        expect(await client.driver.waitForLoss(name)).toMatchObject({ code: "feature_expired" });
      }
      proxy.answer("register", refusal(400, "license_expired"));
      for (const { name } of [slot, again]) {
        expect(await client.driver.waitForLoss(name)).toMatchObject({ code: "license_expired" });
      }
      expect(client.driver.events).toHaveLength(4);
    },
  },
  {
    title: "reports the loss to no acquire whose slot the application has released",
    async run(world) {
      const { proxy, client, slot } = await holdSlot(world, 4);
      const again = await client.acquire("ada");
      const last = await client.acquire("ada");
      await again.release();
      proxy.answer("register", refusal(400, "license_expired"));
      for (const { name } of [slot, last]) await client.driver.waitForLoss(name);
      expect(client.driver.lossesOf(again.name)).toEqual([]);
    },
  },
  {
    title: "reports the loss if the operator gave the slot to others",
    async run(world) {
      const { client, slot } = await holdSlot(world, 4);
      await world.server.takeSlots(SLOTS - 1);
      await world.server.giveSlot("ada", "bob");
      const loss = await client.driver.waitForLoss(slot.name);
      expect(loss).toMatchObject({ kind: "NoFreeSlot", code: "floating_not_available" });
    },
  },
  {
    title: "takes the slot again without a loss if it was released and is still free",
    async run(world) {
      const holding = await holdSlot(world, 4);
      const { client, slot } = holding;
      const before = await slot.read();
      await world.server.releaseUser("ada");
      await waitForHeartbeats(holding, 2);
      const after = await slot.read();
      expect(after.is_held).toBe(true);
      expect(after.registered_at > before.registered_at).toBe(true);
      expect(client.driver.events).toEqual([]);
    },
  },
  keepsThrough("401 and 403", [refusal(401, "unauthorized"), refusal(403, "forbidden")]),
  keepsThrough("429 and 500", [refusal(429, "too_many_requests"), refusal(500, "internal_error")]),
  keepsThrough("400 of a proxy", [{ ...refusal(400, "bad_request"), appliance: null }]),
  keepsThrough("400 of another license server", [
    { ...refusal(400, "user_not_registered"), appliance: "0000000000000000" },
  ]),
  keepsThrough("503 and 502", [
    refusal(503, "storage_full"),
    { status: 502, appliance: null, body: "<html>Bad Gateway</html>" },
  ]),
  {
    title: "a loss after replies of the server has the code of the last one",
    async run(world) {
      const { proxy, client, slot } = await holdSlot(world, 3);
      proxy.answer("register", refusal(503, "storage_full"));
      const loss = await client.driver.waitForLoss(slot.name);
      expect(loss).toMatchObject({ kind: "Unavailable", code: "storage_full" });
    },
  },
  {
    title: "a release waits for a heartbeat in progress, so that the slot stays free",
    async run(world) {
      const { proxy, client, slot } = await holdSlot(world, 3);
      proxy.fail("register", { kind: "delay", ms: 700 });
      await proxy.waitForCount("register", 2);
      expect(await slot.release()).toBe(true);
      const operations = proxy.requests.map(({ operation }) => operation);
      expect(operations.at(-1)).toBe("unregister");
      const heartbeat = proxy.requestsOf("register").at(-1);
      expect(heartbeat?.answeredAt).not.toBeNull();
      await Bun.sleep(1_500);
      expect(proxy.requests).toHaveLength(operations.length);
      expect(await world.server.slotsInUse()).toBe(0);
      expect(client.driver.events).toEqual([]);
    },
  },
  {
    title: "holds the slot after a stop past its end until the first heartbeat is answered",
    clients: ["c"],
    async run(world) {
      const proxy = await world.openProxy();
      proxy.shortenTimeout(3);
      const client = await world.connect(proxy.url, { timeout: 60 });
      const slot = await client.acquire("ada");
      proxy.fail("register", { kind: "hang" });
      await stopFor(world, client, 4);
      await proxy.waitForCount("register", 2);
      expect(await slot.isHeld()).toBe(true);
    },
  },
  {
    title: "loses no slot because a stop interrupted a heartbeat",
    clients: ["c"],
    async run(world) {
      const holding = await holdSlot(world, 6);
      const { proxy, client, slot } = holding;
      proxy.fail("register", { kind: "hang" }, 1);
      await proxy.waitForCount("register", 2);
      await stopFor(world, client, 7);
      await waitForHeartbeats(holding, 1);
      expect(await slot.isHeld()).toBe(true);
    },
  },
  {
    title: "loses the slots whose end passed in a stop if no server answers any more",
    clients: ["c"],
    async run(world) {
      const { proxy, client, slot } = await holdSlot(world, 3);
      const other = await client.acquire("bob");
      proxy.goAway();
      await stopFor(world, client, 4);
      await client.driver.waitForLoss(slot.name);
      expect([await slot.isHeld(), await other.isHeld()]).toEqual([false, false]);
      await client.driver.waitForLoss(other.name);
    },
  },
  {
    title: "sends no heartbeats after a release",
    async run(world) {
      const holding = await holdSlot(world, 3);
      const { proxy, slot } = holding;
      await waitForHeartbeats(holding, 1);
      await slot.release();
      const before = proxy.requests.length;
      await Bun.sleep(3_000);
      expect(proxy.requests).toHaveLength(before);
    },
  },
];
