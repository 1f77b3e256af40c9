import { describe, expect, test } from "bun:test";
import { readSiteRecord } from "../../src/operations/usage/read-site-record.ts";
import { openHistory } from "../../src/operations/usage/site-history.ts";
import { HOUR, instant, later, type Instant } from "../../src/domain/time.ts";
import { clipToClockPeriods } from "../../src/usage/clock-periods.ts";
import type { Session, SiteRecord } from "../../src/usage/site-record.ts";
import {
  openLicensedSite,
  openSite,
  transactOrThrow,
  unwrap,
  type OpenSite,
} from "../support/licensed-store.ts";
import {
  borrow,
  consume,
  consumeFeature,
  hoursLater,
  install,
  minutesLater,
  MONDAY,
  register,
  registerFeature,
  remove,
  renew,
  unregister,
} from "../support/scenario.ts";

const readRecord = async ({ store }: OpenSite, from: Instant | null = null): Promise<SiteRecord> =>
  unwrap(await readSiteRecord(openHistory(store), from));

const listSessions = ({ sessions }: SiteRecord) =>
  sessions
    .toSorted((a, b) => a.slot - b.slot)
    .map(({ user, feature, start, end, endedBy }) => [user, feature, start, end, endedBy]);

const setClockBack = (to: Instant) =>
  ({ type: "SetClockBack", to, nonce: null, peer: "10.0.0.1" }) as const;

