import {
  afterEach,
  beforeEach,
  describe,
  expect,
  mock,
  onTestFinished,
  setSystemTime,
  spyOn,
  test,
} from "bun:test";
import { join } from "node:path";
import type { Terms } from "../../src/domain/terms.ts";
import { DAY, HOUR, later, MINUTE, SECOND, type Instant } from "../../src/domain/time.ts";
import { keyIdOf, generateKey, publicPart, type PrivateKey } from "../../src/license/keys.ts";
import {
  decodeTimeCode,
  signTimeDocument,
  type TimeDocument,
} from "../../src/license/time-document.ts";
import { Identity } from "../../src/operations/identity.ts";
import { Timekeeping } from "../../src/operations/timekeeping.ts";
import { ApplianceClock } from "../../src/platform/clock.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { transactCommand, transactOrThrow, unwrap, openSite } from "../support/licensed-store.ts";
import { borrow, install, MONDAY, register } from "../support/scenario.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { VENDOR } from "../support/new-site.ts";
import { VENDOR_KEY, makeVendor } from "../support/vendor.ts";

const END = later(MONDAY, 999 * DAY);
const PEER = "10.0.0.1";

// The time that a test takes is not to be told: only the system's clock goes on, where a test sets it.
beforeEach(() => {
  const stopped = performance.now();
  spyOn(performance, "now").mockImplementation(() => stopped);
});

afterEach(() => {
  mock.restore();
  setSystemTime();
});

const wall = (at: Instant): void => void setSystemTime(at);

/** License 1 is perpetual unless told otherwise; one vendor is trusted; it is Monday. */
async function openTimed(terms: Partial<Terms> = {}, folder = join(tempFolder(), "data")) {
  const clock = new ApplianceClock();
  const isNew = realDisk.stat(folder) === null;
  if (isNew) wall(MONDAY);
  const { now, jumps, behind } = clock;
  const { store, stop } = await openSite({ folder, clock: now, jumps, behind });
  if (isNew) {
    await transactOrThrow(store, {
      type: "TrustVendor",
      vendor: { ...VENDOR, version: 2, keys: [publicPart(VENDOR_KEY), ...VENDOR.keys] },
      peer: PEER,
    });
    await transactOrThrow(store, install(1, { slots: 9, ...terms }));
  }
  const identity = new Identity(realDisk, join(folder, ".."), []);
  await identity.create();
  const time = new Timekeeping(store, clock, identity);
  onTestFinished(() => time.stop());
  const mark = (): Instant => store.peek((state) => state.latestEventAt);
  const seq = (): number => store.health().seq;
  return { folder, store, stop, identity, time, mark, seq };
}

type Timed = Awaited<ReturnType<typeof openTimed>>;

/** A site that lent from a license with an end, so that its clock is no longer free. */
async function openLent(): Promise<Timed> {
  const site = await openTimed({ validUntil: END });
  await transactOrThrow(site.store, register("ada"));
  return site;
}

async function answer(
  { time }: Timed,
  at: Instant,
  differing: Partial<TimeDocument> = {},
  key: PrivateKey = VENDOR_KEY,
): Promise<string> {
  const code = decodeTimeCode(unwrap(await time.requestTimeCode(PEER)));
  if (code === null) throw new Error("not a clock code");
  const iss = VENDOR.vendor;
  return signTimeDocument({ iss, iat: at / SECOND, ...code, ...differing }, key);
}

