// A slot of a feature is held through a slot of the license, and ends no later than that one.
import { describe, expect, test } from "bun:test";
import type { Event } from "../../src/domain/event.ts";
import { countSlotsInUse } from "../../src/domain/slots.ts";
import type { State } from "../../src/domain/state.ts";
import type { Instant } from "../../src/domain/time.ts";
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
  slotTaken,
  unregister,
  unregisterAll,
} from "../support/scenario.ts";

/** One slot of the feature for an hour, while the license's slots last 30 minutes. */
const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 60 } });
const site = given(licenseInstalled(1, { slots: 2, borrowHours: 24, features: [mesh] }));
const used = site.at(MONDAY).execute(register("ada"), registerFeature("ada", "mesh"));

const inUse = (state: State, at: Instant): number => {
  const pool = state.licenses.get(1)?.features.get("mesh")?.pool;
  if (pool === undefined) throw new Error("the license has no such feature");
  return countSlotsInUse(pool, at);
};

describe("a feature's slot", () => {
  test("ends with the license's slot, and is free for the next user at that very instant", () => {
    const bob = used.at(minutesLater(20)).execute(register("bob"));
    bob
      .at(justBefore(minutesLater(30)))
      .when(registerFeature("bob", "mesh"))
      .refuses({ code: "floating_not_available", slots: 1, nextFree: minutesLater(30) });
    bob
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

  test("is not counted any more from then on, written off or not", () => {
    const state = replayEvents(used.events);
    expect(inUse(state, justBefore(minutesLater(30)))).toBe(1);
    expect(inUse(state, minutesLater(30))).toBe(0);
  });

  test("goes on with every heartbeat of the license, until its own timeout", () => {
    const renewed = used.at(minutesLater(20)).execute(register("ada"));
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
    const again = renewed.at(minutesLater(45)).execute(register("ada"));
    again.at(minutesLater(50)).when(register("ada")).records({ type: "SlotRenewed" });
    again
      .at(minutesLater(60))
      .when(register("ada"))
      .expires({ type: "FeatureExpired", at: minutesLater(60) })
      .records({ type: "SlotRenewed" });
  });

  test("stays ended when its user comes back to the license", () => {
    const back = used.at(minutesLater(40)).execute(register("ada"));
    expect(inUse(replayEvents(back.events), minutesLater(40))).toBe(0);
    back.at(minutesLater(41)).when(register("ada")).records({ type: "SlotRenewed" });
  });

  test("lasts through a borrow for as long as its own timeout", () => {
    used
      .at(minutesLater(10))
      .when(borrow("ada", hoursLater(8)))
      .records(
        { type: "SlotBorrowed", end: hoursLater(8) },
        { type: "FeatureRenewed", end: minutesLater(60), timeoutAt: minutesLater(60) },
      );
    const lent = used.at(minutesLater(10)).execute(borrow("ada", hoursLater(8)));
    lent
      .at(minutesLater(15))
      .when(registerFeature("ada", "mesh"))
      .records({ type: "FeatureRenewed", end: minutesLater(75) });
  });

  test("ends earlier when a borrow is shortened", () => {
    const lent = used.at(MONDAY).execute(borrow("ada", hoursLater(8)));
    lent
      .at(minutesLater(1))
      .when(borrow("ada", minutesLater(40)))
      .records(
        { type: "SlotBorrowed", end: minutesLater(40), early: true },
        { type: "FeatureRenewed", end: minutesLater(40), timeoutAt: minutesLater(60) },
      );
  });

  test("is given back with the license's slot, by its user and by everybody's at once", () => {
    for (const command of [unregister("ada"), unregisterAll()]) {
      const free = used.at(minutesLater(29)).execute(command);
      const state = replayEvents(free.events);
      expect([inUse(state, minutesLater(29)), state.licenses.get(1)?.pool.size]).toEqual([0, 0]);
      expect(state.licenses.get(1)?.features.get("mesh")?.pool.size).toBe(0);
    }
  });

  test("leaves nothing held after the license's slot ran out and all slots are given back", () => {
    const free = used.at(minutesLater(30)).execute(unregisterAll());
    expect(inUse(replayEvents(free.events), minutesLater(30))).toBe(0);
  });
});

describe("lines of older versions, which held a feature's slot for its own timeout", () => {
  const named = { license: 1, feature: "mesh", user: "ada" };
  const old: Event[] = [
    ...site.events,
    slotTaken("ada"),
    {
      type: "FeatureTaken",
      at: MONDAY,
      ...named,
      slot: 2,
      end: minutesLater(60),
      peer: "10.0.0.7",
    },
    { type: "SlotRenewed", at: minutesLater(10), license: 1, user: "ada", end: minutesLater(40) },
  ];

  test("mean what they meant", () => {
    const state = replayEvents(old);
    expect(inUse(state, justBefore(minutesLater(60)))).toBe(1);
    const renewed: Event = {
      type: "FeatureRenewed",
      at: minutesLater(20),
      ...named,
      end: minutesLater(80),
    };
    expect(inUse(replayEvents([...old, renewed]), justBefore(minutesLater(80)))).toBe(1);
  });

  test("are followed by the license's end with the next heartbeat", () => {
    given(...old)
      .at(minutesLater(20))
      .when(register("ada"))
      .records(
        { type: "SlotRenewed", end: minutesLater(50) },
        { type: "FeatureRenewed", end: minutesLater(50), timeoutAt: minutesLater(60) },
      );
  });
});
