import { describe, expect, test } from "bun:test";
import type { Terms } from "../../src/domain/terms.ts";
import type { Instant } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import { viewFeature, viewLicense, viewRegistrations } from "../../src/domain/views.ts";
import {
  justBefore,
  borrow,
  consume,
  consumeFeature,
  consumptionTerms,
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
  utc,
} from "../support/scenario.ts";

const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 5 } });
const prints = featureTerms("prints", { consumption: consumptionTerms({ period: "daily" }) });

const seen = (history: ReturnType<typeof given>, at: Instant) => {
  const state = replayEvents(history.events);
  const license = state.licenses.get(1);
  if (license === undefined) throw new Error("no license");
  return viewLicense(state, license, at);
};

const shown = (differing: Partial<Terms>, at: Instant) => {
  const { active, expired, refusal } = seen(given(licenseInstalled(1, differing)), at);
  return { active, expired, refusal };
};

describe("a license as it is seen", () => {
  test("is active from its start and expired from its end, grace included", () => {
    const plain = { active: true, expired: false, refusal: null };
    expect(shown({}, MONDAY)).toEqual(plain);
    const start = { start: hoursLater(1) };
    const early = { active: false, expired: false, refusal: "license_not_active" };
    expect(shown(start, justBefore(hoursLater(1)))).toEqual(early);
    expect(shown(start, hoursLater(1))).toEqual(plain);
    const end = { validUntil: hoursLater(1), graceHours: 1 };
    expect(shown(end, justBefore(hoursLater(2)))).toEqual(plain);
    const over = { active: true, expired: true, refusal: "license_expired" };
    expect(shown(end, hoursLater(2))).toEqual(over);
    const off = { active: true, expired: false, refusal: "license_not_enabled" };
    expect(shown({ enabled: false }, MONDAY)).toEqual(off);
  });

  test("shows slots and totals as they count at that instant", () => {
    const consumption = consumptionTerms({ period: "daily" });
    const used = given(licenseInstalled(1, { consumption, features: [mesh, prints] }))
      .at(MONDAY)
      .execute(
        consume(3),
        consumeFeature("prints", 2),
        register("ada"),
        registerFeature("ada", "mesh"),
      );
    const counts = (at: Instant) => {
      const { slotsInUse, total, features } = seen(used, at);
      return [slotsInUse, total, ...features.map((shown) => [shown.slotsInUse, shown.total])];
    };
    expect(counts(justBefore(minutesLater(5)))).toEqual([1, 3, [1, 0], [0, 2]]);
    expect(counts(minutesLater(5))).toEqual([1, 3, [0, 0], [0, 2]]);
    expect(counts(minutesLater(30))).toEqual([0, 3, [0, 0], [0, 2]]);
    expect(counts(utc("2026-03-03T00:00:00Z"))).toEqual([0, 0, [0, 0], [0, 0]]);
  });
});

test("a feature is seen by its code, under its place, or not at all", () => {
  const state = replayEvents([licenseInstalled(1, { features: [mesh, prints] })]);
  const license = state.licenses.get(1);
  if (license === undefined) throw new Error("no license");
  const all = viewLicense(state, license, MONDAY).features;
  expect(all.map(({ id, terms }) => [id, terms.code])).toEqual([
    [1, "mesh"],
    [2, "prints"],
  ]);
  expect(viewFeature(license, "prints", MONDAY)).toEqual(all[1] ?? null);
  expect(viewFeature(license, "constructor", MONDAY)).toBeNull();
});

describe("the registrations as they are seen", () => {
  const history = given(
    licenseInstalled(1, { features: [mesh, prints] }),
    licenseInstalled(2, { product: "cam" }),
    slotTaken("bob", { license: 2, slot: 1, end: hoursLater(9) }),
  )
    .at(MONDAY)
    .execute(borrow("ada", minutesLater(10)), registerFeature("ada", "mesh"));
  const list = (product: string | null, at: Instant) =>
    viewRegistrations(replayEvents(history.events), product, at);

  const users = (product: string | null, at: Instant) => list(product, at).map((r) => r.user);

  test("are those held at that instant, the longest held first, of one product or all", () => {
    expect(users(null, MONDAY)).toEqual(["bob", "ada"]);
    expect(users("cad", MONDAY)).toEqual(["ada"]);
    expect(users("toString", MONDAY)).toEqual([]);
    expect(users(null, justBefore(minutesLater(30)))).toEqual(["bob", "ada"]);
    expect(users(null, minutesLater(30))).toEqual(["bob"]);
  });

  test("come in stretches when there are many", () => {
    const state = replayEvents(history.events);
    const stretch = (after: number, limit: number) =>
      viewRegistrations(state, null, MONDAY, { after, limit }).map((r) => r.user);
    expect(stretch(0, 1)).toEqual(["bob"]);
    expect(stretch(1, 1)).toEqual(["ada"]);
    expect(stretch(2, 1)).toEqual([]);
    expect(stretch(0, 2)).toEqual(["bob", "ada"]);
  });

  const at = (moment: Instant) => list("cad", moment)[0];

  test("name license, product, the features in use and the borrow while it lasts", () => {
    expect(at(MONDAY)).toMatchObject({ license: 1, product: "cad", slot: 2, features: ["mesh"] });
    expect(at(justBefore(minutesLater(5)))?.features).toEqual(["mesh"]);
    expect(at(minutesLater(5))?.features).toEqual([]);
    expect(at(justBefore(minutesLater(10)))?.borrowedUntil).toBe(minutesLater(10));
    expect(at(minutesLater(10))?.borrowedUntil).toBeNull();
  });

  test("are copies, which stay as they were when the state moves on", () => {
    const state = replayEvents(history.events);
    const [shown] = viewRegistrations(state, "cad", MONDAY);
    transact(state, register("ada"), minutesLater(20));
    expect(shown?.end).toBe(minutesLater(30));
    expect(viewRegistrations(state, "cad", minutesLater(20))[0]?.end).toBe(minutesLater(50));
  });
});
