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
import type { Terms } from "../../../src/domain/model/licenses/terms.ts";
import { DAY, HOUR, later, MINUTE, SECOND, type Instant } from "../../../src/domain/time.ts";
import type { IssuingKey } from "../../../src/license/documents/document.ts";
import { keyIdOf } from "../../../src/license/documents/keys.ts";
import {
  decodeTimeCode,
  signTimeDocument,
  type TimeDocument,
} from "../../../src/license/documents/time-document.ts";
import { Identity } from "../../../src/operations/appliance/identity.ts";
import { Timekeeping } from "../../../src/operations/clock/timekeeping.ts";
import { ApplianceClock } from "../../../src/platform/clock.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import {
  transactCommand,
  transactOrThrow,
  unwrap,
  openSite,
} from "../../support/licensed-store.ts";
import { borrow, install, MONDAY, register } from "../../support/scenario.ts";
import { tempFolder } from "../../support/temp-folder.ts";
import { ISSUING, ROOT, VENDOR } from "../../support/new-site.ts";
import { certifyKey, makeVendor, VENDOR as OTHER } from "../../support/vendor.ts";

const END = later(MONDAY, 999 * DAY);
const PEER = "10.0.0.1";

// The duration of a test must not matter: only the system clock moves, when a test sets it.
beforeEach(() => {
  const stopped = performance.now();
  spyOn(performance, "now").mockImplementation(() => stopped);
});

afterEach(() => {
  mock.restore();
  setSystemTime();
});

const setSystemClock = (at: Instant): void => void setSystemTime(at);

/** License 1 is perpetual by default; one vendor is trusted; the time is Monday. */
async function openTimedSite(terms: Partial<Terms> = {}, folder = join(tempFolder(), "data")) {
  const clock = new ApplianceClock();
  const isNew = realDisk.stat(folder) === null;
  if (isNew) setSystemClock(MONDAY);
  const { now, jumps, behind } = clock;
  const { store, stop } = await openSite({ folder, clock: now, jumps, behind });
  if (isNew) {
    await transactOrThrow(store, install(1, { slots: 9, ...terms }));
  }
  const identity = new Identity(realDisk, join(folder, ".."), []);
  await identity.create();
  const time = new Timekeeping(store, clock, identity);
  onTestFinished(() => time.stop());
  const readLatestEventAt = (): Instant => store.peek((state) => state.latestEventAt);
  const readSeq = (): number => store.status().seq;
  return { folder, store, stop, identity, time, readLatestEventAt, readSeq };
}

type TimedSite = Awaited<ReturnType<typeof openTimedSite>>;

/** A site with a slot taken from an expiring license, so that its clock cannot be set freely. */
async function openWithExpiringSlot(): Promise<TimedSite> {
  const site = await openTimedSite({ validUntil: END });
  await transactOrThrow(site.store, register("ada"));
  return site;
}

async function signAnswer(
  { time }: TimedSite,
  at: Instant,
  overrides: Partial<TimeDocument> = {},
  signer: IssuingKey | null = null,
): Promise<string> {
  const code = decodeTimeCode(unwrap(await time.requestTimeCode(PEER)));
  if (code === null) throw new Error("not a clock code");
  const iss = VENDOR.vendor;
  const key = signer ?? (await certifyKey(ROOT, {}, ISSUING));
  return signTimeDocument({ iss, iat: at / SECOND, ...code, ...overrides }, key);
}

