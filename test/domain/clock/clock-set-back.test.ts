import { describe, expect, test } from "bun:test";
import type { Command } from "../../../src/domain/decide.ts";
import type { SetClockBack } from "../../../src/domain/clock/clock.ts";
import { totalAt } from "../../../src/domain/consumption/counters.ts";
import type { Event } from "../../../src/domain/model/event.ts";
import { evolve } from "../../../src/domain/evolve/evolve.ts";
import type { MutableSlotPool } from "../../../src/domain/evolve/mutable-slot-pool.ts";
import type { MutableHolder, MutableLicense } from "../../../src/domain/evolve/mutable-state.ts";
import { countSlotsInUse } from "../../../src/domain/model/slots/pool.ts";
import type { License, State } from "../../../src/domain/model/state.ts";
import { DAY, later, type Instant } from "../../../src/domain/time.ts";
import {
  HARDWARE,
  HARDWARE_ID,
  makeRequestCommand,
  makeOpenRequest,
} from "../../support/new-site.ts";
import {
  justBefore,
  borrow,
  consume,
  consumeFeature,
  consumptionTerms,
  dumpState,
  featureTerms,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  registerFeature,
  renew,
  replayEvents,
  slotTaken,
  utc,
} from "../../support/scenario.ts";

const NONCE = "00ff10a5c3";
const PEER = "10.0.0.1";

const setBack = (to: Instant, nonce: string | null = null): SetClockBack => ({
  type: "SetClockBack",
  to,
  nonce,
  peer: PEER,
});
const askClock = (nonce: string): Command => ({ type: "AskClock", nonce, peer: PEER });
const clockSetBack = (from: Instant, to: Instant): Event => ({
  type: "ClockSetBack",
  at: to,
  from,
  to,
  peer: PEER,
});

/** The time by a clock that is three days ahead of Monday; everything below happens then. */
const AHEAD = later(MONDAY, 3 * DAY);
const threeDaysAfter = (at: Instant): Instant => later(at, 3 * DAY);

const allTerms = {
  slots: 9,
  consumption: consumptionTerms({ max: 10, period: "daily" }),
  features: [
    featureTerms("view", { floating: { slots: 3, timeoutMinutes: 10 } }),
    featureTerms("plot", { consumption: consumptionTerms({ max: 5, period: "weekly" }) }),
  ],
} as const;

const activation = {
  nonce: "aa00aa00aa",
  licenseKey: "K",
  initializationCode: "",
  hardwareId: HARDWARE_ID,
  hardware: HARDWARE,
};

const history = given(licenseInstalled(1, allTerms))
  .at(AHEAD)
  .execute(
    register("bob"),
    registerFeature("bob", "view"),
    borrow("eve", null, { once: { key: "k", fingerprint: "f" } }),
    consume(7),
    consumeFeature("plot", 2),
    makeRequestCommand("made ahead"),
    { type: "AirgapGenerate", activation, peer: PEER },
  );

function replaySetBack(
  from: Instant,
  to: Instant,
): { readonly state: State; readonly license: License } {
  const state = replayEvents([...history.events, clockSetBack(from, to)]);
  const license = state.licenses.get(1);
  if (license === undefined) throw new Error("license 1 is not installed");
  return { state, license };
}

const findHolder = ({ license }: ReturnType<typeof replaySetBack>, user: string) =>
  license.pool.get(user);

describe("setting the clock back by three days", () => {
  const result = replaySetBack(AHEAD, MONDAY);
  const { state, license } = result;

  test("moves the latest event time and the creation time to the new time", () => {
    expect(state.latestEventAt).toBe(MONDAY);
    const created: Event = { type: "Created", at: AHEAD, kind: "site", appliance: "A" };
    expect(replayEvents([created, clockSetBack(AHEAD, MONDAY)]).createdAt).toBe(MONDAY);
  });

  test("moves slots and feature slots back by three days", () => {
    expect(findHolder(result, "bob")).toMatchObject({
      registeredAt: MONDAY,
      end: minutesLater(30),
    });
    expect(license.features.get("view")?.pool.get("bob")).toMatchObject({
      registeredAt: MONDAY,
      end: minutesLater(10),
    });
  });

  test("keeps the end of a borrow, which is in its lease", () => {
    expect(findHolder(result, "eve")).toMatchObject({
      registeredAt: MONDAY,
      borrowedAt: MONDAY,
      end: later(AHEAD, DAY),
      borrowedUntil: later(AHEAD, DAY),
    });
  });

  test("keeps totals, which reset at the first period boundary after the new time", () => {
    // Midnight before Tuesday, 15 hours away, and before next Monday.
    expect(license.counter).toEqual({ total: 7, resetAt: hoursLater(15), counted: 7 });
    expect(license.features.get("plot")?.counter).toEqual({
      total: 2,
      resetAt: utc("2026-03-09T00:00:00Z"),
      counted: 2,
    });
    expect(totalAt(license.counter, justBefore(hoursLater(15)))).toBe(7);
    expect(totalAt(license.counter, hoursLater(15))).toBe(0);
  });

  test("moves idempotency keys, requests and activations back", () => {
    expect([...state.idempotencyRecords].map(([, { at }]) => at)).toEqual([MONDAY]);
    expect(state.requests.get("made ahead")?.at).toBe(MONDAY);
    expect(state.activations.get(activation.nonce)?.at).toBe(MONDAY);
  });

  test("leaves every slot held for as long as before, and a borrowed one until its end", () => {
    const countAt = (at: Instant): number => countSlotsInUse(license.pool, at);
    expect([0, 10, 29].map((minutes) => countAt(minutesLater(minutes)))).toEqual([2, 2, 2]);
    expect([countAt(justBefore(minutesLater(30))), countAt(minutesLater(30))]).toEqual([2, 1]);
    const end = later(AHEAD, DAY);
    expect([countAt(justBefore(end)), countAt(end)]).toEqual([1, 0]);
  });

  test("keeps the expiry index in agreement with the holders", () => {
    const fresh = replaySetBack(AHEAD, MONDAY).license as MutableLicense;
    expectConsistentIndexes(fresh.pool);
    for (const pool of pools(fresh)) expectConsistentIndexes(pool);
  });
});

