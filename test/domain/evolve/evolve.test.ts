import { describe, expect, test } from "bun:test";
import { isAudited } from "../../../src/domain/event-catalogue.ts";
import type { Event, RefusalsCounted } from "../../../src/domain/model/event.ts";
import { emptyState, evolve, UnknownEvent } from "../../../src/domain/evolve/evolve.ts";
import { limits } from "../../../src/domain/model/limits.ts";
import {
  slotBorrowed,
  CONTACT,
  dumpState,
  featureTerms,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  replayEvents,
  slotTaken,
} from "../../support/scenario.ts";

const findHolder = (events: readonly Event[], user: string) =>
  replayEvents(events).licenses.get(1)?.pool.get(user);

const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 5 } });
const eventFields = { at: minutesLater(1), license: 1, user: "ada" } as const;

const renewedAt = (at: number): Event => {
  return {
    type: "SlotRenewed",
    license: 1,
    user: "ada",
    at: minutesLater(at),
    end: minutesLater(99),
  };
};

describe("evolve", () => {
  test("applies a creation: kind, appliance and creation time", () => {
    const state = replayEvents([{ type: "Created", at: MONDAY, kind: "demo", appliance: "A" }]);
    expect(state).toMatchObject({ kind: "demo", createdAt: MONDAY, latestEventAt: MONDAY });
    expect(state.appliance).toBe("A");
  });

  test("throws for an unknown event type and names it", () => {
    for (const type of ["SlotLent", "constructor", "__proto__", ""]) {
      const event = JSON.parse(JSON.stringify({ type, at: MONDAY })) as Event;
      const evolving = (): void => evolve(emptyState("site"), event);
      expect(evolving).toThrow(UnknownEvent);
      expect(evolving).toThrow(`does not know: ${type}`);
    }
  });

  test("moves the latest event time forward and never back", () => {
    const state = replayEvents([
      licenseInstalled(1, {}, hoursLater(2)),
      slotTaken("ada", { at: hoursLater(1) }),
    ]);
    expect(state.latestEventAt).toBe(hoursLater(2));
  });

  test("sets the next slot number above every slot number of an event", () => {
    const events = [licenseInstalled(1, { features: [mesh] }), slotTaken("ada", { slot: 7 })];
    expect(replayEvents(events).nextSlot).toBe(8);
    const second = slotTaken("bob", { slot: 3 });
    expect(replayEvents([...events, second]).nextSlot).toBe(8);
    const fields = { license: 1, feature: "mesh", user: "ada", end: minutesLater(5) };
    const featureTaken: Event = {
      type: "FeatureTaken",
      peer: "10.0.0.9",
      at: MONDAY,
      slot: 9,
      timeoutAt: minutesLater(5),
      ...fields,
    };
    expect(replayEvents([...events, featureTaken]).nextSlot).toBe(10);
  });

  test("builds a complete registration from taking and borrowing a slot", () => {
    const contact = { ...CONTACT, hostname: "laptop" };
    const events = [
      licenseInstalled(1),
      slotTaken("ada"),
      { ...slotBorrowed("ada", hoursLater(8)), contact },
    ];
    expect(findHolder(events, "ada")).toEqual({
      slot: 1,
      user: "ada",
      registeredAt: MONDAY,
      end: hoursLater(8),
      setAt: MONDAY,
      contact,
      lastSeenAt: MONDAY,
      borrowedUntil: hoursLater(8),
      borrowedAt: MONDAY,
      leasedTo: null,
      contactAuditedAt: null,
      isContactUnaudited: false,
      takenFrom: CONTACT,
      identity: null,
    });
  });

  test("applies a renewal to the end, and to the contact only if it is named", () => {
    const history = [licenseInstalled(1), slotTaken("ada")];
    const renewed: Event = { type: "SlotRenewed", ...eventFields, end: minutesLater(31) };
    expect(findHolder([...history, renewed], "ada")).toMatchObject({
      end: minutesLater(31),
      contact: CONTACT,
    });
    const contact = { ...CONTACT, ip: "10.0.0.9" };
    expect(findHolder([...history, { ...renewed, contact }], "ada")).toMatchObject({ contact });
  });

  test("clears a borrow with a renewal at the end of the borrow, not before", () => {
    const history = [licenseInstalled(1), slotTaken("ada"), slotBorrowed("ada", minutesLater(10))];
    expect(findHolder([...history, renewedAt(9)], "ada")?.borrowedUntil).toBe(minutesLater(10));
    expect(findHolder([...history, renewedAt(10)], "ada")?.borrowedUntil).toBeNull();
  });

  test("keeps the leased device through renewals until the borrow ends", () => {
    const leased = { ...slotBorrowed("ada", minutesLater(10)), leasedTo: "laptop" };
    const history = [licenseInstalled(1), slotTaken("ada"), leased];
    expect(findHolder([...history, renewedAt(9)], "ada")?.leasedTo).toBe("laptop");
    expect(findHolder([...history, renewedAt(10)], "ada")?.leasedTo).toBeNull();
  });

  test("removes the whole registration with a release or an expiry", () => {
    const unchanged = dumpState(
      replayEvents([licenseInstalled(1), slotTaken("ada"), slotTaken("bob", { slot: 2 })]),
    );
    const expired: Event = { type: "SlotExpired", ...eventFields, slot: 1 };
    const released: Event = {
      ...expired,
      type: "SlotReleased",
      by: "user",
      peer: "",
      early: false,
    };
    for (const event of [expired, released]) {
      const state = replayEvents([
        licenseInstalled(1),
        slotTaken("ada"),
        slotTaken("bob", { slot: 2 }),
        event,
      ]);
      expect(state.licenses.get(1)?.pool.get("ada")).toBeUndefined();
      expect(state.licenses.get(1)?.pool.expiryIndex.countEnded(hoursLater(9))).toBe(1);
      expect(dumpState(state)).not.toEqual(unchanged);
    }
  });

  test("throws for an event about a license, user or feature that does not exist", () => {
    const state = replayEvents([licenseInstalled(1, { features: [mesh] }), slotTaken("ada")]);
    const expired: Event = { type: "SlotExpired", ...eventFields, slot: 1 };
    expect(() => evolve(state, { ...expired, license: 2 })).toThrow("license 2");
    expect(() => evolve(state, { ...expired, user: "toString" })).toThrow("holds no slot");
    expect(() => evolve(state, slotTaken("ada", { slot: 2 }))).toThrow("twice");
    const featureTaken: Event = { ...expired, type: "FeatureExpired", feature: "constructor" };
    expect(() => evolve(state, featureTaken)).toThrow("feature");
  });
});

