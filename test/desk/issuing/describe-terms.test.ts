import type { TSchema } from "@sinclair/typebox";
import { describe, expect, test } from "bun:test";
import { describeTerms } from "../../../src/desk/issuing/describe-terms.ts";
import { TermsDocument } from "../../../src/license/terms/terms.ts";

const consumption = { max: 1_000, overages: 50, negative: false, period: "monthly" } as const;

const TERMS: Required<TermsDocument> = {
  product: "CAD",
  product_name: "CAD",
  license_key: "PO-17",
  license_type: "time-limited",
  customer: "Initech",
  metadata: "tier 2",
  trial: false,
  enabled: true,
  start: "2027-01-01T00:00:00.000Z",
  valid_until: "2028-01-01T00:00:00.000Z",
  maintenance_until: "2027-06-30T18:00:00.000Z",
  grace_hours: 24,
  slots: 10,
  timeout_minutes: 15,
  borrow_hours: 720,
  early_return: true,
  move_grace_hours: 72,
  restore_grace_hours: 48,
  report_every_days: 30,
  consumption,
  features: [
    {
      code: "MESH",
      name: "Mesh, slots 9",
      metadata: "m",
      expires: "2027-07-01T00:00:00.000Z",
      floating: { slots: 2, timeout_minutes: 30 },
      consumption,
    },
    {
      code: "PRO",
      name: "PRO",
      metadata: null,
      expires: null,
      floating: null,
      consumption: null,
    },
  ],
};

type Path = readonly (string | number)[];

/** The paths of all members that have no members of their own; of a list, those of the first item. */
function leafPaths(schema: TSchema, path: Path = []): Path[] {
  const choices = (schema["anyOf"] ?? []) as readonly TSchema[];
  const [value, ...others] = choices.filter(({ type }) => type !== "null");
  if (value !== undefined && others.length === 0) return leafPaths(value, path);
  if (schema["type"] === "array") return leafPaths(schema["items"] as TSchema, [...path, 0]);
  if (schema["type"] !== "object") return [path];
  const properties = schema["properties"] as Readonly<Record<string, TSchema>>;
  return Object.entries(properties).flatMap(([name, member]) => leafPaths(member, [...path, name]));
}

/** Another value of the same type, unlike any value above. */
function otherValue(value: unknown): unknown {
  if (typeof value === "boolean") return !value;
  if (typeof value === "number") return 7_777;
  const isTime = typeof value === "string" && value.endsWith("Z");
  return isTime ? "2031-05-05T00:00:00.000Z" : "another text";
}

function replaceAt(value: unknown, [first, ...rest]: Path): unknown {
  if (first === undefined) return otherValue(value);
  const copy = structuredClone(value) as Record<string | number, unknown>;
  copy[first] = replaceAt(copy[first], rest);
  return copy;
}

const describeWithout = (...names: readonly string[]): string[] =>
  describeTerms(
    Object.fromEntries(
      Object.entries(TERMS).filter(([name]) => !names.includes(name)),
    ) as TermsDocument,
  );

describe("describeTerms", () => {
  const paths = leafPaths(TermsDocument);

  test("is tested with members of the license, of consumption and of features", () => {
    const names = paths.map((path) => path.join("."));
    expect(names).toContain("restore_grace_hours");
    expect(names).toContain("consumption.period");
    expect(names).toContain("features.0.floating.slots");
    expect(names).toContain("features.0.consumption.negative");
  });

  test.each(paths.map((path) => [path.join("."), path] as const))(
    "shows %s in one line",
    (_name, path) => {
      const before = describeTerms(TERMS);
      const after = describeTerms(replaceAt(TERMS, path) as TermsDocument);
      expect(after).toHaveLength(before.length);
      expect(after.filter((line, index) => line !== before[index])).toHaveLength(1);
    },
  );

  test("aligns the values and shows the last day of each end", () => {
    expect(describeTerms(TERMS)).toEqual([
      "product:              CAD",
      "product name:         CAD",
      "license key:          PO-17",
      "customer:             Initech",
      "license type:         time-limited",
      "trial:                no",
      "enabled:              yes",
      "start:                2027-01-01T00:00:00Z",
      "valid until:          2027-12-31 (ends 2028-01-01T00:00:00Z)",
      "grace hours:          24",
      "maintenance until:    2027-06-30T18:00:00Z",
      "slots:                10",
      "timeout minutes:      15",
      "borrow hours:         720",
      "early return:         yes",
      "move grace hours:     72",
      "restore grace hours:  48",
      "report every days:    30",
      "consumption:          max 1000, overages 50, negative no, period monthly",
      "metadata:             tier 2",
      'feature MESH:         name "Mesh, slots 9", slots 2, timeout minutes 30, consumption max 1000, ' +
        "overages 50, negative no, period monthly, expires 2027-06-30 (ends 2027-07-01T00:00:00Z), " +
        'metadata "m"',
      'feature PRO:          name "PRO", no slots, consumption not counted, expires with the license, ' +
        "metadata none",
    ]);
  });

  test("shows terms that are absent or null", () => {
    const lines = describeWithout("restore_grace_hours", "report_every_days");
    expect(lines).toContain("restore grace hours:  none");
    expect(lines).toContain("report every days:    never");
    const empty = describeTerms({
      ...TERMS,
      valid_until: null,
      start: null,
      borrow_hours: null,
      consumption: null,
      features: [],
    });
    expect(empty).toContain("valid until:          never");
    expect(empty).toContain("start:                immediately");
    expect(empty).toContain("borrow hours:         no borrowing");
    expect(empty).toContain("consumption:          not counted");
    expect(empty).toContain("features:             none");
  });
});