const pools = (license: MutableLicense) => [...license.features.values()].map(({ pool }) => pool);

/** Every holder can be found in each index, and be removed from it. */
function expectConsistentIndexes<T extends MutableHolder>(pool: MutableSlotPool<T>): void {
  const holders = pool.expiryIndex.ended(later(AHEAD, 999 * DAY), Infinity);
  expect(new Set<unknown>(holders)).toEqual(new Set<unknown>(pool.inSlotOrder()));
  expect(holders.map(({ end }) => end)).toEqual(
    holders.map(({ end }) => end).toSorted((a, b) => a - b),
  );
  for (const holder of holders) pool.remove(holder);
  expect(pool.expiryIndex.ended(later(AHEAD, 999 * DAY), Infinity)).toEqual([]);
}

describe("setting the clock back", () => {
  const replaySetBackTo = (to: Instant) => replaySetBack(threeDaysAfter(MONDAY), to);

  test("keeps the end of a slot registered at the new time, and moves that of one 1 ms later", () => {
    expect(findHolder(replaySetBackTo(AHEAD), "bob")).toMatchObject({
      registeredAt: AHEAD,
      end: threeDaysAfter(minutesLater(30)),
    });
    const earlier = replaySetBackTo(justBefore(AHEAD));
    expect(findHolder(earlier, "bob")).toMatchObject({
      registeredAt: justBefore(AHEAD),
      end: justBefore(threeDaysAfter(minutesLater(30))),
    });
  });

  test("keeps the end of an earlier slot, which is held again if that end is still to come", () => {
    const slotAfter = (to: Instant) => {
      const state = replayEvents([licenseInstalled(1), slotTaken("ada"), clockSetBack(AHEAD, to)]);
      const pool = state.licenses.get(1)?.pool;
      return [pool?.get("ada")?.end, pool && countSlotsInUse(pool, to)];
    };
    expect(slotAfter(minutesLater(31))).toEqual([minutesLater(30), 0]);
    expect(slotAfter(minutesLater(30))).toEqual([minutesLater(30), 0]);
    expect(slotAfter(justBefore(minutesLater(30)))).toEqual([minutesLater(30), 1]);
  });

  test("keeps the time of earlier requests, and moves later ones to the new time", () => {
    const { state } = replaySetBack(AHEAD, hoursLater(1));
    const earlierRequests = [...state.requests.values()].filter(
      ({ request }) => request !== "made ahead",
    );
    expect(new Set(earlierRequests.map(({ at }) => at))).toEqual(new Set([makeOpenRequest("").at]));
    expect(state.requests.get("made ahead")?.at).toBe(hoursLater(1));
  });
});

describe("after the clock was set back", () => {
  const afterSetBack = given(...history.events, clockSetBack(AHEAD, MONDAY));

  test("a heartbeat renews a slot from the new time", () => {
    afterSetBack
      .at(minutesLater(10))
      .when(register("bob"))
      .records({ type: "SlotRenewed", end: minutesLater(40) });
  });

  test("a slot and its feature slot expire at their moved ends", () => {
    afterSetBack
      .at(minutesLater(30))
      .when(register("kim"))
      .expires(
        { type: "SlotExpired", user: "bob", at: minutesLater(30) },
        { type: "FeatureExpired", user: "bob", at: minutesLater(10) },
      );
  });

  const repeatedBorrow = borrow("eve", null, { once: { key: "k", fingerprint: "f" } });

  test("a borrow repeated under its key answers with the end of its slot", () => {
    const until = later(AHEAD, DAY);
    const ends = { registeredAt: MONDAY, end: until, borrowedUntil: until };
    afterSetBack.at(minutesLater(1)).when(repeatedBorrow).records().answers(ends);
  });

  test("an idempotency key is remembered for 24 hours of the new time", () => {
    afterSetBack
      .at(justBefore(hoursLater(24)))
      .when(repeatedBorrow)
      .records();
  });

  test("a total goes on, and starts at zero at the moved period boundary", () => {
    afterSetBack
      .at(justBefore(hoursLater(15)))
      .when(consume(4))
      .refuses({
        code: "license_not_enough_consumptions",
        left: 3,
      });
    afterSetBack
      .at(hoursLater(15))
      .when(consume(4))
      .records({ type: "ConsumptionAdded", total: 4 });
  });

  test("replaying the events gives the same state", () => {
    const state = replayEvents(history.events);
    evolve(state, clockSetBack(AHEAD, MONDAY));
    expect(dumpState(state)).toEqual(dumpState(replayEvents(afterSetBack.events)));
  });
});