const refusalsCounted = (product: string | null, code: string, count = 1): RefusalsCounted => {
  return { type: "RefusalsCounted", at: MONDAY, product, code, count, users: [] };
};

const listRefusalTotals = (events: readonly Event[]) => [...replayEvents(events).refusals.values()];

describe("refusal totals", () => {
  test("are summed by product and code, with the time of the last refusal", () => {
    const events = [
      refusalsCounted("cad", "full", 2),
      refusalsCounted(null, "full"),
      refusalsCounted("cad", "ended"),
    ];
    const later = { ...refusalsCounted("cad", "full", 3), at: hoursLater(1) };
    expect(listRefusalTotals([...events, later])).toEqual([
      { product: "cad", feature: null, code: "full", count: 5, lastAt: hoursLater(1) },
      { product: null, feature: null, code: "full", count: 1, lastAt: MONDAY },
      { product: "cad", feature: null, code: "ended", count: 1, lastAt: MONDAY },
    ]);
  });

  test("of a feature are separate from those of its product", () => {
    const ofFeature = { ...refusalsCounted("cad", "full", 2), feature: "plot" };
    expect(listRefusalTotals([refusalsCounted("cad", "full"), ofFeature])).toEqual([
      { product: "cad", feature: null, code: "full", count: 1, lastAt: MONDAY },
      { product: "cad", feature: "plot", code: "full", count: 2, lastAt: MONDAY },
    ]);
  });

  test("without a product are separate from those of a product called null", () => {
    expect(
      listRefusalTotals([refusalsCounted(null, "full"), refusalsCounted("null", "full")]),
    ).toHaveLength(2);
  });

  test("are kept for 1,000 pairs of product and code; further pairs are dropped", () => {
    const kinds = Array.from({ length: limits.refusalTotals }, (_, i) =>
      refusalsCounted(`p${i}`, "full"),
    );
    const state = replayEvents([
      ...kinds,
      refusalsCounted("new", "full"),
      refusalsCounted("p0", "full"),
    ]);
    expect(state.refusals.size).toBe(1_000);
    expect([...state.refusals.values()][0]?.count).toBe(2);
  });

  test("are recorded one event for each pair, with its last 20 users", () => {
    const users = Array.from({ length: 25 }, (_, i) => `u${i}`);
    given(licenseInstalled(1))
      .at(MONDAY)
      .when({
        type: "CountRefusals",
        refusals: [
          { product: "cad", feature: null, code: "full", count: 30, users },
          { product: "cad", feature: "plot", code: "full", count: 2, users: [] },
          { product: null, feature: null, code: "unknown", count: 1, users: [] },
        ],
      })
      .records(
        { ...refusalsCounted("cad", "full", 30), users: users.slice(5) },
        { ...refusalsCounted("cad", "full", 2), feature: "plot" },
        { ...refusalsCounted(null, "unknown"), users: [] },
      )
      .answers(null);
  });
});

test("isAudited is true for every event but a renewal without a new lease", () => {
  const renewed: Event = { type: "SlotRenewed", ...eventFields, end: minutesLater(31) };
  expect(isAudited(renewed)).toBe(false);
  expect(isAudited({ ...renewed, contact: CONTACT })).toBe(false);
  const { end } = renewed;
  const ofFeature: Event = {
    ...eventFields,
    type: "FeatureRenewed",
    feature: "mesh",
    end,
    timeoutAt: end,
  };
  expect(isAudited(ofFeature)).toBe(false);
  expect(isAudited({ ...renewed, leasedTo: "laptop" })).toBe(true);
  expect(isAudited(slotTaken("ada"))).toBe(true);
  expect(isAudited(slotBorrowed("ada", hoursLater(8)))).toBe(true);
});
