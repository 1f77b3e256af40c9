import { describe, expect, test } from "bun:test";
import type { Command, SetClockBack } from "../../src/domain/command.ts";
import { totalAt } from "../../src/domain/consumption.ts";
import type { Event } from "../../src/domain/event.ts";
import { evolve } from "../../src/domain/evolve.ts";
import type { SlotHolder, SlotPool } from "../../src/domain/pool.ts";
import { countSlotsInUse } from "../../src/domain/slots.ts";
import type { License, State } from "../../src/domain/state.ts";
import { DAY, later, MINUTE, type Instant } from "../../src/domain/time.ts";
import { HARDWARE, HARDWARE_ID, makeRequestCommand, makeOpenRequest } from "../support/new-site.ts";
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
} from "../support/scenario.ts";

const NONCE = "00ff10a5c3";
const PEER = "10.0.0.1";

const setBack = (to: Instant, nonce: string | null = null): SetClockBack => ({
  type: "SetClockBack",
  to,
  nonce,
  peer: PEER,
});
const ask = (nonce: string): Command => ({ type: "AskClock", nonce, peer: PEER });
const wentBack = (from: Instant, to: Instant): Event => ({
  type: "ClockSetBack",
  at: to,
  from,
  to,
  peer: PEER,
});

/** A wild clock: three days from Monday, where everything below was done. */
const WILD = later(MONDAY, 3 * DAY);
const after = (moment: Instant): Instant => later(moment, 3 * DAY);

