import { describe, expect, test } from "bun:test";
import { decodeTerms, type TermsDocument } from "../../src/license/terms.ts";
import { instant } from "../../src/domain/time.ts";

const consumption = { max: 100, overages: 10, negative: false, period: "monthly" } as const;

const feature = {
  code: "render",
  name: "Rendering",
  metadata: '{"tier":2}',
  expires: "2027-01-01T00:00:00.000Z",
  floating: { slots: 2, timeout_minutes: 30 },
  consumption,
} as const;

const full: TermsDocument = {
  product: "modeler2",
  product_name: "Modeler 2",
  license_key: "GZ8Q-0001",
  license_type: "subscription",
  customer: "Zürich Präzision",
  metadata: "{}",
  trial: false,
  enabled: true,
  start: "2026-03-01T00:00:00.000Z",
  valid_until: "2027-03-01T00:00:00.000Z",
  maintenance_until: "2028-02-29T23:59:59.999Z",
  grace_hours: 72,
  slots: 5,
  timeout_minutes: 60,
  borrow_hours: 168,
  early_return: true,
  move_grace_hours: 48,
  consumption,
  features: [feature],
};

const isTaken = (changes: object): boolean => decodeTerms({ ...full, ...changes }) !== null;
const isFeatureTaken = (changes: object): boolean =>
  isTaken({ features: [{ ...feature, ...changes }] });

const without = (value: object, name: string): object =>
  Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));

test("every member arrives under its own name", () => {
  const counted = { max: 100, overages: 10, negative: false, period: "monthly" } as const;
  expect(decodeTerms(full)).toEqual({
    product: "modeler2",
    productName: "Modeler 2",
    licenseKey: "GZ8Q-0001",
    type: "subscription",
    customer: "Zürich Präzision",
    metadata: "{}",
    trial: false,
    enabled: true,
    start: instant(Date.UTC(2026, 2, 1)),
    validUntil: instant(Date.UTC(2027, 2, 1)),
    maintenanceUntil: instant(Date.UTC(2028, 1, 29, 23, 59, 59, 999)),
    graceHours: 72,
    slots: 5,
    timeoutMinutes: 60,
    borrowHours: 168,
    earlyReturn: true,
    moveGraceHours: 48,
    consumption: counted,
    features: [
      {
        code: "render",
        name: "Rendering",
        metadata: '{"tier":2}',
        expires: instant(Date.UTC(2027, 0, 1)),
        floating: { slots: 2, timeoutMinutes: 30 },
        consumption: counted,
      },
    ],
  });
});

const NULLABLE =
  "license_key customer metadata start valid_until maintenance_until grace_hours borrow_hours consumption";
const NULLABLE_IN_FEATURE = "metadata expires floating consumption";
const NULLABLE_IN_CONSUMPTION = "max period";

/** Every object of the terms, and how to put another in its place. */
const OBJECTS: [string, object, string, (one: object) => boolean][] = [
  ["the terms", full, NULLABLE, (one) => decodeTerms(one) !== null],
  ["a feature", feature, NULLABLE_IN_FEATURE, (one) => isTaken({ features: [one] })],
  ["a floating feature", feature.floating, "", (floating) => isFeatureTaken({ floating })],
  ["a consumption", consumption, NULLABLE_IN_CONSUMPTION, (one) => isTaken({ consumption: one })],
  [
    "a feature's consumption",
    consumption,
    NULLABLE_IN_CONSUMPTION,
    (one) => isFeatureTaken({ consumption: one }),
  ],
];

describe.each(OBJECTS)("the members of %s", (_, object, nullable, taken) => {
  test("are all there", () => {
    expect(taken(object)).toBe(true);
    expect(Object.keys(object).filter((name) => taken(without(object, name)))).toEqual([]);
    expect(taken({})).toBe(false);
  });

  test("are null only where that means something", () => {
    const may = Object.keys(object).filter((name) => taken({ ...object, [name]: null }));
    expect(may.join(" ")).toBe(nullable);
  });

  test("are never undefined, a list or an object of another shape", () => {
    for (const wrong of [undefined, [[]], { a: 1 }, Number.NaN]) {
      expect(Object.keys(object).filter((name) => taken({ ...object, [name]: wrong }))).toEqual([]);
    }
  });

  test.each(["more", "Slots", "toString", ""])("have no other beside them: %p", (name) => {
    expect(taken({ ...object, [name]: 1 })).toBe(false);
  });

  test("have no trap beside them", () => {
    const trap: unknown = JSON.parse(`{"__proto__":{},${JSON.stringify(object).slice(1)}`);
    expect(taken(trap as object)).toBe(false);
  });
});

const COUNT = 1_000_000_000_000;
const HOURS = 876_000;
const MINUTES = 5_256_000;
const ofFloating = (floating: object) => ({ floating: { ...feature.floating, ...floating } });
const ofConsumption = (one: object) => ({ consumption: { ...consumption, ...one } });

