// Scenarios: borrowing a slot, and what survives the release of a slot.
import { expect } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { waitUntil } from "../../support/wait-until.ts";
import { ROOT_PUBLIC_KEY } from "./site.ts";
import { hoursFromNow, type Scenario } from "./world.ts";

const NONCE = "5b1e9d6f0c2a4873";

const DEVICE = { nonce: NONCE, root_keys: [ROOT_PUBLIC_KEY] };

/** The device nonce of this machine, as the documentation defines it; null: it has no id. */
function computeDeviceNonce(): string | null {
  const files = ["/etc/machine-id", "/var/lib/dbus/machine-id"];
  for (const file of files.filter((each) => existsSync(each))) {
    const id = readFileSync(file, "utf8").trim();
    if (id !== "") return sha256(`berth-device-v1:${id}`);
  }
  return null;
}

export const borrowingScenarios: readonly Scenario[] = [
  {
    title: "borrows a slot, with a lease and a license that can be checked offline",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url, DEVICE);
      const until = hoursFromNow(5);
      const borrow = await client.borrow("ada", { until });
      const { id } = await world.server.license();
      expect(borrow).toMatchObject({ user: "ada", license_id: id });
      expect(Date.parse(borrow.borrowed_until)).toBe(Date.parse(until));
      expect(proxy.requestsOf("borrow")[0]?.headers["x-nonce"]).toBe(NONCE);
      // The check makes no call.
      proxy.goAway();
      const { lease, license } = borrow;
      const checked = await client.driver.request("verify", {
        client: client.name,
        lease,
        license,
      });
      expect(checked).toEqual({
        user: "ada",
        license_id: id,
        expires_at: until,
        product: world.product,
        serial: 1,
      });
    },
  },
  {
    title: "a borrow survives the release of the slot, and is returned by name",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url, DEVICE);
      const slot = await client.acquire("ada");
      await client.borrow("ada");
      await slot.release();
      expect([await slot.isHeld(), await world.server.slotsInUse()]).toEqual([false, 1]);
      expect(proxy.count("unregister")).toBe(0);
      await client.releaseUser("ada");
      expect(await world.server.slotsInUse()).toBe(0);
    },
  },
  {
    title: "knows a borrow of an earlier process, and keeps it at the release",
    async run(world) {
      const earlier = await world.connect(world.server.url, DEVICE);
      await earlier.borrow("ada");
      await earlier.driver.end();
      const client = await world.connect(world.server.url, DEVICE);
      const slot = await client.acquire("ada");
      expect((await slot.read()).is_borrowed).toBe(true);
      await slot.release();
      await client.close();
      expect(await world.server.slotsInUse()).toBe(1);
    },
  },
  {
    title: "keeps a borrow of an earlier process if a waiting acquire ends before the first reply",
    async run(world) {
      const earlier = await world.connect(world.server.url, DEVICE);
      await earlier.borrow("ada");
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url, DEVICE);
      proxy.fail("register", { kind: "hang" });
      const fields = { client: client.name, slot: "waiting", user: "ada", wait: 600 };
      const acquired = client.driver.requestError("acquire", fields);
      await proxy.waitForCount("register", 1);
      await client.close();
      expect(await acquired).toMatchObject({ kind: "InvalidArgument", code: "client_closed" });
      expect(proxy.count("unregister")).toBe(0);
      expect(await world.server.slotsInUse()).toBe(1);
    },
  },
  {
    title: "a slot is released as usual after its borrow was returned",
    async run(world) {
      const client = await world.connect(world.server.url, DEVICE);
      await client.borrow("ada");
      await client.releaseUser("ada");
      const slot = await client.acquire("ada");
      expect((await slot.read()).is_borrowed).toBe(false);
      await slot.release();
      expect(await world.server.slotsInUse()).toBe(0);
    },
  },
  {
    title: "has the device nonce that the documentation defines",
    async run(world) {
      const expected = computeDeviceNonce();
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url);
      if (expected === null) {
        const error = await client.borrowError("ada");
        expect(error).toMatchObject({ kind: "InvalidArgument", code: "invalid_argument" });
        expect(error.message).toContain("nonce");
        return;
      }
      expect(await client.nonce()).toBe(expected);
      await client.borrow("ada");
      expect(proxy.requestsOf("borrow")[0]?.headers["x-nonce"]).toBe(expected);
    },
  },
  {
    title: "a borrow of another device is refused",
    async run(world) {
      const one = await world.connect(world.server.url, DEVICE);
      await one.borrow("ada");
      const two = await world.connect(world.server.url, { nonce: "another-device-1234" });
      expect(await two.borrowError("ada")).toMatchObject({
        kind: "Refused",
        code: "leased_elsewhere",
      });
    },
  },
  {
    title: "is refused where the license does not allow to borrow",
    terms: { borrowHours: null },
    async run(world) {
      const client = await world.connect(world.server.url, DEVICE);
      const error = await client.borrowError("ada");
      expect(error).toMatchObject({ kind: "Refused", code: "license_borrow_not_allowed" });
    },
  },
  {
    title: "reports that a borrow cannot be returned early",
    terms: { earlyReturn: false },
    async run(world) {
      const client = await world.connect(world.server.url, DEVICE);
      await client.borrow("ada");
      const fields = { client: client.name, user: "ada" };
      expect(await client.driver.requestError("release_user", fields)).toMatchObject({
        kind: "Refused",
        code: "early_return_not_allowed",
      });
      await client.close();
      expect(await world.server.slotsInUse()).toBe(1);
    },
  },
  {
    title: "a borrow whose reply was lost can be repeated with its key",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connectForOneRound(proxy.url, DEVICE);
      proxy.fail("borrow", { kind: "cut after" });
      const until = hoursFromNow(5);
      const error = await client.borrowError("ada", { until });
      expect(error).toMatchObject({ kind: "Unavailable", code: "unreachable" });
      expect(error.key).toBe(proxy.requests[0]?.headers["idempotency-key"] ?? "");
      proxy.heal();
      const borrow = await client.borrow("ada", { until, key: error.key ?? "" });
      expect(Date.parse(borrow.borrowed_until)).toBe(Date.parse(until));
      expect(borrow.lease).toContain(".");
    },
  },
  {
    title: "a borrow survives cut connections, also while the license is read",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connect(proxy.url, DEVICE);
      for (const operation of ["borrow", "license"]) {
        proxy.fail(operation, { kind: "cut after" }, 1);
        proxy.fail(operation, { kind: "cut body" }, 1);
      }
      const { lease, license } = await client.borrow("ada");
      await client.driver.request("verify", { client: client.name, lease, license });
      expect([proxy.count("borrow"), proxy.count("license")]).toEqual([3, 3]);
      const keys = proxy.requestsOf("borrow").map(({ headers }) => headers["idempotency-key"]);
      expect(new Set(keys).size).toBe(1);
    },
  },
  {
    title: "the release of the slot keeps a borrow whose reply was lost",
    async run(world) {
      const proxy = await world.openProxy();
      const client = await world.connectForOneRound(proxy.url, { nonce: "device-0123456789" });
      const slot = await client.acquire("ada");
      proxy.fail("borrow", { kind: "cut after" }, 1);
      const { key } = await client.borrowError("ada");
      expect(await slot.release()).toBe(false);
      expect((await client.borrow("ada", { key: key ?? "" })).lease).toBeString();
    },
  },
  {
    title: "a borrow survives the reply to a register that was sent before it",
    async run(world) {
      const proxy = await world.openProxy();
      proxy.fail("register", { kind: "drip", ms: 1 }, 1);
      const client = await world.connect(proxy.url, { ...DEVICE, timeout: 60 });
      const acquired = client.acquire("ada");
      await waitUntil(async () => (await world.server.slotsInUse()) === 1);
      await client.borrow("ada");
      const slot = await acquired;
      expect((await slot.read()).is_borrowed).toBe(true);
      await slot.release();
      expect([await world.server.slotsInUse(), proxy.count("unregister")]).toEqual([1, 0]);
    },
  },
];
