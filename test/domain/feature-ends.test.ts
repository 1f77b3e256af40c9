// A slot of a feature is held through a slot of the license, and ends no later than that one.
import { describe, expect, test } from "bun:test";
import type { Event } from "../../src/domain/event.ts";
import { countSlotsInUse } from "../../src/domain/slots.ts";
import type { State } from "../../src/domain/state.ts";
import type { Instant } from "../../src/domain/time.ts";
import {
  before,
  borrow,
  feature,
  given,
  hours,
  installed,
  minutes,
  MONDAY,
  register,
  registerFeature,
  replayed,
  taken,
  unregister,
  unregisterAll,
} from "../support/scenario.ts";

/** One slot of the feature for an hour, while the license's slots last 30 minutes. */
const mesh = feature("mesh", { floating: { slots: 1, timeoutMinutes: 60 } });
const site = given(installed(1, { slots: 2, borrowHours: 24, features: [mesh] }));
const used = site.at(MONDAY).did(register("ada"), registerFeature("ada", "mesh"));

const inUse = (state: State, at: Instant): number => {
  const pool = state.licenses.get(1)?.features.get("mesh")?.pool;
  if (pool === undefined) throw new Error("the license has no such feature");
  return countSlotsInUse(pool, at);
};

describe("a feature's slot", () => {
  test("ends with the license's slot, and is free for the next user at that very instant", () => {
    const bob = used.at(minutes(20)).did(register("bob"));
    bob
      .at(before(minutes(30)))
      .when(registerFeature("bob", "mesh"))
      .refuses({ code: "floating_not_available", slots: 1, nextFree: minutes(30) });
    bob
      .at(minutes(30))
      .when(registerFeature("bob", "mesh"))
      .expires(
        { type: "SlotExpired", user: "ada", at: minutes(30) },
        { type: "FeatureExpired", user: "ada", at: minutes(30) },
      )
      .records({ type: "FeatureTaken", user: "bob", end: minutes(50), timeoutAt: minutes(90) });
  });

  test("is not counted any more from then on, written off or not", () => {
    const state = replayed(used.events);
    expect(inUse(state, before(minutes(30)))).toBe(1);
    expect(inUse(state, minutes(30))).toBe(0);
  });

  test("goes on with every heartbeat of the license, until its own timeout", () => {
    const renewed = used.at(minutes(20)).did(register("ada"));
    expect(inUse(replayed(renewed.events), before(minutes(50)))).toBe(1);
    expect(inUse(replayed(renewed.events), minutes(50))).toBe(0);
    renewed
      .at(minutes(45))
      .when(register("ada"))
      .records(
        { type: "SlotRenewed", end: minutes(75) },
        { type: "FeatureRenewed", feature: "mesh", end: minutes(60), timeoutAt: minutes(60) },
      );
    const again = renewed.at(minutes(45)).did(register("ada"));
    again.at(minutes(50)).when(register("ada")).records({ type: "SlotRenewed" });
    again
      .at(minutes(60))
      .when(register("ada"))
      .expires({ type: "FeatureExpired", at: minutes(60) })
      .records({ type: "SlotRenewed" });
  });

  test("stays ended when its user comes back to the license", () => {
    const back = used.at(minutes(40)).did(register("ada"));
    expect(inUse(replayed(back.events), minutes(40))).toBe(0);
    back.at(minutes(41)).when(register("ada")).records({ type: "SlotRenewed" });
  });

  test("lasts through a borrow for as long as its own timeout", () => {
    used
      .at(minutes(10))
      .when(borrow("ada", hours(8)))
      .records(
        { type: "SlotBorrowed", end: hours(8) },
        { type: "FeatureRenewed", end: minutes(60), timeoutAt: minutes(60) },
      );
    const lent = used.at(minutes(10)).did(borrow("ada", hours(8)));
    lent
      .at(minutes(15))
      .when(registerFeature("ada", "mesh"))
      .records({ type: "FeatureRenewed", end: minutes(75) });
  });

  test("ends earlier when a borrow is shortened", () => {
    const lent = used.at(MONDAY).did(borrow("ada", hours(8)));
    lent
      .at(minutes(1))
      .when(borrow("ada", minutes(40)))
      .records(
        { type: "SlotBorrowed", end: minutes(40), early: true },
        { type: "FeatureRenewed", end: minutes(40), timeoutAt: minutes(60) },
      );
  });

  test("is given back with the license's slot, by its user and by everybody's at once", () => {
    for (const command of [unregister("ada"), unregisterAll()]) {
      const free = used.at(minutes(29)).did(command);
      const state = replayed(free.events);
      expect([inUse(state, minutes(29)), state.licenses.get(1)?.pool.size]).toEqual([0, 0]);
      expect(state.licenses.get(1)?.features.get("mesh")?.pool.size).toBe(0);
    }
  });

  test("leaves nothing held after the license's slot ran out and all slots are given back", () => {
    const free = used.at(minutes(30)).did(unregisterAll());
    expect(inUse(replayed(free.events), minutes(30))).toBe(0);
  });
});

describe("lines of older versions, which held a feature's slot for its own timeout", () => {
  const named = { license: 1, feature: "mesh", user: "ada" };
  const old: Event[] = [
    ...site.events,
    taken("ada"),
    { type: "FeatureTaken", at: MONDAY, ...named, slot: 2, end: minutes(60), peer: "10.0.0.7" },
    { type: "SlotRenewed", at: minutes(10), license: 1, user: "ada", end: minutes(40) },
  ];

  test("mean what they meant", () => {
    const state = replayed(old);
    expect(inUse(state, before(minutes(60)))).toBe(1);
    const renewed: Event = { type: "FeatureRenewed", at: minutes(20), ...named, end: minutes(80) };
    expect(inUse(replayed([...old, renewed]), before(minutes(80)))).toBe(1);
  });

  test("are followed by the license's end with the next heartbeat", () => {
    given(...old)
      .at(minutes(20))
      .when(register("ada"))
      .records(
        { type: "SlotRenewed", end: minutes(50) },
        { type: "FeatureRenewed", end: minutes(50), timeoutAt: minutes(60) },
      );
  });
});
