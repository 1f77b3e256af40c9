// A borrow is leased to one device. While it lasts, requests with another nonce are refused.
import { describe, expect, test } from "bun:test";
import { decodeJwt } from "jose";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type ApiResponse,
  type Appliance,
  type RequestHeaders,
  type Slot,
} from "../../../support/appliance.ts";
import { justBefore, hoursLater, minutesLater } from "../../../support/scenario.ts";
import { copyFolder } from "../../../support/temp-folder.ts";

const ADA = { user: "ada", product: "cad" };
const UNTIL = "2026-03-02T19:00:00.000Z";
const BORROW = { ...ADA, borrowed_until: UNTIL };

const nonceOf = (device: string): RequestHeaders => ({ "x-nonce": `digest-of-${device}-0001` });
const LAPTOP = nonceOf("laptop");
const TABLET = nonceOf("tablet");

const leaseNonce = ([, body]: ApiResponse<Slot>): unknown => decodeJwt(body.lease ?? "")["nonce"];

const KINDS: readonly [string, boolean][] = [
  ["where early return is allowed", true],
  ["where early return is not allowed", false],
];

const openSite = (earlyReturn: boolean): Promise<Appliance> =>
  openAppliance({ licenses: { 1: { slots: 1, earlyReturn } } });

describe.each(KINDS)("a borrow leased to one device, %s,", (_kind, earlyReturn) => {
  test("is refused to another device by borrow and by register, and nothing changes", async () => {
    const site = await openSite(earlyReturn);
    expectOk(await site.borrow(BORROW, LAPTOP));
    for (const call of [site.borrow, site.register]) {
      for (const fields of [ADA, BORROW]) {
        const message = await expectRefusedUnchanged(site, 400, "leased_elsewhere", () =>
          call(fields, TABLET),
        );
        expect(message).toContain(UNTIL);
        expect(message.includes("unregister")).toBe(earlyReturn);
      }
    }
    expect(leaseNonce(await site.register(ADA, LAPTOP))).toBe(LAPTOP["x-nonce"]);
  });

  test("moves its end for the same device and stays leased to it", async () => {
    const site = await openSite(earlyReturn);
    expectOk(await site.borrow(BORROW, LAPTOP));
    const later = { ...ADA, borrowed_until: "2026-03-02T20:00:00.000Z" };
    const again = await site.borrow(later, LAPTOP);
    expect(expectOk(again).borrowed_until).toBe(later.borrowed_until);
    expect(leaseNonce(again)).toBe(LAPTOP["x-nonce"]);
    site.clock.now = hoursLater(10);
    expectRefusal(await site.borrow(ADA, TABLET), 400, "leased_elsewhere");
  });

  test("stays with its device when it is borrowed again or renewed without a nonce", async () => {
    const site = await openSite(earlyReturn);
    expectOk(await site.borrow(BORROW, LAPTOP));
    const reply = await site.borrow({ ...ADA, borrowed_until: "2026-03-02T20:00:00.000Z" });
    expectOk(reply);
    expect(leaseNonce(reply)).toBeNull();
    expect(expectOk(await site.register(ADA)).lease).toBeNull();
    expectRefusal(await site.register(ADA, TABLET), 400, "leased_elsewhere");
  });

  test("is available to another device at the end of the borrow and not a millisecond before", async () => {
    const site = await openSite(earlyReturn);
    expectOk(await site.borrow(BORROW, LAPTOP));
    site.clock.now = justBefore(hoursLater(10));
    expectRefusal(await site.borrow(ADA, TABLET), 400, "leased_elsewhere");
    site.clock.now = hoursLater(10);
    expect(leaseNonce(await site.borrow(ADA, TABLET))).toBe(TABLET["x-nonce"]);
    expectRefusal(await site.register(ADA, LAPTOP), 400, "leased_elsewhere");
  });

  test("is available to another device at its end although heartbeats kept the slot", async () => {
    const site = await openSite(earlyReturn);
    expectOk(await site.borrow(BORROW, LAPTOP));
    site.clock.now = justBefore(hoursLater(10));
    expectOk(await site.register(ADA, LAPTOP));
    site.clock.now = hoursLater(10);
    const registration = expectOk(await site.register(ADA, TABLET));
    expect(registration).toMatchObject({
      registered_at: "2026-03-02T09:00:00.000Z",
      is_borrowed: false,
    });
    expectOk(await site.borrow(ADA, TABLET));
    expectRefusal(await site.borrow(ADA, LAPTOP), 400, "leased_elsewhere");
  });

  test("is granted to one device only when eight ask at once", async () => {
    const site = await openSite(earlyReturn);
    const devices = Array.from({ length: 8 }, (_, index) => nonceOf(`device-${index}`));
    const replies = await Promise.all(devices.map((device) => site.borrow(BORROW, device)));
    const served = replies.filter(([{ status }]) => status === 200);
    expect(served.map(leaseNonce)).toEqual([devices[0]?.["x-nonce"]]);
    for (const refused of replies.slice(1)) expectRefusal(refused, 400, "leased_elsewhere");
  });
});

