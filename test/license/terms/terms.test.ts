import { describe, expect, test } from "bun:test";
import { decodeTerms, type TermsDocument } from "../../../src/license/terms/terms.ts";
import { instant } from "../../../src/domain/time.ts";

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

const isAccepted = (changes: object): boolean => decodeTerms({ ...full, ...changes }) !== null;
const isFeatureAccepted = (changes: object): boolean =>
  isAccepted({ features: [{ ...feature, ...changes }] });

const without = (value: object, name: string): object =>
  Object.fromEntries(Object.entries(value).filter(([key]) => key !== name));

test("decodeTerms converts every field", () => {
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

describe.each([
  ["report_every_days", "reportEveryDays"],
  ["restore_grace_hours", "restoreGraceHours"],
] as const)("%s", (name, member) => {
  test("is absent in the terms if the document lacks it", () => {
    expect(decodeTerms(full)).not.toHaveProperty(member);
  });

  test("is a member of the terms if the document has it", () => {
    expect(decodeTerms({ ...full, [name]: 30 })?.[member]).toBe(30);
  });

  test("is refused as null: a document leaves it out", () => {
    expect(isAccepted({ [name]: null })).toBe(false);
  });
});

const NULLABLE =
  "license_key customer metadata start valid_until maintenance_until grace_hours borrow_hours consumption";
const NULLABLE_IN_FEATURE = "metadata expires floating consumption";
const NULLABLE_IN_CONSUMPTION = "max period";

/** Every object of the terms, its nullable fields, and whether a replacement is accepted. */
const OBJECTS: [string, object, string, (value: object) => boolean][] = [
  ["the terms", full, NULLABLE, (value) => decodeTerms(value) !== null],
  ["a feature", feature, NULLABLE_IN_FEATURE, (value) => isAccepted({ features: [value] })],
  ["a floating feature", feature.floating, "", (floating) => isFeatureAccepted({ floating })],
  [
    "a consumption",
    consumption,
    NULLABLE_IN_CONSUMPTION,
    (value) => isAccepted({ consumption: value }),
  ],
  [
    "a feature's consumption",
    consumption,
    NULLABLE_IN_CONSUMPTION,
    (value) => isFeatureAccepted({ consumption: value }),
  ],
];

describe.each(OBJECTS)("decodeTerms, for the fields of %s,", (_, object, nullable, accepts) => {
  test("requires each of them", () => {
    expect(accepts(object)).toBe(true);
    expect(Object.keys(object).filter((name) => accepts(without(object, name)))).toEqual([]);
    expect(accepts({})).toBe(false);
  });

  test("accepts null only in nullable ones", () => {
    const accepted = Object.keys(object).filter((name) => accepts({ ...object, [name]: null }));
    expect(accepted.join(" ")).toBe(nullable);
  });

  test("refuses undefined, a list, NaN or an object of another shape", () => {
    for (const wrong of [undefined, [[]], { a: 1 }, Number.NaN]) {
      expect(Object.keys(object).filter((name) => accepts({ ...object, [name]: wrong }))).toEqual(
        [],
      );
    }
  });

  test.each(["more", "Slots", "toString", ""])("refuses an unknown field: %p", (name) => {
    expect(accepts({ ...object, [name]: 1 })).toBe(false);
  });

  test("refuses a __proto__ field", () => {
    const withProto: unknown = JSON.parse(`{"__proto__":{},${JSON.stringify(object).slice(1)}`);
    expect(accepts(withProto as object)).toBe(false);
  });
});

const MAX_COUNT = 1_000_000_000_000;
const MAX_HOURS = 876_000;
const MAX_MINUTES = 5_256_000;
const withFloating = (floating: object) => ({ floating: { ...feature.floating, ...floating } });
const withConsumption = (changes: object) => ({ consumption: { ...consumption, ...changes } });

describe("the range of numbers", () => {
  test.each<[string, number, number, (value: unknown) => boolean]>([
    ["slots", 0, MAX_COUNT, (slots) => isAccepted({ slots })],
    ["timeout_minutes", 1, MAX_MINUTES, (timeout_minutes) => isAccepted({ timeout_minutes })],
    ["grace_hours", 0, MAX_HOURS, (grace_hours) => isAccepted({ grace_hours })],
    ["borrow_hours", 0, MAX_HOURS, (borrow_hours) => isAccepted({ borrow_hours })],
    ["move_grace_hours", 0, MAX_HOURS, (move_grace_hours) => isAccepted({ move_grace_hours })],
    ["restore_grace_hours", 1, 8_760, (restore_grace_hours) => isAccepted({ restore_grace_hours })],
    ["report_every_days", 1, 366, (report_every_days) => isAccepted({ report_every_days })],
    ["max", 0, MAX_COUNT, (max) => isAccepted(withConsumption({ max }))],
    ["overages", 0, MAX_COUNT, (overages) => isAccepted(withConsumption({ overages }))],
    ["a feature's max", 0, MAX_COUNT, (max) => isFeatureAccepted(withConsumption({ max }))],
    [
      "a feature's overages",
      0,
      MAX_COUNT,
      (overages) => isFeatureAccepted(withConsumption({ overages })),
    ],
    ["a feature's slots", 0, MAX_COUNT, (slots) => isFeatureAccepted(withFloating({ slots }))],
    [
      "a feature's timeout",
      1,
      MAX_MINUTES,
      (t) => isFeatureAccepted(withFloating({ timeout_minutes: t })),
    ],
  ])("%s is an integer from %d to %d", (_, min, max, accepts) => {
    expect([min, min + 1, max - 1, max].map(accepts)).toEqual([true, true, true, true]);
    const wrong = [min - 1, max + 1, 1.5, Infinity, -Infinity, Number.NaN, "5", true, 5n];
    expect(wrong.filter(accepts)).toEqual([]);
  });
});

describe("the length of texts", () => {
  test.each<[string, number, (value: unknown) => boolean]>([
    ["product", 256, (product) => isAccepted({ product })],
    ["product_name", 256, (product_name) => isAccepted({ product_name })],
    ["license_key", 256, (license_key) => isAccepted({ license_key })],
    ["customer", 256, (customer) => isAccepted({ customer })],
    ["metadata", 4_096, (metadata) => isAccepted({ metadata })],
    ["a feature's code", 256, (code) => isFeatureAccepted({ code })],
    ["a feature's name", 256, (name) => isFeatureAccepted({ name })],
    ["a feature's metadata", 4_096, (metadata) => isFeatureAccepted({ metadata })],
  ])("%s has 1 to %d characters", (_, max, accepts) => {
    expect(["a", "a".repeat(max)].map(accepts)).toEqual([true, true]);
    expect(["", "a".repeat(max + 1), 5, false].filter(accepts)).toEqual([]);
  });
});

test("a boolean field accepts only true and false", () => {
  for (const wrong of ["true", 0, 1, ""]) {
    for (const name of ["trial", "enabled", "early_return"]) {
      expect([true, false].map((value) => isAccepted({ [name]: value }))).toEqual([true, true]);
      expect(isAccepted({ [name]: wrong })).toBe(false);
    }
    expect(isAccepted(withConsumption({ negative: wrong }))).toBe(false);
  }
});

test("license_type and period accept only their known values", () => {
  const types = ["perpetual", "time-limited", "subscription", "consumption"];
  const periods = ["daily", "weekly", "monthly", "annually"];
  const others = ["", "Perpetual", "monthly ", "yearly", "time_limited", "toString"];
  const all = [...types, ...periods, ...others];
  expect(all.filter((license_type) => isAccepted({ license_type }))).toEqual(types);
  expect(all.filter((period) => isAccepted(withConsumption({ period })))).toEqual(periods);
  expect(all.filter((period) => isFeatureAccepted(withConsumption({ period })))).toEqual(periods);
});

describe("a time field", () => {
  const checkFields = (time: string): boolean[] => [
    ...["start", "valid_until", "maintenance_until"].map((name) => isAccepted({ [name]: time })),
    isFeatureAccepted({ expires: time }),
  ];

  test.each([
    ["the first instant", "1970-01-01T00:00:00.000Z"],
    ["a leap day", "2028-02-29T00:00:00.000Z"],
    ["the last instant", "9999-12-31T23:59:59.999Z"],
  ])("accepts %s", (_, time) => {
    expect(checkFields(time)).toEqual([true, true, true, true]);
  });

  test.each([
    ["30 February", "2028-02-30T00:00:00.000Z"],
    ["29 February of a year that is no leap year", "2027-02-29T00:00:00.000Z"],
    ["29 February of 2100, which is no leap year", "2100-02-29T00:00:00.000Z"],
    ["31 April", "2027-04-31T00:00:00.000Z"],
    ["day 0", "2027-04-00T00:00:00.000Z"],
    ["month 13", "2027-13-01T00:00:00.000Z"],
    ["hour 24", "2027-01-01T24:00:00.000Z"],
    ["a leap second", "2016-12-31T23:59:60.000Z"],
    ["a time without milliseconds", "2027-01-01T00:00:00Z"],
    ["a day without a time", "2027-01-01"],
    ["another time zone", "2027-01-01T00:00:00.000+01:00"],
    ["a year of six digits", "+012027-01-01T00:00:00.000Z"],
    ["a trailing line break", "2027-01-01T00:00:00.000Z\n"],
    ["an empty text", ""],
  ])("refuses %s", (_, time) => {
    expect(checkFields(time)).toEqual([false, false, false, false]);
  });
});

describe("the list of features", () => {
  const withCodes = (...codes: string[]) => ({
    features: codes.map((code) => ({ ...feature, code })),
  });

  test("has 0 to 256 entries", () => {
    const codes = Array.from({ length: 257 }, (_, index) => `f${index}`);
    expect(isAccepted(withCodes())).toBe(true);
    expect(isAccepted(withCodes(...codes.slice(1)))).toBe(true);
    expect(isAccepted(withCodes(...codes))).toBe(false);
  });

  test("has unique codes", () => {
    expect(isAccepted(withCodes("a", "A", "a ", "__proto__", "constructor"))).toBe(true);
    expect(isAccepted(withCodes("a", "b", "a"))).toBe(false);
    expect(isAccepted(withCodes("__proto__", "__proto__"))).toBe(false);
  });

  test("keeps its order", () => {
    const terms = decodeTerms({ ...full, ...withCodes("b", "a") });
    expect(terms?.features.map(({ code }) => code).join()).toBe("b,a");
  });
});

test("decodeTerms refuses a value that is not an object of this shape", () => {
  for (const wrong of [null, undefined, 5, "terms", [], [full], { terms: full }]) {
    expect(decodeTerms(wrong)).toBeNull();
  }
});