const everything = {
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

const history = given(licenseInstalled(1, everything))
  .at(WILD)
  .execute(
    register("bob"),
    registerFeature("bob", "view"),
    borrow("eve", null, { once: { key: "k", fingerprint: "f" } }),
    consume(7),
    consumeFeature("plot", 2),
    makeRequestCommand("wild"),
    { type: "MakeActivation", activation, peer: PEER },
  );

function back(from: Instant, to: Instant): { readonly state: State; readonly license: License } {
  const state = replayEvents([...history.events, wentBack(from, to)]);
  const license = state.licenses.get(1);
  if (license === undefined) throw new Error("license 1 is not installed");
  return { state, license };
}

const held = ({ license }: ReturnType<typeof back>, user: string) => license.pool.get(user);

describe("a clock set back by three days", () => {
  const gone = back(WILD, MONDAY);
  const { state, license } = gone;

  test("goes on from there, and not from before", () => {
    expect(state.latestEventAt).toBe(MONDAY);
    const created: Event = { type: "Created", at: WILD, kind: "site", appliance: "A" };
    expect(replayEvents([created, wentBack(WILD, MONDAY)]).createdAt).toBe(MONDAY);
  });

  test("moves slots, borrows and their features", () => {
    expect(held(gone, "bob")).toMatchObject({ registeredAt: MONDAY, end: minutesLater(30) });
    expect(held(gone, "eve")).toMatchObject({ end: hoursLater(24), borrowedUntil: hoursLater(24) });
    expect(license.features.get("view")?.pool.get("bob")).toMatchObject({
      registeredAt: MONDAY,
      end: minutesLater(10),
    });
  });

  test("keeps totals, and they reset at the boundary after the new time", () => {
    // Tuesday's midnight, 15 hours away, and next Monday's.
    expect(license.counter).toEqual({ total: 7, resetAt: hoursLater(15), counted: 7 });
    expect(license.features.get("plot")?.counter).toEqual({
      total: 2,
      resetAt: utc("2026-03-09T00:00:00Z"),
      counted: 2,
    });
    expect(totalAt(license.counter, justBefore(hoursLater(15)))).toBe(7);
    expect(totalAt(license.counter, hoursLater(15))).toBe(0);
  });

  test("moves remembered keys, requests and activations", () => {
    expect([...state.idempotencyRecords].map(([, { at }]) => at)).toEqual([MONDAY]);
    expect(state.requests.get("wild")?.at).toBe(MONDAY);
    expect(state.activations.get(activation.nonce)?.at).toBe(MONDAY);
  });

  test("counts as it did: who has a slot has it for as long as before", () => {
    const never = replayEvents(history.events).licenses.get(1);
    if (never === undefined) throw new Error("license 1 is not installed");
    for (const passed of [0, 10 * MINUTE, 30 * MINUTE - 1, 30 * MINUTE, DAY - 1, DAY]) {
      const then = countSlotsInUse(never.pool, later(WILD, passed));
      expect(countSlotsInUse(license.pool, later(MONDAY, passed))).toBe(then);
    }
  });

  test("has an index that agrees with who holds what", () => {
    const fresh = back(WILD, MONDAY).license;
    for (const pool of [fresh.pool, ...pools(fresh)]) {
      const all = pool.expiryIndex.ended(later(WILD, 999 * DAY), Infinity);
      expect(new Set<unknown>(all)).toEqual(new Set<unknown>(pool.inSlotOrder()));
      expect(all.map(({ end }) => end)).toEqual(
        all.map(({ end }) => end).toSorted((a, b) => a - b),
      );
      for (const one of all) (pool as SlotPool<SlotHolder>).remove(one);
      expect(pool.expiryIndex.ended(later(WILD, 999 * DAY), Infinity)).toEqual([]);
    }
  });
});

const pools = (license: License) => [...license.features.values()].map(({ pool }) => pool);

describe("what was set at the new time or before it stays as it was granted", () => {
  const moved = (to: Instant) => back(after(MONDAY), to);

  test("a slot registered at that instant keeps its end, one registered later does not", () => {
    expect(held(moved(WILD), "bob")).toMatchObject({
      registeredAt: WILD,
      end: after(minutesLater(30)),
    });
    const one = moved(justBefore(WILD));
    expect(held(one, "bob")).toMatchObject({
      registeredAt: justBefore(WILD),
      end: justBefore(after(minutesLater(30))),
    });
  });

  test("a slot taken before keeps its end, and is held again if that has not come", () => {
    const ended = (to: Instant) => {
      const state = replayEvents([licenseInstalled(1), slotTaken("ada"), wentBack(WILD, to)]);
      const pool = state.licenses.get(1)?.pool;
      return [pool?.get("ada")?.end, pool && countSlotsInUse(pool, to)];
    };
    expect(ended(minutesLater(31))).toEqual([minutesLater(30), 0]);
    expect(ended(minutesLater(30))).toEqual([minutesLater(30), 0]);
    expect(ended(justBefore(minutesLater(30)))).toEqual([minutesLater(30), 1]);
  });

  test("requests and keys of before stay", () => {
    const { state } = back(WILD, hoursLater(1));
    const ofMonday = [...state.requests.values()].filter(({ request }) => request !== "wild");
    expect(new Set(ofMonday.map(({ at }) => at))).toEqual(new Set([makeOpenRequest("").at]));
    expect(state.requests.get("wild")?.at).toBe(hoursLater(1));
  });
});

describe("afterwards", () => {
  const again = given(...history.events, wentBack(WILD, MONDAY));

  test("a heartbeat goes on from the new time", () => {
    again
      .at(minutesLater(10))
      .when(register("bob"))
      .records({ type: "SlotRenewed", end: minutesLater(40) });
  });

  test("a slot runs out at its moved end, and says so", () => {
    again
      .at(minutesLater(30))
      .when(register("kim"))
      .expires(
        { type: "SlotExpired", user: "bob", at: minutesLater(30) },
        { type: "FeatureExpired", user: "bob", at: minutesLater(10) },
      );
  });

  const twice = borrow("eve", null, { once: { key: "k", fingerprint: "f" } });

  test("a borrow repeated under its key ends when its slot does, and so does its lease", () => {
    const ends = { registeredAt: MONDAY, end: hoursLater(24), borrowedUntil: hoursLater(24) };
    again.at(minutesLater(1)).when(twice).records().answers(ends);
  });

  test("a key is remembered for as long as it would have been", () => {
    again
      .at(justBefore(hoursLater(24)))
      .when(twice)
      .records();
  });

  test("the period's count goes on, and starts anew at the moved boundary", () => {
    again
      .at(justBefore(hoursLater(15)))
      .when(consume(4))
      .refuses({
        code: "license_not_enough_consumptions",
        left: 3,
      });
    again.at(hoursLater(15)).when(consume(4)).records({ type: "ConsumptionAdded", total: 4 });
  });

  test("replaying gives the state that served", () => {
    const state = replayEvents(history.events);
    evolve(state, wentBack(WILD, MONDAY));
    expect(dumpState(state)).toEqual(dumpState(replayEvents(again.events)));
  });
});

describe("who may set the clock back", () => {
  const dated = given(licenseInstalled(1, { validUntil: later(MONDAY, 99 * DAY) }));
  const lent = dated.at(MONDAY).execute(register("ada"));
  const suspect = { code: "clock_suspect", behind: DAY } as const;
  const event = { type: "ClockSetBack", from: hoursLater(24), to: MONDAY, at: MONDAY } as const;

  test("anybody, while nothing was ever lent from a license with an end", () => {
    dated.at(hoursLater(24)).when(setBack(MONDAY)).records(event);
    const perpetual = given(licenseInstalled(1, { borrowHours: null }))
      .at(MONDAY)
      .execute(register("ada"));
    perpetual.at(hoursLater(24)).when(setBack(MONDAY)).records(event);
  });

  test("nobody, once something was lent from a license that can be borrowed from", () => {
    const perpetual = given(licenseInstalled(1)).at(MONDAY).execute(register("ada"));
    perpetual.at(hoursLater(24)).when(setBack(MONDAY)).refuses(suspect);
  });

  test("nobody without the vendor's word, once something was, given back or not", () => {
    lent.at(hoursLater(24)).when(setBack(MONDAY)).refuses(suspect);
    lent.at(hoursLater(24)).when(setBack(MONDAY, NONCE)).refuses(suspect);
    const released = lent.at(MONDAY).execute({ type: "UnregisterAll", product: null, peer: PEER });
    released.at(hoursLater(24)).when(setBack(MONDAY)).refuses(suspect);
  });

  test("nor once something was counted or borrowed there", () => {
    const counts = given(
      licenseInstalled(1, { validUntil: later(MONDAY, 99 * DAY), consumption: consumptionTerms() }),
    );
    counts.at(MONDAY).execute(consume(1)).at(hoursLater(24)).when(setBack(MONDAY)).refuses(suspect);
    dated
      .at(MONDAY)
      .execute(borrow("ada"))
      .at(hoursLater(24))
      .when(setBack(MONDAY))
      .refuses(suspect);
  });

  test("nor once somebody borrowed what got its end after they had registered", () => {
    const ends = { validUntil: later(MONDAY, 99 * DAY) };
    const perpetual = given(licenseInstalled(1, { borrowHours: null }))
      .at(MONDAY)
      .execute(register("ada"));
    const renewed = perpetual.at(MONDAY).execute(renew(1, 2, ends), borrow("ada"));
    renewed.at(hoursLater(24)).when(setBack(MONDAY)).refuses(suspect);
  });

  test("a vendor, in answer to the newest question", () => {
    const asked = lent.at(hoursLater(24)).execute(ask("1111111111"), ask(NONCE));
    asked.at(hoursLater(24)).when(setBack(MONDAY, NONCE)).records(event);
    asked.at(hoursLater(24)).when(setBack(MONDAY, "1111111111")).refuses(suspect);
    asked.at(hoursLater(24)).when(setBack(MONDAY)).refuses(suspect);
  });

  test("once", () => {
    const done = lent.at(hoursLater(24)).execute(ask(NONCE), setBack(MONDAY, NONCE));
    done.at(hoursLater(24)).when(setBack(MONDAY, NONCE)).refuses(suspect);
  });

  test("once, also when the answer was not earlier than the time here", () => {
    const done = lent.at(MONDAY).execute(ask(NONCE), setBack(minutesLater(1), NONCE));
    done.at(hoursLater(24)).when(setBack(MONDAY, NONCE)).refuses(suspect);
  });

  test("and never ahead", () => {
    const asked = lent.at(hoursLater(1)).execute(ask(NONCE));
    for (const to of [hoursLater(1), later(hoursLater(1), 1), hoursLater(48)]) {
      asked.at(hoursLater(1)).when(setBack(to, NONCE)).answers(null);
      const { events } = asked.at(hoursLater(1)).execute(setBack(to, NONCE));
      expect(replayEvents(events).latestEventAt).toBe(hoursLater(1));
    }
  });
});