describe("site record", () => {
  test("contains released, expired and held slots of products and features", async () => {
    const site = await openLicensedSite();
    await transactOrThrow(site.store, register("ada"));
    await transactOrThrow(site.store, register("bob"));
    await transactOrThrow(site.store, registerFeature("ada", "view"));
    site.clock.now = minutesLater(10);
    await transactOrThrow(site.store, unregister("bob"));
    await transactOrThrow(site.store, register("cy"));
    site.clock.now = minutesLater(35);
    const record = await readRecord(site);
    expect(listSessions(record)).toEqual([
      ["ada", null, MONDAY, minutesLater(30), "expiry"],
      ["bob", null, MONDAY, minutesLater(10), "user"],
      ["ada", "view", MONDAY, minutesLater(30), "expiry"],
      ["cy", null, minutesLater(10), null, null],
    ]);
    expect(record.sessions.map(({ product, host }) => [product, host])).toEqual(
      record.sessions.map(() => ["cad", "desk"]),
    );
    expect(record).toMatchObject({ from: MONDAY, to: minutesLater(35) });
  });

  test("dates an expiry at the end of the slot, not when it was written", async () => {
    const site = await openLicensedSite();
    await transactOrThrow(site.store, register("ada"));
    site.clock.now = minutesLater(20);
    await transactOrThrow(site.store, register("ada"));
    site.clock.now = hoursLater(5);
    await transactOrThrow(site.store, register("bob"));
    expect(listSessions(await readRecord(site))[0]).toEqual([
      "ada",
      null,
      MONDAY,
      minutesLater(50),
      "expiry",
    ]);
  });

  test("is the same before and after a checkpoint", async () => {
    const site = await openLicensedSite();
    await transactOrThrow(site.store, register("ada"));
    await transactOrThrow(site.store, consume(3, { user: "ada" }));
    await transactOrThrow(site.store, consumeFeature("plot", 2));
    site.clock.now = minutesLater(10);
    await transactOrThrow(site.store, unregister("ada"));
    const before = await readRecord(site);
    await site.store.checkpoint();
    expect(await readRecord(site)).toEqual(before);
    expect(before.consumptions.map(({ feature, user, count }) => [feature, user, count])).toEqual([
      [null, "ada", 3],
      ["plot", null, 2],
    ]);
  });

  test("keeps the old limit before a renewal, also if the record begins in between", async () => {
    const site = await openSite();
    await transactOrThrow(site.store, install(1, { slots: 2 }));
    await transactOrThrow(site.store, register("ada"));
    // The next month has a file of its own.
    site.clock.now = hoursLater(24 * 40);
    await transactOrThrow(site.store, renew(1, 3, { slots: 5 }));
    await site.store.checkpoint();
    site.clock.now = hoursLater(24 * 41);
    for (const from of [null, hoursLater(24 * 39)]) {
      const { terms } = await readRecord(site, from);
      expect(terms.map((period) => [period.terms.slots, period.to])).toEqual([
        [2, hoursLater(24 * 40)],
        [5, null],
      ]);
    }
  });

  test("ends the sessions of a removed license, also if they began before the record", async () => {
    const site = await openSite();
    await transactOrThrow(site.store, install(1, { borrowHours: 2_000 }));
    await transactOrThrow(site.store, borrow("ada", hoursLater(1_500)));
    await site.store.checkpoint();
    site.clock.now = hoursLater(24 * 40);
    await transactOrThrow(site.store, remove(1, true));
    await site.store.checkpoint();
    for (const from of [null, hoursLater(24 * 39)]) {
      const record = await readRecord(site, from);
      expect(record.sessions.map(({ end, endedBy }) => [end, endedBy])).toEqual([
        [hoursLater(24 * 40), "license_removed"],
      ]);
      expect(record.terms.map(({ to }) => to)).toEqual([hoursLater(24 * 40)]);
    }
  });

  test("contains what began before it and leaves out what ended before it", async () => {
    const site = await openLicensedSite();
    await transactOrThrow(site.store, register("ada"));
    await transactOrThrow(site.store, register("bob"));
    site.clock.now = minutesLater(5);
    await transactOrThrow(site.store, unregister("bob"));
    site.clock.now = minutesLater(20);
    await transactOrThrow(site.store, unregister("ada"));
    const record = await readRecord(site, minutesLater(10));
    expect(record.from).toBe(minutesLater(10));
    expect(record.sessions.map(({ user }) => user)).toEqual(["ada"]);
    expect(listParts(record, record.sessions[0])).toEqual([[0, 10, 20]]);
  });

  test("begins at its start although the month has no line yet then", async () => {
    const site = await openSite();
    await transactOrThrow(site.store, install(1, { timeoutMinutes: 60 * 24 * 90 }));
    await transactOrThrow(site.store, register("ada"));
    const monthStart = instant(Date.UTC(2026, 3, 1));
    site.clock.now = later(monthStart, 6 * HOUR);
    await transactOrThrow(site.store, unregister("ada"));
    await site.store.checkpoint();
    const record = await readRecord(site, monthStart);
    expect(record.from).toBe(monthStart);
    const parts = record.sessions.flatMap((s) => [...clipToClockPeriods(s, record.clockPeriods)]);
    expect(parts).toEqual([{ clockPeriod: 0, from: monthStart, to: site.clock.now }]);
  });

  test("begins with the oldest kept line if nothing older is known", async () => {
    const site = await openLicensedSite();
    await transactOrThrow(site.store, register("ada"));
    await site.store.checkpoint();
    expect((await readRecord(site, hoursLater(-24))).from).toBe(MONDAY);
  });

  test("joins the ends of a borrow that was made longer", async () => {
    const site = await openSite();
    await transactOrThrow(site.store, install(1));
    await transactOrThrow(site.store, borrow("ada", hoursLater(2)));
    site.clock.now = hoursLater(1);
    await transactOrThrow(site.store, borrow("ada", hoursLater(4)));
    expect((await readRecord(site)).sessions[0]?.borrows).toEqual([
      { from: MONDAY, until: hoursLater(1), clockPeriod: 0 },
      { from: hoursLater(1), until: hoursLater(4), clockPeriod: 0 },
    ]);
  });

  test("begins a clock period when the clock is set back", async () => {
    const site = await openLicensedSite();
    await transactOrThrow(site.store, register("ada"));
    site.clock.now = minutesLater(20);
    await transactOrThrow(site.store, setClockBack(minutesLater(5)));
    site.clock.now = minutesLater(12);
    await transactOrThrow(site.store, unregister("ada"));
    const record = await readRecord(site);
    expect(record.clockPeriods).toEqual([
      { from: MONDAY, to: minutesLater(20), endSeq: 4 },
      { from: minutesLater(5), to: minutesLater(12) },
    ]);
    expect(listParts(record, record.sessions[0])).toEqual([
      [0, 0, 20],
      [1, 5, 12],
    ]);
  });
});

/** The clock period of each part, and its ends in minutes. */
function listParts({ clockPeriods }: SiteRecord, session: Session | undefined) {
  if (session === undefined) throw new Error("there is no session");
  const minutes = (at: Instant): number => (at - MONDAY) / 60_000;
  return [...clipToClockPeriods(session, clockPeriods)].map(({ clockPeriod, from, to }) => [
    clockPeriod,
    minutes(from),
    minutes(to),
  ]);
}