describe("a minute's tick", () => {
  test("marks the time after ten idle minutes, and not before", async () => {
    const { time, mark, seq } = await openTimed();
    const [begun, before] = [mark(), seq()];
    // In steps of less than a minute: a larger one is a jump, and goes on record at once.
    const pass = async (from: number, to: number): Promise<void> => {
      for (let passed = from; passed <= to; passed += 30 * SECOND) {
        wall(later(begun, passed));
        await time.tick();
      }
    };
    await pass(0, 9.5 * MINUTE);
    expect([mark(), seq()]).toEqual([begun, before]);
    await pass(10 * MINUTE, 10 * MINUTE);
    expect(mark()).toBe(later(begun, 10 * MINUTE));
    expect(seq()).toBe(before + 1);
    await time.tick();
    expect(seq()).toBe(before + 1);
  });

  test("puts a jump of the clock on record, with both instants, once", async () => {
    const { store, time, mark } = await openLent();
    const from = mark();
    wall(later(MONDAY, HOUR));
    await time.tick();
    await time.tick();
    const [jump, ...others] = store.peek(({ clockJumps }) => clockJumps);
    expect(others).toEqual([]);
    expect(jump).toMatchObject({ to: later(MONDAY, HOUR), reason: "step" });
    expect(jump?.from ?? from).toBe(from);
    expect(mark()).toBe(later(MONDAY, HOUR));
  });

  test("puts a jump at a start on record, which is known after the next start too", async () => {
    const site = await openLent();
    await site.stop();
    wall(later(MONDAY, 30 * DAY));
    const again = await openTimed({}, site.folder);
    await again.time.tick();
    await again.stop();
    const last = await openTimed({}, site.folder);
    const jumps = last.store.peek((state) => state.clockJumps);
    expect(jumps).toMatchObject([{ to: later(MONDAY, 30 * DAY), reason: "start" }]);
  });

  test("marks as well while the system's clock is behind: idle time is not lost by a restart", async () => {
    const { store, time, mark, seq } = await openLent();
    const before = seq();
    wall(later(MONDAY, HOUR));
    // A reading, and nothing written: an hour is on the clock and not on record.
    unwrap(await store.read(() => null));
    wall(later(MONDAY, -DAY));
    await time.tick();
    // The jump by an hour, and the mark.
    expect(seq()).toBe(before + 2);
    expect(mark()).toBe(later(MONDAY, HOUR));
  });

  test("does not write each minute while a wild clock is not believed", async () => {
    const { time, seq } = await openLent();
    const before = seq();
    wall(later(MONDAY, 4000 * DAY));
    await time.tick();
    await time.tick();
    expect(seq()).toBe(before);
  });

  test("follows the clock back while nothing dated was lent, and goes on from there", async () => {
    const { store, time, mark } = await openTimed({ validUntil: END });
    wall(later(MONDAY, -30 * DAY));
    await time.tick();
    expect(mark()).toBe(later(MONDAY, -30 * DAY));
    expect(time.view().state).toBe("ok");
    const { end } = await transactOrThrow(store, register("ada"));
    expect(end).toBe(later(MONDAY, 30 * MINUTE - 30 * DAY));
  });

  test("follows it back too when what it said was never written", async () => {
    const { store, time } = await openTimed();
    wall(later(MONDAY, HOUR));
    expect(unwrap(await store.read((_state, at) => at))).toBe(later(MONDAY, HOUR));
    wall(later(MONDAY, 2 * MINUTE));
    await time.tick();
    expect(time.view().now).toBe(later(MONDAY, 2 * MINUTE));
  });

  test("does not follow it once something dated was", async () => {
    const { time, mark, seq } = await openLent();
    const [begun, before] = [mark(), seq()];
    wall(later(MONDAY, -30 * DAY));
    await time.tick();
    expect([mark(), seq()]).toEqual([begun, before]);
    expect(time.view().now).toBe(MONDAY);
  });
});

describe("what is told of the clock", () => {
  const states = [
    [0, "ok"],
    [-10 * MINUTE + 1, "ok"],
    [-10 * MINUTE, "behind"],
    [-DAY + 1, "behind"],
    [-DAY, "suspect"],
    [DAY, "ok"],
    [30 * DAY, "ahead"],
  ] as const;

  for (const [off, state] of states) {
    test(`${off} ms from what is on record: ${state}`, async () => {
      const { time } = await openLent();
      wall(later(MONDAY, off));
      expect(time.view()).toMatchObject({ state, wall: later(MONDAY, off) });
    });
  }

  test("suspect: no new slots with an end, until the clock is right again", async () => {
    const { store } = await openLent();
    wall(later(MONDAY, -DAY));
    const refused = { ok: false, fault: { code: "clock_suspect", behind: DAY } };
    expect(await transactCommand(store, register("bob"))).toMatchObject(refused);
    expect(await transactCommand(store, borrow("ada"))).toMatchObject(refused);
    expect((await transactOrThrow(store, register("ada"))).registeredAt).toBe(MONDAY);
    wall(later(MONDAY, SECOND));
    await transactOrThrow(store, register("bob"));
  });
});

