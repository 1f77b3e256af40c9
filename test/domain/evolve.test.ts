import { describe, expect, test } from "bun:test";
import { isAudited } from "../../src/domain/audited-events.ts";
import type { Event, RefusalsCounted } from "../../src/domain/event.ts";
import { evolve, UnknownEvent } from "../../src/domain/evolve.ts";
import { emptyState } from "../../src/domain/state.ts";
import { limits } from "../../src/domain/limits.ts";
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
} from "../support/scenario.ts";

const holder = (events: readonly Event[], user: string) =>
  replayEvents(events).licenses.get(1)?.pool.get(user);

const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 5 } });
const named = { at: minutesLater(1), license: 1, user: "ada" } as const;

const renewedAt = (at: number): Event => {
  return {
    type: "SlotRenewed",
    license: 1,
    user: "ada",
    at: minutesLater(at),
    end: minutesLater(99),
  };
};

describe("an event", () => {
  test("of creation says what the folder is for and since when", () => {
    const state = replayEvents([{ type: "Created", at: MONDAY, kind: "demo", appliance: "A" }]);
    expect(state).toMatchObject({ kind: "demo", createdAt: MONDAY, latestEventAt: MONDAY });
    expect(state.appliance).toBe("A");
  });

  test("of a type that is not known is refused with its type", () => {
    for (const type of ["SlotLent", "constructor", "__proto__", ""]) {
      const event = JSON.parse(JSON.stringify({ type, at: MONDAY })) as Event;
      const evolving = (): void => evolve(emptyState("site"), event);
      expect(evolving).toThrow(UnknownEvent);
      expect(evolving).toThrow(`does not know: ${type}`);
    }
  });

  test("moves the mark forward and never back", () => {
    const state = replayEvents([
      licenseInstalled(1, {}, hoursLater(2)),
      slotTaken("ada", { at: hoursLater(1) }),
    ]);
    expect(state.latestEventAt).toBe(hoursLater(2));
  });

  test("with a slot's number moves the next one past it", () => {
    const events = [licenseInstalled(1, { features: [mesh] }), slotTaken("ada", { slot: 7 })];
    expect(replayEvents(events).nextSlot).toBe(8);
    const second = slotTaken("bob", { slot: 3 });
    expect(replayEvents([...events, second]).nextSlot).toBe(8);
    const of = { license: 1, feature: "mesh", user: "ada", end: minutesLater(5) };
    const used: Event = { type: "FeatureTaken", peer: "10.0.0.9", at: MONDAY, slot: 9, ...of };
    expect(replayEvents([...events, used]).nextSlot).toBe(10);
  });

  test("of taking and borrowing says all there is of a registration", () => {
    const contact = { ...CONTACT, hostname: "laptop" };
    const events = [
      licenseInstalled(1),
      slotTaken("ada"),
      { ...slotBorrowed("ada", hoursLater(8)), contact },
    ];
    expect(holder(events, "ada")).toEqual({
      slot: 1,
      user: "ada",
      registeredAt: MONDAY,
      end: hoursLater(8),
      setAt: MONDAY,
      contact,
      borrowedUntil: hoursLater(8),
      borrowedAt: MONDAY,
      leasedTo: null,
      contactAuditedAt: null,
      isContactUnaudited: false,
    });
  });

  test("of renewal moves the end, and the contact only where it is named", () => {
    const history = [licenseInstalled(1), slotTaken("ada")];
    const renewed: Event = { type: "SlotRenewed", ...named, end: minutesLater(31) };
    expect(holder([...history, renewed], "ada")).toMatchObject({
      end: minutesLater(31),
      contact: CONTACT,
    });
    const contact = { ...CONTACT, ip: "10.0.0.9" };
    expect(holder([...history, { ...renewed, contact }], "ada")).toMatchObject({ contact });
  });

  test("of renewal ends a borrow from its end on, and not before", () => {
    const history = [licenseInstalled(1), slotTaken("ada"), slotBorrowed("ada", minutesLater(10))];
    expect(holder([...history, renewedAt(9)], "ada")?.borrowedUntil).toBe(minutesLater(10));
    expect(holder([...history, renewedAt(10)], "ada")?.borrowedUntil).toBeNull();
  });

  test("of renewal keeps the device a borrow is leased to until the borrow ends", () => {
    const leased = { ...slotBorrowed("ada", minutesLater(10)), leasedTo: "laptop" };
    const history = [licenseInstalled(1), slotTaken("ada"), leased];
    expect(holder([...history, renewedAt(9)], "ada")?.leasedTo).toBe("laptop");
    expect(holder([...history, renewedAt(10)], "ada")?.leasedTo).toBeNull();
  });

  test("of release or expiry leaves nothing of the registration behind", () => {
    const plain = dumpState(
      replayEvents([licenseInstalled(1), slotTaken("ada"), slotTaken("bob", { slot: 2 })]),
    );
    const gone: Event = { type: "SlotExpired", ...named, slot: 1 };
    const returned: Event = { ...gone, type: "SlotReleased", by: "user", peer: "", early: false };
    for (const event of [gone, returned]) {
      const state = replayEvents([
        licenseInstalled(1),
        slotTaken("ada"),
        slotTaken("bob", { slot: 2 }),
        event,
      ]);
      expect(state.licenses.get(1)?.pool.get("ada")).toBeUndefined();
      expect(state.licenses.get(1)?.pool.expiryIndex.countEnded(hoursLater(9))).toBe(1);
      expect(dumpState(state)).not.toEqual(plain);
    }
  });

  test("about what is not there is a broken journal, and throws", () => {
    const state = replayEvents([licenseInstalled(1, { features: [mesh] }), slotTaken("ada")]);
    const gone: Event = { type: "SlotExpired", ...named, slot: 1 };
    expect(() => evolve(state, { ...gone, license: 2 })).toThrow("license 2");
    expect(() => evolve(state, { ...gone, user: "toString" })).toThrow("holds no slot");
    expect(() => evolve(state, slotTaken("ada", { slot: 2 }))).toThrow("twice");
    const used: Event = { ...gone, type: "FeatureExpired", feature: "constructor" };
    expect(() => evolve(state, used)).toThrow("feature");
  });
});