describe("a number's bounds", () => {
  test.each<[string, number, number, (value: unknown) => boolean]>([
    ["slots", 0, COUNT, (slots) => isTaken({ slots })],
    ["timeout_minutes", 1, MINUTES, (timeout_minutes) => isTaken({ timeout_minutes })],
    ["grace_hours", 0, HOURS, (grace_hours) => isTaken({ grace_hours })],
    ["borrow_hours", 0, HOURS, (borrow_hours) => isTaken({ borrow_hours })],
    ["move_grace_hours", 0, HOURS, (move_grace_hours) => isTaken({ move_grace_hours })],
    ["max", 0, COUNT, (max) => isTaken(ofConsumption({ max }))],
    ["overages", 0, COUNT, (overages) => isTaken(ofConsumption({ overages }))],
    ["a feature's max", 0, COUNT, (max) => isFeatureTaken(ofConsumption({ max }))],
    ["a feature's overages", 0, COUNT, (overages) => isFeatureTaken(ofConsumption({ overages }))],
    ["a feature's slots", 0, COUNT, (slots) => isFeatureTaken(ofFloating({ slots }))],
    ["a feature's timeout", 1, MINUTES, (t) => isFeatureTaken(ofFloating({ timeout_minutes: t }))],
  ])("%s is whole and from %d to %d", (_, least, most, taken) => {
    expect([least, least + 1, most - 1, most].map(taken)).toEqual([true, true, true, true]);
    const wrong = [least - 1, most + 1, 1.5, Infinity, -Infinity, Number.NaN, "5", true, 5n];
    expect(wrong.filter(taken)).toEqual([]);
  });
});

describe("a text's bounds", () => {
  test.each<[string, number, (value: unknown) => boolean]>([
    ["product", 256, (product) => isTaken({ product })],
    ["product_name", 256, (product_name) => isTaken({ product_name })],
    ["license_key", 256, (license_key) => isTaken({ license_key })],
    ["customer", 256, (customer) => isTaken({ customer })],
    ["metadata", 4_096, (metadata) => isTaken({ metadata })],
    ["a feature's code", 256, (code) => isFeatureTaken({ code })],
    ["a feature's name", 256, (name) => isFeatureTaken({ name })],
    ["a feature's metadata", 4_096, (metadata) => isFeatureTaken({ metadata })],
  ])("%s has 1 to %d characters", (_, most, taken) => {
    expect(["a", "a".repeat(most)].map(taken)).toEqual([true, true]);
    expect(["", "a".repeat(most + 1), 5, false].filter(taken)).toEqual([]);
  });
});

test("a switch is true or false and nothing like it", () => {
  for (const wrong of ["true", 0, 1, ""]) {
    for (const name of ["trial", "enabled", "early_return"]) {
      expect([true, false].map((value) => isTaken({ [name]: value }))).toEqual([true, true]);
      expect(isTaken({ [name]: wrong })).toBe(false);
    }
    expect(isTaken(ofConsumption({ negative: wrong }))).toBe(false);
  }
});

test("types and periods are the known ones", () => {
  const types = ["perpetual", "time-limited", "subscription", "consumption"];
  const periods = ["daily", "weekly", "monthly", "annually"];
  const others = ["", "Perpetual", "monthly ", "yearly", "time_limited", "toString"];
  const all = [...types, ...periods, ...others];
  expect(all.filter((license_type) => isTaken({ license_type }))).toEqual(types);
  expect(all.filter((period) => isTaken(ofConsumption({ period })))).toEqual(periods);
  expect(all.filter((period) => isFeatureTaken(ofConsumption({ period })))).toEqual(periods);
});

describe("a time", () => {
  const taken = (time: string): boolean[] => [
    ...["start", "valid_until", "maintenance_until"].map((name) => isTaken({ [name]: time })),
    isFeatureTaken({ expires: time }),
  ];

  test.each([
    ["the first", "1970-01-01T00:00:00.000Z"],
    ["a leap day", "2028-02-29T00:00:00.000Z"],
    ["the last", "9999-12-31T23:59:59.999Z"],
  ])("is taken: %s", (_, time) => {
    expect(taken(time)).toEqual([true, true, true, true]);
  });

  test.each([
    ["30 February", "2028-02-30T00:00:00.000Z"],
    ["29 February of another year", "2027-02-29T00:00:00.000Z"],
    ["29 February of another century", "2100-02-29T00:00:00.000Z"],
    ["31 April", "2027-04-31T00:00:00.000Z"],
    ["day 0", "2027-04-00T00:00:00.000Z"],
    ["month 13", "2027-13-01T00:00:00.000Z"],
    ["hour 24", "2027-01-01T24:00:00.000Z"],
    ["a leap second", "2016-12-31T23:59:60.000Z"],
    ["no milliseconds", "2027-01-01T00:00:00Z"],
    ["a day alone", "2027-01-01"],
    ["another zone", "2027-01-01T00:00:00.000+01:00"],
    ["a year of six digits", "+012027-01-01T00:00:00.000Z"],
    ["a line break behind", "2027-01-01T00:00:00.000Z\n"],
    ["nothing", ""],
  ])("is refused: %s", (_, time) => {
    expect(taken(time)).toEqual([false, false, false, false]);
  });
});

describe("features", () => {
  const coded = (...codes: string[]) => ({ features: codes.map((code) => ({ ...feature, code })) });

  test("are none to 256", () => {
    const codes = Array.from({ length: 257 }, (_, index) => `f${index}`);
    expect(isTaken(coded())).toBe(true);
    expect(isTaken(coded(...codes.slice(1)))).toBe(true);
    expect(isTaken(coded(...codes))).toBe(false);
  });

  test("have each a code of their own", () => {
    expect(isTaken(coded("a", "A", "a ", "__proto__", "constructor"))).toBe(true);
    expect(isTaken(coded("a", "b", "a"))).toBe(false);
    expect(isTaken(coded("__proto__", "__proto__"))).toBe(false);
  });

  test("keep their order", () => {
    const terms = decodeTerms({ ...full, ...coded("b", "a") });
    expect(terms?.features.map(({ code }) => code).join()).toBe("b,a");
  });
});

test("nothing but one object of this shape is taken for terms", () => {
  for (const wrong of [null, undefined, 5, "terms", [], [full], { terms: full }]) {
    expect(decodeTerms(wrong)).toBeNull();
  }
});