describe("permission to set the clock back", () => {
  const expiring = given(licenseInstalled(1, { validUntil: later(MONDAY, 99 * DAY) }));
  const registered = expiring.at(MONDAY).execute(register("ada"));
  const suspect = { code: "clock_suspect", behind: DAY } as const;
  const event = { type: "ClockSetBack", from: hoursLater(24), to: MONDAY, at: MONDAY } as const;

  test("is granted while nothing was ever taken from a license that has a date", () => {
    expiring.at(hoursLater(24)).when(setBack(MONDAY)).records(event);
    const perpetual = given(licenseInstalled(1, { borrowHours: null }))
      .at(MONDAY)
      .execute(register("ada"));
    perpetual.at(hoursLater(24)).when(setBack(MONDAY)).records(event);
  });

  test("is refused after a registration on a license that allows borrowing", () => {
    const perpetual = given(licenseInstalled(1)).at(MONDAY).execute(register("ada"));
    perpetual.at(hoursLater(24)).when(setBack(MONDAY)).refuses(suspect);
  });

  test("is refused after a registration on an expiring license, released or not", () => {
    registered.at(hoursLater(24)).when(setBack(MONDAY)).refuses(suspect);
    registered.at(hoursLater(24)).when(setBack(MONDAY, NONCE)).refuses(suspect);
    const released = registered
      .at(MONDAY)
      .execute({ type: "UnregisterAll", product: null, peer: PEER });
    released.at(hoursLater(24)).when(setBack(MONDAY)).refuses(suspect);
  });

  test("is refused after a consumption or a borrow on an expiring license", () => {
    const counting = given(
      licenseInstalled(1, { validUntil: later(MONDAY, 99 * DAY), consumption: consumptionTerms() }),
    );
    counting
      .at(MONDAY)
      .execute(consume(1))
      .at(hoursLater(24))
      .when(setBack(MONDAY))
      .refuses(suspect);
    expiring
      .at(MONDAY)
      .execute(borrow("ada"))
      .at(hoursLater(24))
      .when(setBack(MONDAY))
      .refuses(suspect);
  });

  test("is refused after a borrow on a license that got its end after the registration", () => {
    const ends = { validUntil: later(MONDAY, 99 * DAY) };
    const perpetual = given(licenseInstalled(1, { borrowHours: null }))
      .at(MONDAY)
      .execute(register("ada"));
    const renewed = perpetual.at(MONDAY).execute(renew(1, 2, ends), borrow("ada"));
    renewed.at(hoursLater(24)).when(setBack(MONDAY)).refuses(suspect);
  });

  test("is granted by a vendor document that answers the newest question", () => {
    const withQuestion = registered
      .at(hoursLater(24))
      .execute(askClock("1111111111"), askClock(NONCE));
    withQuestion.at(hoursLater(24)).when(setBack(MONDAY, NONCE)).records(event);
    withQuestion.at(hoursLater(24)).when(setBack(MONDAY, "1111111111")).refuses(suspect);
    withQuestion.at(hoursLater(24)).when(setBack(MONDAY)).refuses(suspect);
  });

  test("is granted only once for each vendor document", () => {
    const answered = registered.at(hoursLater(24)).execute(askClock(NONCE), setBack(MONDAY, NONCE));
    answered.at(hoursLater(24)).when(setBack(MONDAY, NONCE)).refuses(suspect);
  });

  test("is used up by a vendor document that did not set the clock back", () => {
    const answered = registered
      .at(MONDAY)
      .execute(askClock(NONCE), setBack(minutesLater(1), NONCE));
    answered.at(hoursLater(24)).when(setBack(MONDAY, NONCE)).refuses(suspect);
  });

  test("never sets the clock ahead", () => {
    const withQuestion = registered.at(hoursLater(1)).execute(askClock(NONCE));
    for (const to of [hoursLater(1), later(hoursLater(1), 1), hoursLater(48)]) {
      withQuestion.at(hoursLater(1)).when(setBack(to, NONCE)).answers(null);
      const { events } = withQuestion.at(hoursLater(1)).execute(setBack(to, NONCE));
      expect(replayEvents(events).latestEventAt).toBe(hoursLater(1));
    }
  });
});