const refused = (product: string | null, code: string, count = 1): RefusalsCounted => {
  return { type: "RefusalsCounted", at: MONDAY, product, code, count, users: [] };
};

const totals = (events: readonly Event[]) => [...replayEvents(events).refusals.values()];

describe("refusals", () => {
  test("are summed by product and code, with when it last happened", () => {
    const events = [refused("cad", "full", 2), refused(null, "full"), refused("cad", "ended")];
    const later = { ...refused("cad", "full", 3), at: hoursLater(1) };
    expect(totals([...events, later])).toEqual([
      { product: "cad", code: "full", count: 5, lastAt: hoursLater(1) },
      { product: null, code: "full", count: 1, lastAt: MONDAY },
      { product: "cad", code: "ended", count: 1, lastAt: MONDAY },
    ]);
  });

  test("of no product are not those of a product of that name", () => {
    expect(totals([refused(null, "full"), refused("null", "full")])).toHaveLength(2);
  });

  test("are totalled for a thousand kinds; more are let go, those known still count", () => {
    const kinds = Array.from({ length: limits.refusalTotals }, (_, i) => refused(`p${i}`, "full"));
    const state = replayEvents([...kinds, refused("new", "full"), refused("p0", "full")]);
    expect(state.refusals.size).toBe(1_000);
    expect([...state.refusals.values()][0]?.count).toBe(2);
  });

  test("are recorded one by one, with the last twenty users each", () => {
    const users = Array.from({ length: 25 }, (_, i) => `u${i}`);
    given(licenseInstalled(1))
      .at(MONDAY)
      .when({
        type: "CountRefusals",
        refusals: [
          { product: "cad", code: "full", count: 30, users },
          { product: null, code: "unknown", count: 1, users: [] },
        ],
      })
      .records(
        { ...refused("cad", "full", 30), users: users.slice(5) },
        { ...refused(null, "unknown"), users: [] },
      )
      .answers(null);
  });
});

test("the auditor's record holds everything but renewals", () => {
  const renewed: Event = { type: "SlotRenewed", ...named, end: minutesLater(31) };
  expect(isAudited(renewed)).toBe(false);
  expect(isAudited({ ...renewed, contact: CONTACT })).toBe(false);
  expect(isAudited({ ...renewed, type: "FeatureRenewed", feature: "mesh" })).toBe(false);
  expect(isAudited({ ...renewed, leasedTo: "laptop" })).toBe(true);
  expect(isAudited(slotTaken("ada"))).toBe(true);
  expect(isAudited(slotBorrowed("ada", hoursLater(8)))).toBe(true);
});
