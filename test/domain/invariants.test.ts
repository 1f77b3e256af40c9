import { describe, expect, test } from "bun:test";
import type { ConsumptionAdded, Event } from "../../src/domain/model/event.ts";
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

/** Applies all events, then checks the last one. */
const expectLastOf = (...events: readonly Event[]) => {
  const last = events.at(-1);
  if (last === undefined) throw new Error("no event to check");
  const state = replayEvents(events);
  return expect(() => assertGrantInvariants(state, last));
};

const consumptionAdded = (count: number, total: number): ConsumptionAdded => {
  const event = { at: MONDAY, license: 1, user: null, peer: "", count, total, resetAt: null };
  return { type: "ConsumptionAdded", ...event };
};

const meshWith = (slots: number) =>
  featureTerms("mesh", { floating: { slots, timeoutMinutes: 5 } });

const featureConsumptionAdded = (total: number): Event => {
  return { ...consumptionAdded(1, total), type: "FeatureConsumptionAdded", feature: "prints" };
};

describe("assertGrantInvariants", () => {
  test("throws for one slot more than the license has, and not for its last slot", () => {
    expectLastOf(licenseInstalled(1, { slots: 1 }), slotTaken("ada")).not.toThrow();
    const second = slotTaken("bob", { slot: 2 });
    expectLastOf(licenseInstalled(1, { slots: 1 }), slotTaken("ada"), second).toThrow(
      "more slots granted",
    );
  });

  test("does not throw when a renewal reduces the slots below those in use", () => {
    expectLastOf(
      licenseInstalled(1),
      slotTaken("ada"),
      licenseInstalled(1, { slots: 0 }),
    ).not.toThrow();
  });

  test("throws for one feature slot more than there are, and for a feature that does not float", () => {
    const fields = {
      at: MONDAY,
      license: 1,
      feature: "mesh",
      slot: 2,
      user: "ada",
      end: hoursLater(1),
      timeoutAt: hoursLater(1),
    };
    const featureTaken: Event = { type: "FeatureTaken", peer: "10.0.0.9", ...fields };
    const ada = slotTaken("ada", { end: hoursLater(1) });
    expectLastOf(licenseInstalled(1, { features: [meshWith(1)] }), ada, featureTaken).not.toThrow();
    expectLastOf(licenseInstalled(1, { features: [meshWith(0)] }), ada, featureTaken).toThrow(
      "more slots granted",
    );
    expectLastOf(
      licenseInstalled(1, { features: [featureTerms("mesh")] }),
      ada,
      featureTaken,
    ).toThrow("more slots granted");
  });

  test("throws for a feature slot that outlasts its license slot or has none", () => {
    const ends = { end: hoursLater(1), timeoutAt: hoursLater(1) };
    const fields = { at: MONDAY, license: 1, feature: "mesh", user: "ada", ...ends };
    const featureTaken: Event = { type: "FeatureTaken", peer: "10.0.0.9", slot: 2, ...fields };
    const renewed: Event = { type: "FeatureRenewed", ...fields, end: hoursLater(2) };
    const site = licenseInstalled(1, { features: [meshWith(1)] });
    expectLastOf(site, featureTaken).toThrow("ends after the slot of its license");
    expectLastOf(site, slotTaken("ada", { end: justBefore(hoursLater(1)) }), featureTaken).toThrow(
      "ends after the slot of its license",
    );
    expectLastOf(
      site,
      slotTaken("ada", { end: hoursLater(2) }),
      featureTaken,
      renewed,
    ).not.toThrow();
    expectLastOf(
      site,
      slotTaken("ada", { end: justBefore(hoursLater(2)) }),
      featureTaken,
      renewed,
    ).toThrow("ends after the slot of its license");
  });

  test("throws for a borrow that is not allowed, is in the past or outlasts its slot", () => {
    const registered = [licenseInstalled(1), slotTaken("ada")] as const;
    expectLastOf(...registered, slotBorrowed("ada", hoursLater(8))).not.toThrow();
    const withoutBorrowing = licenseInstalled(1, { borrowHours: null });
    expectLastOf(withoutBorrowing, slotTaken("ada"), slotBorrowed("ada", hoursLater(8))).toThrow(
      "does not allow it",
    );
    expectLastOf(...registered, { ...slotBorrowed("ada", MONDAY), end: hoursLater(1) }).toThrow(
      "into the past",
    );
    expectLastOf(...registered, {
      ...slotBorrowed("ada", hoursLater(8)),
      end: hoursLater(7),
    }).toThrow("before its borrow");
  });

  test("throws for a total above the limit, below zero or beyond exact integers", () => {
    const counting = licenseInstalled(1, {
      consumption: consumptionTerms({ max: 10, overages: 2 }),
    });
    expectLastOf(counting, consumptionAdded(1, 12)).not.toThrow();
    expectLastOf(counting, consumptionAdded(1, 13)).toThrow("more consumption");
    expectLastOf(counting, consumptionAdded(-1, 13)).not.toThrow();
    expectLastOf(counting, consumptionAdded(-1, 0)).not.toThrow();
    expectLastOf(counting, consumptionAdded(-1, -1)).toThrow("out of range");
    const unlimited = licenseInstalled(1, { consumption: consumptionTerms({ max: null }) });
    expectLastOf(unlimited, consumptionAdded(1, Number.MAX_SAFE_INTEGER)).not.toThrow();
    expectLastOf(unlimited, consumptionAdded(1, Number.MAX_SAFE_INTEGER + 1)).toThrow(
      "out of range",
    );
    expectLastOf(licenseInstalled(1), consumptionAdded(1, 1)).toThrow("does not count it");
  });

  test("throws for a feature total above its limit", () => {
    const prints = featureTerms("prints", { consumption: consumptionTerms({ max: 10 }) });
    expectLastOf(
      licenseInstalled(1, { features: [prints] }),
      featureConsumptionAdded(10),
    ).not.toThrow();
    expectLastOf(licenseInstalled(1, { features: [prints] }), featureConsumptionAdded(11)).toThrow(
      "more consumption",
    );
  });
});
