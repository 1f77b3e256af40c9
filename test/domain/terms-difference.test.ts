import { describe, expect, test } from "bun:test";
import { describeTermsDifference } from "../../src/domain/terms-difference.ts";
import type { ConsumptionTerms, Terms } from "../../src/domain/terms.ts";
import { instant } from "../../src/domain/time.ts";
import { featureTerms, terms } from "../support/scenario.ts";

const day = (text: string) => instant(Date.parse(`${text}T00:00:00.000Z`));
const counting: ConsumptionTerms = { max: 1_000, overages: 50, negative: false, period: "monthly" };

const difference = (before: Partial<Terms>, after: Partial<Terms>): string[] =>
  describeTermsDifference(terms(before), terms(after));

test("terms that are the same have no difference", () => {
  const all: Partial<Terms> = {
    consumption: counting,
    features: [featureTerms("MESH", { floating: { slots: 2, timeoutMinutes: 15 } })],
    validUntil: day("2027-01-01"),
  };
  expect(difference(all, structuredClone(all))).toEqual([]);
});

test("a renewal with more slots, a later end and one feature less is told in this order", () => {
  expect(
    difference(
      {
        slots: 3,
        validUntil: day("2027-01-01"),
        features: [featureTerms("EXPORT"), featureTerms("PRO")],
      },
      {
        slots: 8,
        validUntil: day("2029-01-01"),
        features: [featureTerms("PRO"), featureTerms("MESH")],
      },
    ),
  ).toEqual([
    "slots 3 → 8",
    "ends 2029-01-01T00:00:00Z (was 2027-01-01T00:00:00Z)",
    "feature MESH added",
    "feature EXPORT removed",
  ]);
});

describe("a difference in", () => {
  test.each<[string, Partial<Terms>, Partial<Terms>, string[]]>([
    [
      "the end that is taken away",
      { validUntil: day("2027-01-01") },
      { validUntil: null },
      ["no expiry (was 2027-01-01T00:00:00Z)"],
    ],
    [
      "the end that is set",
      { validUntil: null },
      { validUntil: instant(Date.parse("2027-06-30T12:30:00Z")) },
      ["ends 2027-06-30T12:30:00Z (was no expiry)"],
    ],
    [
      "the start",
      { start: null },
      { start: day("2027-01-01") },
      ["starts 2027-01-01T00:00:00Z (was immediately)"],
    ],
    [
      "the start that is taken away",
      { start: day("2027-01-01") },
      { start: null },
      ["starts immediately (was 2027-01-01T00:00:00Z)"],
    ],
    [
      "the maintenance",
      { maintenanceUntil: null },
      { maintenanceUntil: day("2028-01-01") },
      ["maintenance until 2028-01-01T00:00:00Z (was without expiry)"],
    ],
    ["the grace", { graceHours: null }, { graceHours: 48 }, ["grace hours none → 48"]],
    ["the timeout", { timeoutMinutes: 30 }, { timeoutMinutes: 15 }, ["timeout minutes 30 → 15"]],
    ["the borrowing", { borrowHours: 720 }, { borrowHours: null }, ["borrow hours 720 → none"]],
    ["early return", { earlyReturn: true }, { earlyReturn: false }, ["early return yes → no"]],
    [
      "the grace for a move",
      { moveGraceHours: 72 },
      { moveGraceHours: 0 },
      ["move grace hours 72 → 0"],
    ],
    [
      "the type",
      { type: "perpetual" },
      { type: "subscription" },
      ["type perpetual → subscription"],
    ],
    ["the trial", { trial: true }, { trial: false }, ["trial yes → no"]],
    ["being enabled", { enabled: true }, { enabled: false }, ["enabled yes → no"]],
    ["the customer", { customer: null }, { customer: "Initech" }, ["customer none → Initech"]],
    ["the license key", { licenseKey: "A" }, { licenseKey: "B" }, ["license key A → B"]],
    ["the product", { product: "cad" }, { product: "cam" }, ["product cad → cam"]],
    ["its name", { productName: "Cad" }, { productName: "Cam" }, ["product name Cad → Cam"]],
    ["the note", { metadata: "a" }, { metadata: "b" }, ["metadata changed"]],
    [
      "the counting",
      { consumption: counting },
      { consumption: { max: 2_000, overages: 0, negative: true, period: null } },
      [
        "consumptions 1000 → 2000",
        "overages 50 → 0",
        "negative counts no → yes",
        "period monthly → none",
      ],
    ],
    [
      "the limit of the counting",
      { consumption: counting },
      { consumption: { ...counting, max: null } },
      ["consumptions 1000 → unlimited"],
    ],
    [
      "counting that begins",
      { consumption: null },
      { consumption: { ...counting, overages: 0 } },
      ["consumptions not counted → 1000", "period none → monthly"],
    ],
    [
      "counting that stops",
      { consumption: counting },
      { consumption: null },
      ["consumptions 1000 → not counted"],
    ],
    [
      "a feature",
      { features: [featureTerms("MESH", { floating: { slots: 2, timeoutMinutes: 15 } })] },
      {
        features: [
          featureTerms("MESH", {
            name: "Meshing",
            floating: { slots: 4, timeoutMinutes: 30 },
            expires: day("2027-01-01"),
            consumption: { ...counting, overages: 0, period: null },
            metadata: "x",
          }),
        ],
      },
      [
        "MESH slots 2 → 4",
        "MESH timeout minutes 15 → 30",
        "MESH consumptions not counted → 1000",
        "MESH ends 2027-01-01T00:00:00Z (was no expiry)",
        "MESH name MESH → Meshing",
        "MESH metadata changed",
      ],
    ],
    [
      "a feature that is no longer floating",
      { features: [featureTerms("MESH", { floating: { slots: 2, timeoutMinutes: 15 } })] },
      { features: [featureTerms("MESH")] },
      ["MESH slots 2 → not floating"],
    ],
  ])("%s", (_what, before, after, expected) => {
    expect(difference(before, after)).toEqual(expected);
  });
});
