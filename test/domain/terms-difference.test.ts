import { describe, expect, test } from "bun:test";
import { termsDifference } from "../../src/domain/terms-difference.ts";
import type { FeatureTerms, Terms } from "../../src/domain/terms.ts";
import { instant } from "../../src/domain/time.ts";
import { terms } from "../support/scenario.ts";

const day = (text: string) => instant(Date.parse(`${text}T00:00:00.000Z`));
const counted = { max: 1_000, overages: 50, negative: false, period: "monthly" } as const;
const plain: FeatureTerms = {
  code: "MESH",
  name: "MESH",
  metadata: null,
  expires: null,
  floating: null,
  consumption: null,
};

const difference = (before: Partial<Terms>, after: Partial<Terms>): string =>
  termsDifference(terms(before), terms(after)).join("; ");

test("the difference of equal terms is empty", () => {
  const full = { consumption: counted, features: [plain], validUntil: day("2027-01-01") };
  expect(termsDifference(terms(full), terms(structuredClone(full)))).toEqual([]);
});

describe("the difference of two terms names each changed term with its old and new value:", () => {
  test.each<[string, Partial<Terms>, Partial<Terms>, string]>([
    ["slots", { slots: 5 }, { slots: 8 }, "slots 5 → 8"],
    ["type", { type: "perpetual" }, { type: "time-limited" }, "type perpetual → time-limited"],
    ["customer", { customer: null }, { customer: "Acme" }, "customer none → Acme"],
    ["license key", { licenseKey: "A" }, { licenseKey: "B" }, "license key A → B"],
    ["product name", { productName: "A" }, { productName: "B" }, "product name A → B"],
    ["metadata", { metadata: "a" }, { metadata: "b" }, "other metadata"],
    ["trial", { trial: true }, { trial: false }, "trial yes → no"],
    ["enabled", { enabled: true }, { enabled: false }, "enabled yes → no"],
    ["start", { start: null }, { start: day("2027-01-01") }, "start none → 2027-01-01T00:00:00Z"],
    [
      "end",
      { validUntil: day("2027-01-01") },
      { validUntil: null },
      "end 2027-01-01T00:00:00Z → never",
    ],
    [
      "end of maintenance",
      { maintenanceUntil: null },
      { maintenanceUntil: day("2027-01-01") },
      "end of maintenance never → 2027-01-01T00:00:00Z",
    ],
    ["grace", { graceHours: 72 }, { graceHours: null }, "grace 72 h → none"],
    ["timeout", { timeoutMinutes: 15 }, { timeoutMinutes: 30 }, "timeout 15 min → 30 min"],
    ["borrowing", { borrowHours: null }, { borrowHours: 24 }, "borrowing none → 24 h"],
    ["early return", { earlyReturn: true }, { earlyReturn: false }, "early return yes → no"],
    ["move grace", { moveGraceHours: 72 }, { moveGraceHours: 0 }, "move grace 72 h → 0 h"],
    [
      "counting",
      { consumption: counted },
      { consumption: { max: 2_000, overages: 0, negative: true, period: null } },
      "consumptions 1000 → 2000; overages 50 → 0; negative no → yes; period monthly → none",
    ],
    [
      "counting that begins",
      { consumption: null },
      { consumption: { ...counted, max: null } },
      "consumptions none → unlimited; overages 0 → 50; period none → monthly",
    ],
  ])("%s", (_what, before, after, expected) => {
    expect(difference(before, after)).toBe(expected);
  });
});

describe("the difference of two lists of features", () => {
  const features = (...list: FeatureTerms[]) => ({ features: list });

  test("names a feature that is new and one that is gone, whatever their order", () => {
    const [mesh, other] = [plain, { ...plain, code: "EXPORT" }];
    expect(difference(features(mesh, other), features(other, mesh))).toBe("");
    expect(difference(features(mesh), features(other))).toBe("without MESH; with EXPORT");
  });

  test("names what changed inside of a feature", () => {
    const before = { ...plain, floating: { slots: 2, timeoutMinutes: 15 }, consumption: counted };
    const after = {
      ...plain,
      name: "Meshing",
      metadata: "{}",
      expires: day("2027-01-01"),
      floating: { slots: 4, timeoutMinutes: 30 },
      consumption: { ...counted, max: 9 },
    };
    expect(termsDifference(terms(features(before)), terms(features(after)))).toEqual([
      "MESH name MESH → Meshing",
      "MESH other metadata",
      "MESH end never → 2027-01-01T00:00:00Z",
      "MESH slots 2 → 4",
      "MESH timeout 15 min → 30 min",
      "MESH consumptions 1000 → 9",
    ]);
    expect(difference(features(before), features(plain))).toBe(
      "MESH slots 2 → none; MESH timeout 15 min → none; MESH consumptions 1000 → none; MESH overages 50 → 0; MESH period monthly → none",
    );
  });
});
