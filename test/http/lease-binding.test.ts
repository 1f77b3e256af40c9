// A borrow is leased to one device: whoever else carries another nonce is refused while it lasts.
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
} from "../support/appliance.ts";
import { copyFixtureFolder } from "../support/old-formats.ts";
import { justBefore, hoursLater, minutesLater } from "../support/scenario.ts";
import { copyFolder } from "../support/temp-folder.ts";

const ADA = { user: "ada", product: "cad" };
const UNTIL = "2026-03-02T19:00:00.000Z";
const BORROW = { ...ADA, borrowed_until: UNTIL };

const from = (device: string): RequestHeaders => ({ "x-nonce": `digest-of-${device}-0001` });
const LAPTOP = from("laptop");
const TABLET = from("tablet");

const nonceIn = ([, body]: ApiResponse<Slot>): unknown => decodeJwt(body.lease ?? "")["nonce"];

const KINDS: readonly [string, boolean][] = [
  ["where early return is allowed", true],
  ["where early return is not allowed", false],
];

const siteWith = (earlyReturn: boolean): Promise<Appliance> =>
  openAppliance({ licenses: { 1: { slots: 1, earlyReturn } } });

describe.each(KINDS)("a borrow leased to one device, %s,", (_kind, earlyReturn) => {
  test("is refused to another device by borrow and by register, and nothing changes", async () => {
    const site = await siteWith(earlyReturn);
    expectOk(await site.borrow(BORROW, LAPTOP));
    for (const act of [site.borrow, site.register]) {
      for (const fields of [ADA, BORROW]) {
        const message = await expectRefusedUnchanged(site, 400, "leased_elsewhere", () =>
          act(fields, TABLET),
        );
        expect(message).toContain(UNTIL);
        expect(message.includes("unregister")).toBe(earlyReturn);
      }
    }
    expect(nonceIn(await site.register(ADA, LAPTOP))).toBe(LAPTOP["x-nonce"]);
  });

  test("moves its end for the same device, and stays with it", async () => {
    const site = await siteWith(earlyReturn);
    expectOk(await site.borrow(BORROW, LAPTOP));
    const later = { ...ADA, borrowed_until: "2026-03-02T20:00:00.000Z" };
    const again = await site.borrow(later, LAPTOP);
    expect(expectOk(again).borrowed_until).toBe(later.borrowed_until);
    expect(nonceIn(again)).toBe(LAPTOP["x-nonce"]);
    site.clock.now = hoursLater(10);
    expectRefusal(await site.borrow(ADA, TABLET), 400, "leased_elsewhere");
  });

  test("stays with its device when it is borrowed again or renewed without a nonce", async () => {
    const site = await siteWith(earlyReturn);
    expectOk(await site.borrow(BORROW, LAPTOP));
    const bare = await site.borrow({ ...ADA, borrowed_until: "2026-03-02T20:00:00.000Z" });
    expectOk(bare);
    expect(nonceIn(bare)).toBeNull();
    expect(expectOk(await site.register(ADA)).lease).toBeNull();
    expectRefusal(await site.register(ADA, TABLET), 400, "leased_elsewhere");
  });

  test("is free for another device at the very end of the borrow, and not a moment before", async () => {
    const site = await siteWith(earlyReturn);
    expectOk(await site.borrow(BORROW, LAPTOP));
    site.clock.now = justBefore(hoursLater(10));
    expectRefusal(await site.borrow(ADA, TABLET), 400, "leased_elsewhere");
    site.clock.now = hoursLater(10);
    expect(nonceIn(await site.borrow(ADA, TABLET))).toBe(TABLET["x-nonce"]);
    expectRefusal(await site.register(ADA, LAPTOP), 400, "leased_elsewhere");
  });

  test("is free for another device at its end although heartbeats kept the slot", async () => {
    const site = await siteWith(earlyReturn);
    expectOk(await site.borrow(BORROW, LAPTOP));
    site.clock.now = justBefore(hoursLater(10));
    expectOk(await site.register(ADA, LAPTOP));
    site.clock.now = hoursLater(10);
    const taken = expectOk(await site.register(ADA, TABLET));
    expect(taken).toMatchObject({ registered_at: "2026-03-02T09:00:00.000Z", is_borrowed: false });
    expectOk(await site.borrow(ADA, TABLET));
    expectRefusal(await site.borrow(ADA, LAPTOP), 400, "leased_elsewhere");
  });

  test("of two that ask at once goes to one alone", async () => {
    const site = await siteWith(earlyReturn);
    const devices = Array.from({ length: 8 }, (_, index) => from(`device-${index}`));
    const answers = await Promise.all(devices.map((device) => site.borrow(BORROW, device)));
    const served = answers.filter(([{ status }]) => status === 200);
    expect(served.map(nonceIn)).toEqual([devices[0]?.["x-nonce"]]);
    for (const refused of answers.slice(1)) expectRefusal(refused, 400, "leased_elsewhere");
  });
});

