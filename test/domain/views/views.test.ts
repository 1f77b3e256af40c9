import { describe, expect, test } from "bun:test";
import type { Terms } from "../../../src/domain/model/licenses/terms.ts";
import type { Instant } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
import {
  viewFeature,
  viewLicense,
  viewRegistrations,
  summarizeRules,
} from "../../../src/domain/views/views.ts";
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
} from "../../support/scenario.ts";
import { contextAt } from "../../support/rule-context.ts";
import { applyRules, group, poolRules, reserve, ruleSet } from "../../support/rule-sets.ts";

const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 5 } });
const prints = featureTerms("prints", { consumption: consumptionTerms({ period: "daily" }) });

const viewHistory = (history: ReturnType<typeof given>, at: Instant) => {
  const state = replayEvents(history.events);
  const license = state.licenses.get(1);
  if (license === undefined) throw new Error("no license");
  return viewLicense(state, license, contextAt(at));
};

const viewValidity = (overrides: Partial<Terms>, at: Instant) => {
  const { active, expired, refusal } = viewHistory(given(licenseInstalled(1, overrides)), at);
  return { active, expired, refusal };
};

describe("viewLicense", () => {
  test("shows active from the start on, and expired from the end of the grace on", () => {
    const valid = { active: true, expired: false, refusal: null };
    expect(viewValidity({}, MONDAY)).toEqual(valid);
    const start = { start: hoursLater(1) };
    const early = { active: false, expired: false, refusal: "license_not_active" };
    expect(viewValidity(start, justBefore(hoursLater(1)))).toEqual(early);
    expect(viewValidity(start, hoursLater(1))).toEqual(valid);
    const end = { validUntil: hoursLater(1), graceHours: 1 };
    expect(viewValidity(end, justBefore(hoursLater(2)))).toEqual(valid);
    const expired = { active: true, expired: true, refusal: "license_expired" };
    expect(viewValidity(end, hoursLater(2))).toEqual(expired);
    const disabled = { active: true, expired: false, refusal: "license_not_enabled" };
    expect(viewValidity({ enabled: false }, MONDAY)).toEqual(disabled);
  });

  test("shows slots in use and totals as of that instant", () => {
    const consumption = consumptionTerms({ period: "daily" });
    const consumed = given(licenseInstalled(1, { consumption, features: [mesh, prints] }))
      .at(MONDAY)
      .execute(
        consume(3),
        consumeFeature("prints", 2),
        register("ada"),
        registerFeature("ada", "mesh"),
      );
    const counts = (at: Instant) => {
      const { slotsInUse, total, features } = viewHistory(consumed, at);
      return [slotsInUse, total, ...features.map((feature) => [feature.slotsInUse, feature.total])];
    };
    expect(counts(justBefore(minutesLater(5)))).toEqual([1, 3, [1, 0], [0, 2]]);
    expect(counts(minutesLater(5))).toEqual([1, 3, [0, 0], [0, 2]]);
    expect(counts(minutesLater(30))).toEqual([0, 3, [0, 0], [0, 2]]);
    expect(counts(utc("2026-03-03T00:00:00Z"))).toEqual([0, 0, [0, 0], [0, 0]]);
  });
});

test("viewFeature finds a feature by its code, numbered by its position, or gives null", () => {
  const state = replayEvents([licenseInstalled(1, { features: [mesh, prints] })]);
  const license = state.licenses.get(1);
  if (license === undefined) throw new Error("no license");
  const all = viewLicense(state, license, contextAt(MONDAY)).features;
  expect(all.map(({ id, terms }) => [id, terms.code])).toEqual([
    [1, "mesh"],
    [2, "prints"],
  ]);
  expect(viewFeature(license, "prints", MONDAY)).toEqual(all[1] ?? null);
  expect(viewFeature(license, "constructor", MONDAY)).toBeNull();
});