describe("a borrow without a nonce", () => {
  test("is granted, and is then leased to the first device that borrows with a nonce", async () => {
    const site = await openSite(false);
    expect(leaseNonce(await site.borrow(BORROW))).toBeNull();
    expect(leaseNonce(await site.borrow(BORROW, LAPTOP))).toBe(LAPTOP["x-nonce"]);
    expectRefusal(await site.borrow(BORROW, TABLET), 400, "leased_elsewhere");
  });

  test("is leased to the first device that registers with a nonce, until the borrow ends", async () => {
    const site = await openSite(false);
    expectOk(await site.borrow(BORROW));
    const registered = await site.register(ADA, LAPTOP);
    expect(decodeJwt(expectOk(registered).lease ?? "")).toMatchObject({
      nonce: LAPTOP["x-nonce"],
      borrowed: true,
      exp: hoursLater(10) / 1_000,
    });
    expectRefusal(await site.register(ADA, TABLET), 400, "leased_elsewhere");
    expectRefusal(await site.borrow(BORROW, TABLET), 400, "leased_elsewhere");
  });

  test("is leased to one device only when two register at once", async () => {
    const site = await openSite(false);
    expectOk(await site.borrow(BORROW));
    const replies = await Promise.all([LAPTOP, TABLET].map((device) => site.register(ADA, device)));
    expect(replies.map(([{ status }]) => status)).toEqual([200, 400]);
  });
});

test("a registration without a borrow is leased to any device, for one timeout each", async () => {
  const site = await openSite(true);
  for (const device of [LAPTOP, TABLET]) {
    const { lease } = expectOk(await site.register(ADA, device));
    expect(decodeJwt(lease ?? "").exp).toBe(minutesLater(30) / 1_000);
  }
});

test("a borrowed slot that was released may be borrowed by another device", async () => {
  const site = await openSite(true);
  expectOk(await site.borrow(BORROW, LAPTOP));
  expectOk(await site.unregister(ADA));
  expect(leaseNonce(await site.borrow(BORROW, TABLET))).toBe(TABLET["x-nonce"]);
  expectRefusal(await site.borrow(BORROW, LAPTOP), 400, "leased_elsewhere");
});

test("a borrow whose end was moved earlier is available to another device from that end on", async () => {
  const site = await openSite(true);
  expectOk(await site.borrow(BORROW, LAPTOP));
  expectOk(await site.borrow({ ...ADA, borrowed_until: "2026-03-02T09:10:00.000Z" }, LAPTOP));
  site.clock.now = minutesLater(10);
  expectOk(await site.borrow(BORROW, TABLET));
});

describe("an Idempotency-Key of a borrow", () => {
  const withKey = { "idempotency-key": "k-1" };

  test("is refused as reused with another nonce or none", async () => {
    const site = await openSite(true);
    expectOk(await site.borrow(BORROW, { ...withKey, ...LAPTOP }));
    expect(leaseNonce(await site.borrow(BORROW, { ...withKey, ...LAPTOP }))).toBe(
      LAPTOP["x-nonce"],
    );
    for (const other of [{ ...withKey, ...TABLET }, withKey]) {
      await expectRefusedUnchanged(site, 409, "idempotency_key_reused", () =>
        site.borrow(BORROW, other),
      );
    }
  });

  test("without a nonce may be repeated without one, and is refused with one", async () => {
    const site = await openSite(true);
    expectOk(await site.borrow(BORROW, withKey));
    const written = site.lastSeq();
    expectOk(await site.borrow(BORROW, withKey));
    expect(site.lastSeq()).toBe(written);
    await expectRefusedUnchanged(site, 409, "idempotency_key_reused", () =>
      site.borrow(BORROW, { ...withKey, ...LAPTOP }),
    );
  });

  test("is refused when another device has the borrow by now", async () => {
    const site = await openSite(true);
    expectOk(await site.borrow(BORROW, { ...withKey, ...LAPTOP }));
    expectOk(await site.borrow({ ...ADA, borrowed_until: "2026-03-02T09:10:00.000Z" }));
    site.clock.now = minutesLater(10);
    expectOk(await site.borrow(BORROW, TABLET));
    await expectRefusedUnchanged(site, 400, "leased_elsewhere", () =>
      site.borrow(BORROW, { ...withKey, ...LAPTOP }),
    );
  });
});

describe.each([["borrowed"], ["registered"]])(
  "the device that %s with the first nonce",
  (bindingCall) => {
    async function openBoundSite(): Promise<Appliance> {
      const site = await openSite(false);
      expectOk(await site.borrow(BORROW, bindingCall === "borrowed" ? LAPTOP : {}));
      expectOk(await site.register(ADA, LAPTOP));
      return site;
    }

    async function expectBound(folder: string): Promise<void> {
      const site = await openAppliance({ folder, licenses: {} });
      expectRefusal(await site.borrow(BORROW, TABLET), 400, "leased_elsewhere");
      expect(leaseNonce(await site.borrow(BORROW, LAPTOP))).toBe(LAPTOP["x-nonce"]);
    }

    test("is known after a clean stop, from state.json", async () => {
      const site = await openBoundSite();
      await site.stop();
      await expectBound(site.folder);
    });

    test("is known after a stop without a checkpoint, from the journal alone", async () => {
      await expectBound(copyFolder((await openBoundSite()).folder));
    });
  },
);