describe("Timekeeping.tick", () => {
  test("records the time after ten idle minutes, and not before", async () => {
    const { time, readLatestEventAt, readSeq } = await openTimedSite();
    const [startTime, before] = [readLatestEventAt(), readSeq()];
    // In steps of less than a minute: a larger step is a jump and is recorded immediately.
    const pass = async (from: number, to: number): Promise<void> => {
      for (let passed = from; passed <= to; passed += 30 * SECOND) {
        setSystemClock(later(startTime, passed));
        await time.tick();
      }
    };
    await pass(0, 9.5 * MINUTE);
    expect([readLatestEventAt(), readSeq()]).toEqual([startTime, before]);
    await pass(10 * MINUTE, 10 * MINUTE);
    expect(readLatestEventAt()).toBe(later(startTime, 10 * MINUTE));
    expect(readSeq()).toBe(before + 1);
    await time.tick();
    expect(readSeq()).toBe(before + 1);
  });

  test("records a jump of the clock once, with both instants", async () => {
    const { store, time, readLatestEventAt } = await openWithExpiringSlot();
    const from = readLatestEventAt();
    setSystemClock(later(MONDAY, HOUR));
    await time.tick();
    await time.tick();
    const [jump, ...others] = store.peek(({ clockJumps }) => clockJumps);
    expect(others).toEqual([]);
    expect(jump).toMatchObject({ to: later(MONDAY, HOUR), reason: "step" });
    expect(jump?.from ?? from).toBe(from);
    expect(readLatestEventAt()).toBe(later(MONDAY, HOUR));
  });

  test("records a jump at start, which is kept after the next start", async () => {
    const site = await openWithExpiringSlot();
    await site.stop();
    setSystemClock(later(MONDAY, 30 * DAY));
    const reopened = await openTimedSite({}, site.folder);
    await reopened.time.tick();
    await reopened.stop();
    const last = await openTimedSite({}, site.folder);
    const jumps = last.store.peek((state) => state.clockJumps);
    expect(jumps).toMatchObject([{ to: later(MONDAY, 30 * DAY), reason: "start" }]);
  });

  test("records the time while the system clock is behind, so that a restart loses none", async () => {
    const { store, time, readLatestEventAt, readSeq } = await openWithExpiringSlot();
    const before = readSeq();
    setSystemClock(later(MONDAY, HOUR));
    // This reads the clock and writes nothing: one hour is on the clock and not recorded.
    unwrap(await store.read(() => null));
    setSystemClock(later(MONDAY, -DAY));
    await time.tick();
    // The jump by one hour, and the mark.
    expect(readSeq()).toBe(before + 2);
    expect(readLatestEventAt()).toBe(later(MONDAY, HOUR));
  });

  test("does not write each minute while a clock far ahead is not followed", async () => {
    const { time, readSeq } = await openWithExpiringSlot();
    const before = readSeq();
    setSystemClock(later(MONDAY, 4000 * DAY));
    await time.tick();
    await time.tick();
    expect(readSeq()).toBe(before);
  });

  test("follows the clock back while nothing was taken from an expiring license", async () => {
    const { store, time, readLatestEventAt } = await openTimedSite({ validUntil: END });
    setSystemClock(later(MONDAY, -30 * DAY));
    await time.tick();
    expect(readLatestEventAt()).toBe(later(MONDAY, -30 * DAY));
    expect(time.view().state).toBe("ok");
    const { end } = await transactOrThrow(store, register("ada"));
    expect(end).toBe(later(MONDAY, 30 * MINUTE - 30 * DAY));
  });

  test("follows the clock back when the later time was never recorded", async () => {
    const { store, time } = await openTimedSite();
    setSystemClock(later(MONDAY, HOUR));
    expect(unwrap(await store.read((_state, { at }) => at))).toBe(later(MONDAY, HOUR));
    setSystemClock(later(MONDAY, 2 * MINUTE));
    await time.tick();
    expect(time.view().now).toBe(later(MONDAY, 2 * MINUTE));
  });

  test("does not follow the clock back once a slot of an expiring license was taken", async () => {
    const { time, readLatestEventAt, readSeq } = await openWithExpiringSlot();
    const [startTime, before] = [readLatestEventAt(), readSeq()];
    setSystemClock(later(MONDAY, -30 * DAY));
    await time.tick();
    expect([readLatestEventAt(), readSeq()]).toEqual([startTime, before]);
    expect(time.view().now).toBe(MONDAY);
  });
});