describe("a borrow without a nonce", () => {
  test("is granted, and goes to the first device that borrows with one", async () => {
    const site = await siteWith(false);
    expect(nonceIn(await site.borrow(BORROW))).toBeNull();
    expect(nonceIn(await site.borrow(BORROW, LAPTOP))).toBe(LAPTOP["x-nonce"]);
    expectRefusal(await site.borrow(BORROW, TABLET), 400, "leased_elsewhere");
  });

  test("goes to the first device that registers with one: its lease lasts as long", async () => {
    const site = await siteWith(false);
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

  test("goes to one device alone when several register at once", async () => {
    const site = await siteWith(false);
    expectOk(await site.borrow(BORROW));
    const answers = await Promise.all([LAPTOP, TABLET].map((one) => site.register(ADA, one)));
    expect(answers.map(([{ status }]) => status)).toEqual([200, 400]);
  });
});

test("a plain registration is leased to any device, for one time-out each", async () => {
  const site = await siteWith(true);
  for (const device of [LAPTOP, TABLET]) {
    const { lease } = expectOk(await site.register(ADA, device));
    expect(decodeJwt(lease ?? "").exp).toBe(minutesLater(30) / 1_000);
  }
});

test("a borrowed slot that was given back may be borrowed by another device", async () => {
  const site = await siteWith(true);
  expectOk(await site.borrow(BORROW, LAPTOP));
  expectOk(await site.unregister(ADA));
  expect(nonceIn(await site.borrow(BORROW, TABLET))).toBe(TABLET["x-nonce"]);
  expectRefusal(await site.borrow(BORROW, LAPTOP), 400, "leased_elsewhere");
});

test("a borrow whose end was moved to earlier is free for another device from there on", async () => {
  const site = await siteWith(true);
  expectOk(await site.borrow(BORROW, LAPTOP));
  expectOk(await site.borrow({ ...ADA, borrowed_until: "2026-03-02T09:10:00.000Z" }, LAPTOP));
  site.clock.now = minutesLater(10);
  expectOk(await site.borrow(BORROW, TABLET));
});

describe("an Idempotency-Key", () => {
  const keyed = { "idempotency-key": "k-1" };

  test("stands for the nonce too: with another one it is another command", async () => {
    const site = await siteWith(true);
    expectOk(await site.borrow(BORROW, { ...keyed, ...LAPTOP }));
    expect(nonceIn(await site.borrow(BORROW, { ...keyed, ...LAPTOP }))).toBe(LAPTOP["x-nonce"]);
    for (const other of [{ ...keyed, ...TABLET }, keyed]) {
      await expectRefusedUnchanged(site, 409, "idempotency_key_reused", () =>
        site.borrow(BORROW, other),
      );
    }
  });

  test("without a nonce is repeated as it was before nonces counted", async () => {
    const site = await siteWith(true);
    expectOk(await site.borrow(BORROW, keyed));
    const written = site.lastSeq();
    expectOk(await site.borrow(BORROW, keyed));
    expect(site.lastSeq()).toBe(written);
    await expectRefusedUnchanged(site, 409, "idempotency_key_reused", () =>
      site.borrow(BORROW, { ...keyed, ...LAPTOP }),
    );
  });

  test("of a folder of the version before is still known when it is repeated", async () => {
    const site = await openAppliance({ folder: copyFixtureFolder(4), licenses: {} });
    // That folder was made with this very call.
    const grace = { user: "grace", product: "CAM" };
    const key = { "idempotency-key": "trip-1" };
    const written = site.lastSeq();
    const until = "2026-11-17T00:13:40.841Z";
    expect(expectOk(await site.borrow(grace, key)).borrowed_until).toBe(until);
    expect(site.lastSeq()).toBe(written);
  });

  test("repeated brings no lease for a borrow that another device has by now", async () => {
    const site = await siteWith(true);
    expectOk(await site.borrow(BORROW, { ...keyed, ...LAPTOP }));
    expectOk(await site.borrow({ ...ADA, borrowed_until: "2026-03-02T09:10:00.000Z" }));
    site.clock.now = minutesLater(10);
    expectOk(await site.borrow(BORROW, TABLET));
    await expectRefusedUnchanged(site, 400, "leased_elsewhere", () =>
      site.borrow(BORROW, { ...keyed, ...LAPTOP }),
    );
  });
});

describe.each([["borrowed"], ["registered"]])("the device that %s with the first nonce", (way) => {
  async function bound(): Promise<Appliance> {
    const site = await siteWith(false);
    expectOk(await site.borrow(BORROW, way === "borrowed" ? LAPTOP : {}));
    expectOk(await site.register(ADA, LAPTOP));
    return site;
  }

  async function expectBound(folder: string): Promise<void> {
    const site = await openAppliance({ folder, licenses: {} });
    expectRefusal(await site.borrow(BORROW, TABLET), 400, "leased_elsewhere");
    expect(nonceIn(await site.borrow(BORROW, LAPTOP))).toBe(LAPTOP["x-nonce"]);
  }

  test("is known after a clean stop, from the state", async () => {
    const site = await bound();
    await site.stop();
    await expectBound(site.folder);
  });

  test("is known from the journal alone, after a stop without a checkpoint", async () => {
    await expectBound(copyFolder((await bound()).folder));
  });
});
