// A feature slot belongs to a license slot of the same user, and ends no later than it.
import { describe, expect, test } from "bun:test";
import { countSlotsInUse } from "../../../src/domain/model/slots/pool.ts";
import type { State } from "../../../src/domain/model/state.ts";
import type { Instant } from "../../../src/domain/time.ts";
import {
  justBefore,
  borrow,
  featureTerms,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  registerFeature,
  replayEvents,
  unregister,
  unregisterAll,
  noFreeSlot,
} from "../../support/scenario.ts";

/** One slot of the feature for an hour, while the license's slots last 30 minutes. */
const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 60 } });
const site = given(licenseInstalled(1, { slots: 2, borrowHours: 24, features: [mesh] }));
const registered = site.at(MONDAY).execute(register("ada"), registerFeature("ada", "mesh"));

const inUse = (state: State, at: Instant): number => {
  const pool = state.licenses.get(1)?.features.get("mesh")?.pool;
  if (pool === undefined) throw new Error("the license has no such feature");
  return countSlotsInUse(pool, at);
};

describe("a feature slot", () => {
  test("ends with the license slot, and is free for the next user at that instant", () => {
    const withBob = registered.at(minutesLater(20)).execute(register("bob"));
    withBob
      .at(justBefore(minutesLater(30)))
      .when(registerFeature("bob", "mesh"))
      .refuses(noFreeSlot(1));
    withBob
      .at(minutesLater(30))
      .when(registerFeature("bob", "mesh"))
      .expires(
        { type: "SlotExpired", user: "ada", at: minutesLater(30) },
        { type: "FeatureExpired", user: "ada", at: minutesLater(30) },
      )
      .records({
        type: "FeatureTaken",
        user: "bob",
        end: minutesLater(50),
        timeoutAt: minutesLater(90),
      });
  });

  test("is not counted from its end on, even before its expiry is recorded", () => {
    const state = replayEvents(registered.events);
    expect(inUse(state, justBefore(minutesLater(30)))).toBe(1);
    expect(inUse(state, minutesLater(30))).toBe(0);
  });

  test("is extended by heartbeats of the license up to its own timeout", () => {
    const renewed = registered.at(minutesLater(20)).execute(register("ada"));
    expect(inUse(replayEvents(renewed.events), justBefore(minutesLater(50)))).toBe(1);
    expect(inUse(replayEvents(renewed.events), minutesLater(50))).toBe(0);
    renewed
      .at(minutesLater(45))
      .when(register("ada"))
      .records(
        { type: "SlotRenewed", end: minutesLater(75) },
        {
          type: "FeatureRenewed",
          feature: "mesh",
          end: minutesLater(60),
          timeoutAt: minutesLater(60),
        },
      );
    const renewedTwice = renewed.at(minutesLater(45)).execute(register("ada"));
    renewedTwice.at(minutesLater(50)).when(register("ada")).records({ type: "SlotRenewed" });
    renewedTwice
      .at(minutesLater(60))
      .when(register("ada"))
      .expires({ type: "FeatureExpired", at: minutesLater(60) })
      .records({ type: "SlotRenewed" });
  });

  test("stays ended when its user registers again", () => {
    const returned = registered.at(minutesLater(40)).execute(register("ada"));
    expect(inUse(replayEvents(returned.events), minutesLater(40))).toBe(0);
    returned.at(minutesLater(41)).when(register("ada")).records({ type: "SlotRenewed" });
  });

  test("lasts during a borrow until its own timeout", () => {
    registered
      .at(minutesLater(10))
      .when(borrow("ada", hoursLater(8)))
      .records(
        { type: "SlotBorrowed", end: hoursLater(8) },
        { type: "FeatureRenewed", end: minutesLater(60), timeoutAt: minutesLater(60) },
      );
    const borrowed = registered.at(minutesLater(10)).execute(borrow("ada", hoursLater(8)));
    borrowed
      .at(minutesLater(15))
      .when(registerFeature("ada", "mesh"))
      .records({ type: "FeatureRenewed", end: minutesLater(75) });
  });

  test("ends earlier when the borrow is shortened", () => {
    const borrowed = registered.at(MONDAY).execute(borrow("ada", hoursLater(8)));
    borrowed
      .at(minutesLater(1))
      .when(borrow("ada", minutesLater(40)))
      .records(
        { type: "SlotBorrowed", end: minutesLater(40), early: true },
        { type: "FeatureRenewed", end: minutesLater(40), timeoutAt: minutesLater(60) },
      );
  });

  test("is released with the license slot, by unregister and by unregister all", () => {
    for (const command of [unregister("ada"), unregisterAll()]) {
      const released = registered.at(minutesLater(29)).execute(command);
      const state = replayEvents(released.events);
      expect([inUse(state, minutesLater(29)), state.licenses.get(1)?.pool.size]).toEqual([0, 0]);
      expect(state.licenses.get(1)?.features.get("mesh")?.pool.size).toBe(0);
    }
  });

  test("is not held after the license slot expired and all slots are released", () => {
    const released = registered.at(minutesLater(30)).execute(unregisterAll());
    expect(inUse(replayEvents(released.events), minutesLater(30))).toBe(0);
  });
});