describe("Timekeeping.view", () => {
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
    test(`reports ${state} when the system clock is ${off} ms from the recorded time`, async () => {
      const { time } = await openWithExpiringSlot();
      setSystemClock(later(MONDAY, off));
      expect(time.view()).toMatchObject({ state, systemTime: later(MONDAY, off) });
    });
  }

  test("reports a suspect clock, which blocks new slots of expiring licenses until it is right", async () => {
    const { store } = await openWithExpiringSlot();
    setSystemClock(later(MONDAY, -DAY));
    const refused = { ok: false, fault: { code: "clock_suspect", behind: DAY } };
    expect(await transactCommand(store, register("bob"))).toMatchObject(refused);
    expect(await transactCommand(store, borrow("ada"))).toMatchObject(refused);
    expect((await transactOrThrow(store, register("ada"))).registeredAt).toBe(MONDAY);
    setSystemClock(later(MONDAY, SECOND));
    await transactOrThrow(store, register("bob"));
  });
});

describe("Timekeeping.acceptSystemClock", () => {
  test("makes a clock far ahead the recorded time", async () => {
    const site = await openWithExpiringSlot();
    setSystemClock(later(MONDAY, 500 * DAY));
    expect(site.time.view().state).toBe("ahead");
    expect(unwrap(await site.time.acceptSystemClock())).toMatchObject({ state: "ok" });
    expect(site.readLatestEventAt()).toBe(later(MONDAY, 500 * DAY));
    await site.stop();
    setSystemClock(MONDAY);
    const reopened = await openTimedSite({}, site.folder);
    expect(reopened.time.view().now).toBe(later(MONDAY, 500 * DAY));
  });

  test("does not set the time back", async () => {
    const { store, time } = await openWithExpiringSlot();
    setSystemClock(later(MONDAY, HOUR));
    unwrap(await store.read(() => null));
    setSystemClock(later(MONDAY, -DAY));
    expect(unwrap(await time.acceptSystemClock()).now).toBe(later(MONDAY, HOUR));
  });
});