describe("an operator's word", () => {
  test("makes a wild clock the time, on record", async () => {
    const site = await openLent();
    wall(later(MONDAY, 500 * DAY));
    expect(site.time.view().state).toBe("ahead");
    expect(unwrap(await site.time.acceptSystemClock())).toMatchObject({ state: "ok" });
    expect(site.mark()).toBe(later(MONDAY, 500 * DAY));
    await site.stop();
    wall(MONDAY);
    const again = await openTimed({}, site.folder);
    expect(again.time.view().now).toBe(later(MONDAY, 500 * DAY));
  });

  test("does not take time back", async () => {
    const { store, time } = await openLent();
    wall(later(MONDAY, HOUR));
    unwrap(await store.read(() => null));
    wall(later(MONDAY, -DAY));
    expect(unwrap(await time.acceptSystemClock()).now).toBe(later(MONDAY, HOUR));
  });
});

describe("a vendor's time", () => {
  const REAL = later(MONDAY, -3 * DAY);
  const other = "answers another code";

  test("sets the clock back, and slots with an end are lent again, after a restart too", async () => {
    const site = await openLent();
    wall(REAL);
    const repaired = unwrap(
      await site.time.applyTimeDocument(`${await answer(site, REAL)}\n`, PEER),
    );
    expect(repaired.state).toBe("ok");
    expect(repaired.now).toBe(REAL);
    const { end, slotsInUse } = await transactOrThrow(site.store, register("bob"));
    expect(end).toBe(later(REAL, 30 * MINUTE));
    expect(slotsInUse).toBe(2);
    await site.stop();
    expect((await openTimed({}, site.folder)).time.view().now).toBe(REAL);
  });

  test("that was signed a while ago sets it no further back than the system's clock", async () => {
    const site = await openLent();
    const document = await answer(site, REAL);
    wall(later(REAL, DAY));
    expect(unwrap(await site.time.applyTimeDocument(document, PEER)).now).toBe(later(REAL, DAY));
  });

  test("takes nothing back while the system clock says the same as before", async () => {
    const site = await openLent();
    const document = await answer(site, REAL);
    unwrap(await site.time.applyTimeDocument(document, PEER));
    expect(site.time.view().now).toBe(MONDAY);
  });

  test("counts once", async () => {
    const site = await openLent();
    wall(REAL);
    const document = await answer(site, REAL);
    unwrap(await site.time.applyTimeDocument(document, PEER));
    await refuses(site, document, other);
  });

  test("counts once also when it is not earlier, and takes the clock nowhere", async () => {
    const site = await openLent();
    const document = await answer(site, later(MONDAY, 20 * DAY));
    await site.time.applyTimeDocument(document, PEER);
    expect(site.time.view().now).toBe(MONDAY);
    wall(later(MONDAY, DAY));
    await refuses(site, document, other);
  });

  test("answers the open code and no other, of this appliance and no other", async () => {
    const site = await openLent();
    await refuses(site, await answer(site, REAL, { nonce: "0000000000" }), other);
    await refuses(site, await answer(site, REAL, { appliance: keyIdOf(VENDOR_KEY) }), other);
  });

  test("from a vendor whose licenses are not all that is lent is refused", async () => {
    const site = await openLent();
    const other = await generateKey();
    const vendor = makeVendor({ products: ["DEMO"] }, other);
    await transactOrThrow(site.store, { type: "TrustVendor", vendor, peer: PEER });
    const theirs = await answer(site, REAL, { iss: vendor.vendor }, other);
    await refuses(site, theirs, "is not from the vendor of every license");
  });

  test("answers a code that can be looked at again, and not a week later", async () => {
    const site = await openLent();
    const code = unwrap(await site.time.requestTimeCode(PEER));
    expect(unwrap(await site.time.requestTimeCode(PEER))).toBe(code);
    const kept = await answer(site, REAL);
    wall(later(site.time.view().now, 7 * DAY));
    unwrap(await site.time.acceptSystemClock());
    await refuses(site, kept, other);
    expect(unwrap(await site.time.requestTimeCode(PEER))).not.toBe(code);
  });

  test("from nobody trusted is refused, and the code stays open", async () => {
    const site = await openLent();
    wall(REAL);
    const stranger = await generateKey();
    await refuses(
      site,
      await answer(site, REAL, {}, stranger),
      "is not signed by a trusted vendor",
    );
    const good = await answer(site, REAL);
    await refuses(site, `${good}x`, "is not a signed document");
    unwrap(await site.time.applyTimeDocument(good, PEER));
  });

  async function refuses(site: Timed, document: string, reason: string): Promise<void> {
    const [mark, before] = [site.mark(), site.seq()];
    const fault = { code: "invalid_license_file", reason };
    expect(await site.time.applyTimeDocument(document, PEER)).toMatchObject({ ok: false, fault });
    expect([site.mark(), site.seq()]).toEqual([mark, before]);
  }
});
