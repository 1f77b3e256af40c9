import { describe, expect, test } from "bun:test";
import {
  describeHostDifference,
  describeTermsDifference,
} from "../../../src/domain/licenses/terms-difference.ts";
import type { ConsumptionTerms, Terms } from "../../../src/domain/model/licenses/terms.ts";
import { instant } from "../../../src/domain/time.ts";
import { featureTerms, terms } from "../../support/scenario.ts";

const day = (text: string) => instant(Date.parse(`${text}T00:00:00.000Z`));
const counting: ConsumptionTerms = { max: 1_000, overages: 50, negative: false, period: "monthly" };

const describeDifference = (before: Partial<Terms>, after: Partial<Terms>): string[] =>
  describeTermsDifference(terms(before), terms(after));

test("describeHostDifference compares the hosts that a license is for", () => {
  expect(describeHostDifference(undefined, ["a", "b"])).toEqual(["hosts 1 → 2"]);
  expect(describeHostDifference(["a", "b"], undefined)).toEqual(["hosts 2 → 1"]);
  expect(describeHostDifference(["a", "b"], ["a", "c"])).toEqual(["other hosts"]);
  expect(describeHostDifference(["a", "b"], ["b", "a"])).toEqual([]);
  expect(describeHostDifference(undefined, undefined)).toEqual([]);
});

test("describeTermsDifference says nothing for equal terms", () => {
  const allTerms: Partial<Terms> = {
    consumption: counting,
    features: [featureTerms("MESH", { floating: { slots: 2, timeoutMinutes: 15 } })],
    validUntil: day("2027-01-01"),
  };
  expect(describeDifference(allTerms, structuredClone(allTerms))).toEqual([]);
});

test("describeTermsDifference lists slots, then the end, then added and removed features", () => {
  expect(
    describeDifference(
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

describe("describeTermsDifference", () => {
  test.each<[string, Partial<Terms>, Partial<Terms>, string[]]>([
    [
      "the end to none",
      { validUntil: day("2027-01-01") },
      { validUntil: null },
      ["no expiry (was 2027-01-01T00:00:00Z)"],
    ],
    [
      "the end from none",
      { validUntil: null },
      { validUntil: instant(Date.parse("2027-06-30T12:30:00Z")) },
      ["ends 2027-06-30T12:30:00Z (was no expiry)"],
    ],
    [
      "the start from none",
      { start: null },
      { start: day("2027-01-01") },
      ["starts 2027-01-01T00:00:00Z (was immediately)"],
    ],
    [
      "the start to none",
      { start: day("2027-01-01") },
      { start: null },
      ["starts immediately (was 2027-01-01T00:00:00Z)"],
    ],
    [
      "the maintenance end",
      { maintenanceUntil: null },
      { maintenanceUntil: day("2028-01-01") },
      ["maintenance until 2028-01-01T00:00:00Z (was without expiry)"],
    ],
    ["the grace hours", { graceHours: null }, { graceHours: 48 }, ["grace hours none → 48"]],
    ["the timeout", { timeoutMinutes: 30 }, { timeoutMinutes: 15 }, ["timeout minutes 30 → 15"]],
    [
      "the longest borrow",
      { borrowHours: 720 },
      { borrowHours: null },
      ["borrow hours 720 → none"],
    ],
    ["early return", { earlyReturn: true }, { earlyReturn: false }, ["early return yes → no"]],
    [
      "the grace hours for a move",
      { moveGraceHours: 72 },
      { moveGraceHours: 0 },
      ["move grace hours 72 → 0"],
    ],
    [
      "the grace hours for a restore",
      {},
      { restoreGraceHours: 48 },
      ["restore grace hours none → 48"],
    ],
    [
      "the wish for statements",
      {},
      { reportEveryDays: 30 },
      ["days between usage statements none → 30"],
    ],
    [
      "statements no longer wanted",
      { reportEveryDays: 7 },
      {},
      ["days between usage statements 7 → none"],
    ],
    [
      "the type",
      { type: "perpetual" },
      { type: "subscription" },
      ["type perpetual → subscription"],
    ],
    ["the trial", { trial: true }, { trial: false }, ["trial yes → no"]],
    ["whether it is enabled", { enabled: true }, { enabled: false }, ["enabled yes → no"]],
    ["the customer", { customer: null }, { customer: "Initech" }, ["customer none → Initech"]],
    ["the license key", { licenseKey: "A" }, { licenseKey: "B" }, ["license key A → B"]],
    ["the product", { product: "cad" }, { product: "cam" }, ["product cad → cam"]],
    [
      "the product name",
      { productName: "Cad" },
      { productName: "Cam" },
      ["product name Cad → Cam"],
    ],
    ["the metadata", { metadata: "a" }, { metadata: "b" }, ["metadata changed"]],
    [
      "all consumption terms",
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
      "the consumption limit",
      { consumption: counting },
      { consumption: { ...counting, max: null } },
      ["consumptions 1000 → unlimited"],
    ],
    [
      "consumption from not counted",
      { consumption: null },
      { consumption: { ...counting, overages: 0 } },
      ["consumptions not counted → 1000", "period none → monthly"],
    ],
    [
      "consumption to not counted",
      { consumption: counting },
      { consumption: null },
      ["consumptions 1000 → not counted"],
    ],
    [
      "all terms of a feature",
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
      "a feature to not floating",
      { features: [featureTerms("MESH", { floating: { slots: 2, timeoutMinutes: 15 } })] },
      { features: [featureTerms("MESH")] },
      ["MESH slots 2 → not floating"],
    ],
  ])("describes a change of %s", (_what, before, after, expected) => {
    expect(describeDifference(before, after)).toEqual(expected);
  });
});