describe("a time document of the vendor", () => {
  const REAL = later(MONDAY, -3 * DAY);
  const ANOTHER_CODE = "other_code";

  test("sets the clock back, so that expiring licenses grant slots, also after a restart", async () => {
    const site = await openWithExpiringSlot();
    setSystemClock(REAL);
    const repaired = unwrap(
      await site.time.applyTimeDocument(`${await signAnswer(site, REAL)}\n`, PEER),
    );
    expect(repaired.state).toBe("ok");
    expect(repaired.now).toBe(REAL);
    const { end, slotsInUse } = await transactOrThrow(site.store, register("bob"));
    expect(end).toBe(later(REAL, 30 * MINUTE));
    expect(slotsInUse).toBe(2);
    await site.stop();
    expect((await openTimedSite({}, site.folder)).time.view().now).toBe(REAL);
  });

  test("sets the clock no further back than the system clock when it was signed earlier", async () => {
    const site = await openWithExpiringSlot();
    const document = await signAnswer(site, REAL);
    setSystemClock(later(REAL, DAY));
    expect(unwrap(await site.time.applyTimeDocument(document, PEER)).now).toBe(later(REAL, DAY));
  });

  test("sets nothing back while the system clock is unchanged", async () => {
    const site = await openWithExpiringSlot();
    const document = await signAnswer(site, REAL);
    unwrap(await site.time.applyTimeDocument(document, PEER));
    expect(site.time.view().now).toBe(MONDAY);
  });

  test("is accepted only once", async () => {
    const site = await openWithExpiringSlot();
    setSystemClock(REAL);
    const document = await signAnswer(site, REAL);
    unwrap(await site.time.applyTimeDocument(document, PEER));
    await expectRefused(site, document, ANOTHER_CODE);
  });

  test("is accepted only once when it is not earlier, and changes no time", async () => {
    const site = await openWithExpiringSlot();
    const document = await signAnswer(site, later(MONDAY, 20 * DAY));
    await site.time.applyTimeDocument(document, PEER);
    expect(site.time.view().now).toBe(MONDAY);
    setSystemClock(later(MONDAY, DAY));
    await expectRefused(site, document, ANOTHER_CODE);
  });

  test("is refused for another time code or another appliance", async () => {
    const site = await openWithExpiringSlot();
    await expectRefused(site, await signAnswer(site, REAL, { nonce: "0000000000" }), ANOTHER_CODE);
    await expectRefused(site, await signAnswer(site, REAL, { appliance: OTHER.id }), ANOTHER_CODE);
  });

  test("is refused from a vendor that did not issue all licenses in use", async () => {
    const site = await openWithExpiringSlot();
    const vendor = makeVendor({ products: ["DEMO"] });
    const trust = { ...vendor, document: "other", sum: "0".repeat(64) };
    await transactOrThrow(site.store, { type: "TrustVendor", trust, peer: PEER });
    const otherAnswer = await signAnswer(site, REAL, { iss: vendor.vendor }, OTHER.issuing);
    await expectRefused(site, otherAnswer, "other_vendor");
  });

  test("is accepted for a time code that stays the same, and refused a week later", async () => {
    const site = await openWithExpiringSlot();
    const code = unwrap(await site.time.requestTimeCode(PEER));
    expect(unwrap(await site.time.requestTimeCode(PEER))).toBe(code);
    const earlierAnswer = await signAnswer(site, REAL);
    setSystemClock(later(site.time.view().now, 7 * DAY));
    unwrap(await site.time.acceptSystemClock());
    await expectRefused(site, earlierAnswer, ANOTHER_CODE);
    expect(unwrap(await site.time.requestTimeCode(PEER))).not.toBe(code);
  });

  test("is refused without a trusted signature, and the time code stays open", async () => {
    const site = await openWithExpiringSlot();
    setSystemClock(REAL);
    const foreign = await signAnswer(site, REAL, {}, OTHER.issuing);
    expect(await site.time.applyTimeDocument(foreign, PEER)).toMatchObject({
      fault: { code: "untrusted_vendor" },
    });
    const forged = { key: OTHER.issuing.key, cert: (await certifyKey(ROOT, {}, ISSUING)).cert };
    await expectRefused(site, await signAnswer(site, REAL, {}, forged), "certificate");
    const good = await signAnswer(site, REAL);
    await expectRefused(site, `${good}x`, "form");
    unwrap(await site.time.applyTimeDocument(good, PEER));
  });

  test("is refused of a key that is retired or had ended when it signed, not when the site believes it ended", async () => {
    const site = await openWithExpiringSlot();
    setSystemClock(REAL);
    const endsAt = (at: Instant) => certifyKey(ROOT, { until: at / SECOND }, ISSUING);
    // The clock of the site ran ahead, past the end of the key.
    const between = await endsAt(later(REAL, HOUR));
    expect(
      await site.time.applyTimeDocument(await signAnswer(site, REAL, {}, await endsAt(REAL)), PEER),
    ).toMatchObject({ fault: { code: "key_ended", end: REAL, at: REAL } });
    const outdated = await certifyKey(ROOT, { trust: 2 }, ISSUING);
    expect(
      await site.time.applyTimeDocument(await signAnswer(site, REAL, {}, outdated), PEER),
    ).toMatchObject({ fault: { code: "trust_outdated" } });
    const good = await signAnswer(site, REAL, {}, between);
    const { notice: _notice, ...before } = VENDOR;
    const retired = [keyIdOf(ISSUING)];
    const trust = { ...before, version: 2, retired, document: "2", sum: "0".repeat(64) };
    const other = await openWithExpiringSlot();
    await transactOrThrow(other.store, { type: "TrustVendor", trust, peer: PEER });
    setSystemClock(REAL);
    expect(
      await other.time.applyTimeDocument(await signAnswer(other, REAL, {}, between), PEER),
    ).toMatchObject({ fault: { code: "retired_key", key: retired[0] } });
    expect(unwrap(await site.time.applyTimeDocument(good, PEER)).now).toBe(REAL);
  });

  async function expectRefused(site: TimedSite, document: string, wrong: string): Promise<void> {
    const [latestEventAt, seq] = [site.readLatestEventAt(), site.readSeq()];
    const fault = { code: "invalid_license_file", problem: { wrong } };
    expect(await site.time.applyTimeDocument(document, PEER)).toMatchObject({ ok: false, fault });
    expect([site.readLatestEventAt(), site.readSeq()]).toEqual([latestEventAt, seq]);
  }
});
