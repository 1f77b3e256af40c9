import { describe, expect, test } from "bun:test";
import type { ConsumptionAdded, Event } from "../../src/domain/event.ts";
import { assertGrantInvariants } from "../../src/domain/invariants.ts";
import {
  justBefore,
  slotBorrowed,
  consumptionTerms,
  featureTerms,
  hoursLater,
  licenseInstalled,
  MONDAY,
  replayEvents,
  slotTaken,
} from "../support/scenario.ts";

/** Applies all, then judges the last. */
const judge = (...events: readonly Event[]) => {
  const last = events.at(-1);
  if (last === undefined) throw new Error("nothing to judge");
  const state = replayEvents(events);
  return expect(() => assertGrantInvariants(state, last));
};

const added = (count: number, total: number): ConsumptionAdded => {
  const event = { at: MONDAY, license: 1, user: null, peer: "", count, total, resetAt: null };
  return { type: "ConsumptionAdded", ...event };
};

const mesh = (slots: number) => featureTerms("mesh", { floating: { slots, timeoutMinutes: 5 } });

const counted = (total: number): Event => {
  return { ...added(1, total), type: "FeatureConsumptionAdded", feature: "prints" };
};

describe("the guard behind the rules", () => {
  test("throws on a slot more than the license has, and not on its last", () => {
    judge(licenseInstalled(1, { slots: 1 }), slotTaken("ada")).not.toThrow();
    const second = slotTaken("bob", { slot: 2 });
    judge(licenseInstalled(1, { slots: 1 }), slotTaken("ada"), second).toThrow("more slots lent");
  });

  test("does not blame a license for having been renewed smaller", () => {
    judge(licenseInstalled(1), slotTaken("ada"), licenseInstalled(1, { slots: 0 })).not.toThrow();
  });

  test("throws on a feature slot more than there are, or where it does not float", () => {
    const of = {
      at: MONDAY,
      license: 1,
      feature: "mesh",
      slot: 2,
      user: "ada",
      end: hoursLater(1),
    };
    const used: Event = { type: "FeatureTaken", peer: "10.0.0.9", ...of };
    const ada = slotTaken("ada", { end: hoursLater(1) });
    judge(licenseInstalled(1, { features: [mesh(1)] }), ada, used).not.toThrow();
    judge(licenseInstalled(1, { features: [mesh(0)] }), ada, used).toThrow("more slots lent");
    judge(licenseInstalled(1, { features: [featureTerms("mesh")] }), ada, used).toThrow(
      "more slots lent",
    );
  });

  test("throws on a feature slot that is held longer than the license's, or without one", () => {
    const of = { at: MONDAY, license: 1, feature: "mesh", user: "ada", end: hoursLater(1) };
    const used: Event = { type: "FeatureTaken", peer: "10.0.0.9", slot: 2, ...of };
    const renewed: Event = { type: "FeatureRenewed", ...of, end: hoursLater(2) };
    const site = licenseInstalled(1, { features: [mesh(1)] });
    judge(site, used).toThrow("held longer");
    judge(site, slotTaken("ada", { end: justBefore(hoursLater(1)) }), used).toThrow("held longer");
    judge(site, slotTaken("ada", { end: hoursLater(2) }), used, renewed).not.toThrow();
    judge(site, slotTaken("ada", { end: justBefore(hoursLater(2)) }), used, renewed).toThrow(
      "held longer",
    );
  });

  test("throws on a borrow that cannot be, lies in the past or outlasts its slot", () => {
    const lent = [licenseInstalled(1), slotTaken("ada")] as const;
    judge(...lent, slotBorrowed("ada", hoursLater(8))).not.toThrow();
    const never = licenseInstalled(1, { borrowHours: null });
    judge(never, slotTaken("ada"), slotBorrowed("ada", hoursLater(8))).toThrow("cannot be");
    judge(...lent, { ...slotBorrowed("ada", MONDAY), end: hoursLater(1) }).toThrow("into the past");
    judge(...lent, { ...slotBorrowed("ada", hoursLater(8)), end: hoursLater(7) }).toThrow(
      "before its borrow",
    );
  });

  test("throws on a count past the limit, below zero, or beyond exact numbers", () => {
    const counts = licenseInstalled(1, { consumption: consumptionTerms({ max: 10, overages: 2 }) });
    judge(counts, added(1, 12)).not.toThrow();
    judge(counts, added(1, 13)).toThrow("more consumption");
    judge(counts, added(-1, 13)).not.toThrow();
    judge(counts, added(-1, 0)).not.toThrow();
    judge(counts, added(-1, -1)).toThrow("left the range");
    const unlimited = licenseInstalled(1, { consumption: consumptionTerms({ max: null }) });
    judge(unlimited, added(1, Number.MAX_SAFE_INTEGER)).not.toThrow();
    judge(unlimited, added(1, Number.MAX_SAFE_INTEGER + 1)).toThrow("left the range");
    judge(licenseInstalled(1), added(1, 1)).toThrow("does not count");
  });

  test("throws on a feature counted past its limit", () => {
    const prints = featureTerms("prints", { consumption: consumptionTerms({ max: 10 }) });
    judge(licenseInstalled(1, { features: [prints] }), counted(10)).not.toThrow();
    judge(licenseInstalled(1, { features: [prints] }), counted(11)).toThrow("more consumption");
  });
});
