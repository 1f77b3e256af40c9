import { describe, expect, test } from "bun:test";
import { HOUR, later, MINUTE, SECOND, type Instant } from "../../../src/domain/time.ts";
import { GrantEstimator } from "../../../src/operations/queue/grant-estimator.ts";
import { RecordedSessions } from "../../../src/operations/queue/recorded-sessions.ts";
import { SessionLengths } from "../../../src/operations/queue/session-lengths.ts";
import { openLicensedSite, openSite, transactOrThrow } from "../../support/licensed-store.ts";
import {
  hoursLater,
  licenseInstalled,
  MONDAY,
  register,
  replayEvents,
  slotBorrowed,
  slotTaken,
  unregister,
} from "../../support/scenario.ts";

/** Lengths as if each was equally probable up to an hour. */
const LENGTHS = Array.from({ length: 100 }, (_, index) => ((index + 1) * HOUR) / 101);
const sessions = { read: () => ({ lengths: LENGTHS, count: LENGTHS.length }) };

const later30 = later(MONDAY, 30 * MINUTE);
const heldUntil = { end: hoursLater(40) };

describe("the estimate of a grant", () => {
  test("is an instant, earlier the longer the present sessions last", () => {
    const state = replayEvents([licenseInstalled(1), slotTaken("ada", heldUntil)]);
    const [atOnce, after] = [MONDAY, later30].map((at) =>
      new GrantEstimator(sessions).estimate(state, "cad", 1, at),
    );
    expect(Math.abs((atOnce?.p50 ?? 0) - MONDAY - 30 * MINUTE)).toBeLessThan(MINUTE);
    expect(Math.abs((after?.p50 ?? 0) - later30 - 15 * MINUTE)).toBeLessThan(MINUTE);
  });

  test("does not count borrowed slots as slots that come free", () => {
    const taken = [1, 2].map((slot) => slotTaken(`user-${slot}`, { slot, ...heldUntil }));
    const borrowed = slotBorrowed("user-2", hoursLater(20), 2);
    const one = replayEvents([licenseInstalled(1), ...taken.slice(0, 1)]);
    const two = replayEvents([licenseInstalled(1), ...taken, borrowed]);
    const estimate = (state: typeof one) =>
      new GrantEstimator(sessions).estimate(state, "cad", 1, MONDAY);
    expect(estimate(two)).toEqual(estimate(one));
  });

  test("does not depend on how long a slot is borrowed already", () => {
    const taken = slotTaken("ada", { slot: 2, at: later30, ...heldUntil });
    const borrow = [slotTaken("eve", heldUntil), slotBorrowed("eve", hoursLater(20))];
    const [alone, besides] = [[taken], [...borrow, taken]].map((events) =>
      new GrantEstimator(sessions).estimate(
        replayEvents([licenseInstalled(1), ...events]),
        "cad",
        1,
        later30,
      ),
    );
    expect(besides).toEqual(alone);
    expect(alone).not.toBeNull();
  });

  test("counts a held slot as one that is taken now", () => {
    const facts = { host: "", address: "10.0.0.7", login: null, certificate: null };
    const place = { at: MONDAY, product: "cad", user: "eve", place: 7 };
    const waits = { type: "PlaceTaken", ...place, licenseId: null, facts, home: null } as const;
    const state = replayEvents([
      licenseInstalled(1),
      slotTaken("ada", heldUntil),
      { ...waits, peer: "10.0.0.7" },
      { type: "HoldGiven", ...place, license: 1 },
    ]);
    const taken = [1, 2].map((slot) => slotTaken(`user-${slot}`, { slot, ...heldUntil }));
    const two = replayEvents([licenseInstalled(1), ...taken]);
    const [withHold, without] = [state, two].map(
      (site) => (new GrantEstimator(sessions).estimate(site, "cad", 1, MONDAY)?.p50 ?? 0) - MONDAY,
    );
    expect(Math.abs((withHold ?? 0) / (without ?? 1) - 1)).toBeLessThan(0.02);
  });

  test("is null for a product without sessions, or that is not installed", () => {
    const state = replayEvents([licenseInstalled(1), slotTaken("ada", heldUntil)]);
    const estimator = new GrantEstimator({ read: () => ({ lengths: [], count: 0 }) });
    expect(estimator.estimate(state, "cad", 1, MONDAY)).toBeNull();
    expect(new GrantEstimator(sessions).estimate(state, "xyz", 1, MONDAY)).toBeNull();
  });

  test("is prepared once a second, and never lies in the past", () => {
    const state = replayEvents([licenseInstalled(1), slotTaken("ada", heldUntil)]);
    let [nowMs, reads] = [0, 0];
    const counting = { read: () => ((reads += 1), sessions.read()) };
    const estimator = new GrantEstimator(counting, () => nowMs);
    const estimate = (at: Instant) => estimator.estimate(state, "cad", 1, at);
    for (let call = 0; call < 100; call += 1) estimate(later(MONDAY, call));
    expect(reads).toBe(1);
    expect(estimate(hoursLater(2))).toEqual({ p50: hoursLater(2), p90: hoursLater(2) });
    nowMs += SECOND;
    estimate(later(MONDAY, SECOND));
    expect(reads).toBe(2);
  });
});

test("recorded sessions are read from the audit log, and continued by what happens then", async () => {
  const before = await openLicensedSite();
  const runSession = async (user: string, minutes: number): Promise<void> => {
    await transactOrThrow(before.store, register(user));
    before.clock.now = later(before.clock.now, minutes * MINUTE);
    await transactOrThrow(before.store, unregister(user));
  };
  await runSession("ada", 10);
  await before.store.checkpoint();
  await runSession("eve", 20);
  await transactOrThrow(before.store, register("ida"));
  await transactOrThrow(before.store, register("ann"));
  await before.stop();

  const lengths = new SessionLengths();
  const { store, clock } = await openSite({ folder: before.folder, observer: lengths });
  const recorded = new RecordedSessions(store, lengths);
  const endSession = async (user: string, minutes: number): Promise<void> => {
    clock.now = later(before.clock.now, minutes * MINUTE);
    await transactOrThrow(store, unregister(user));
  };
  await endSession("ida", 5);
  expect(recorded.read("cad", clock.now).count).toBe(0);
  await recorded.load(clock.now);
  await endSession("ann", 25);
  const minutes = recorded.read("cad", clock.now).lengths.map((length) => length / MINUTE);
  expect(minutes).toEqual([5, 10, 20, 25]);
});