describe("viewRegistrations", () => {
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

  test("lists the slots held at that instant, oldest first, of one product or all", () => {
    expect(users(null, MONDAY)).toEqual(["bob", "ada"]);
    expect(users("cad", MONDAY)).toEqual(["ada"]);
    expect(users("toString", MONDAY)).toEqual([]);
    expect(users(null, justBefore(minutesLater(30)))).toEqual(["bob", "ada"]);
    expect(users(null, minutesLater(30))).toEqual(["bob"]);
  });

  test("lists a page after a slot number, up to a limit", () => {
    const state = replayEvents(history.events);
    const listUsers = (after: number, limit: number) =>
      viewRegistrations(state, null, MONDAY, { after, limit }).map((r) => r.user);
    expect(listUsers(0, 1)).toEqual(["bob"]);
    expect(listUsers(1, 1)).toEqual(["ada"]);
    expect(listUsers(2, 1)).toEqual([]);
    expect(listUsers(0, 2)).toEqual(["bob", "ada"]);
  });

  const firstAt = (at: Instant) => list("cad", at)[0];

  test("shows license, product, features in use, and the borrow until it ends", () => {
    expect(firstAt(MONDAY)).toMatchObject({
      license: 1,
      product: "cad",
      slot: 2,
      features: ["mesh"],
    });
    expect(firstAt(justBefore(minutesLater(5)))?.features).toEqual(["mesh"]);
    expect(firstAt(minutesLater(5))?.features).toEqual([]);
    expect(firstAt(justBefore(minutesLater(10)))?.borrowedUntil).toBe(minutesLater(10));
    expect(firstAt(minutesLater(10))?.borrowedUntil).toBeNull();
  });

  test("names the group whose reserved slots the holder has, as the rules say now", () => {
    const state = replayEvents(history.events);
    const homes = () => viewRegistrations(state, null, MONDAY).map((r) => [r.user, r.home]);
    expect(homes()).toEqual([
      ["bob", null],
      ["ada", null],
    ]);
    const groups = [group("sim", { users: ["ada", "bob"] })];
    const rules = ruleSet(groups, poolRules("cad", { reservations: [reserve("sim", 2)] }));
    transact(state, applyRules(rules), contextAt(MONDAY));
    expect(homes()).toEqual([
      ["bob", null],
      ["ada", "sim"],
    ]);
  });

  test("gives copies that do not change with the state", () => {
    const state = replayEvents(history.events);
    const [registration] = viewRegistrations(state, "cad", MONDAY);
    transact(state, register("ada"), contextAt(minutesLater(20)));
    expect(registration?.end).toBe(minutesLater(30));
    expect(viewRegistrations(state, "cad", minutesLater(20))[0]?.end).toBe(minutesLater(50));
  });
});

describe("summarizeRules", () => {
  const sim = group("sim", { users: ["ada"] });
  const other = group("other", { users: ["eve"] });
  const cad = poolRules("cad", { reservations: [reserve("sim", 2), reserve("other", 1, "lend")] });
  const rules = ruleSet(
    [sim, other],
    cad,
    poolRules("gone", { reservations: [reserve("sim", 5)] }),
  );

  test("is null without rules", () => {
    expect(summarizeRules(replayEvents([licenseInstalled(1)]), MONDAY)).toBeNull();
  });

  test("adds up the reservations of installed products, and their idle slots", () => {
    const state = replayEvents([licenseInstalled(1, { slots: 10 })]);
    transact(state, applyRules(rules), contextAt(MONDAY));
    const reserved = () => summarizeRules(state, MONDAY)?.reservations;
    expect(reserved()).toEqual([{ product: "cad", feature: null, reserved: 3, idle: 3 }]);
    transact(state, register("ada"), contextAt(MONDAY));
    transact(state, register("bob"), contextAt(MONDAY));
    expect(reserved()).toEqual([{ product: "cad", feature: null, reserved: 3, idle: 2 }]);
  });
});
