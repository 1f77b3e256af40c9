import { describe, expect, test } from "bun:test";
import type { UsageReply } from "../../src/http/routes/usage.ts";
import {
  peakOf,
  refusalSeries,
  slotSeries,
  stackSeries,
  sumOf,
  stepTimesOf,
} from "../../src/web/overview/usage-series.ts";

const license = (license_id: number, product: string, in_use: (number | null)[]) => ({
  license_id,
  product,
  floating_users: 5,
  in_use,
});

const reply = (changes: Partial<UsageReply>): UsageReply => ({
  range: "day",
  from: "2026-03-02T09:00:00.000Z",
  to: "2026-03-02T09:15:00.000Z",
  step_minutes: 5,
  complete: true,
  licenses: [],
  refusals: [],
  ...changes,
});

describe("usage series of slots", () => {
  test("has a time for every step", () => {
    const nine = Date.parse("2026-03-02T09:00:00.000Z") / 1_000;
    const usage = reply({ licenses: [license(1, "cad", [1, null, 3])] });
    expect(stepTimesOf(usage)).toEqual([nine, nine + 300, nine + 600]);
    expect(stepTimesOf(reply({}))).toEqual([]);
  });

  test("has one line per license, with the license id only if a product has two", () => {
    const licenses = [license(1, "cad", []), license(2, "cam", []), license(3, "cad", [])];
    const names = slotSeries(reply({ licenses })).map(({ name }) => name);
    expect(names).toEqual(["cad (license 1)", "cam", "cad (license 3)"]);
  });

  test("draws every license in a different style", () => {
    const licenses = Array.from({ length: 15 }, (_, id) => license(id, `p${id}`, []));
    const styles = slotSeries(reply({ licenses })).map(
      ({ colour, stroke }) => `${colour} ${stroke.join(" ")}`,
    );
    expect(new Set(styles).size).toBe(15);
  });

  test("has a peak if any value is known, and null otherwise", () => {
    const [cad, cam] = slotSeries(
      reply({ licenses: [license(1, "cad", [1, null, 3, 2]), license(2, "cam", [null, null])] }),
    );
    expect(cad && peakOf(cad)).toBe(3);
    expect(cam && peakOf(cam)).toBeNull();
  });
});

const NO_SLOT = "floating_not_available";

describe("usage series of refusals", () => {
  const usage = reply({
    refusals: [
      { product: "cad", feature: null, code: NO_SLOT, counts: [1, null, null, 0] },
      { product: "cam", feature: null, code: NO_SLOT, counts: [2, 3, null, 0] },
      { product: null, feature: null, code: "ended", counts: [4, null, null, 1] },
    ],
  });

  test("adds refusals up by reason and keeps a gap where no value is known", () => {
    const lines = refusalSeries(usage);
    expect(lines.map(({ name, values }) => [name, values])).toEqual([
      ["no free slot", [3, 3, null, 0]],
      ["ended", [4, null, null, 1]],
    ]);
    expect(lines.map(sumOf)).toEqual([6, 5]);
  });

  test("names a refused feature, and never adds it to its product", () => {
    const counts = [1];
    const lines = refusalSeries(
      reply({
        refusals: [
          { product: "CAE", feature: null, code: NO_SLOT, counts },
          { product: "CAE", feature: "MESH", code: NO_SLOT, counts },
          { product: "CAD", feature: "MESH", code: NO_SLOT, counts },
        ],
      }),
    );
    expect(lines.map(({ name, values }) => [name, values])).toEqual([
      ["no free slot", [1]],
      ["no free slot (feature MESH of CAE)", [1]],
      ["no free slot (feature MESH of CAD)", [1]],
    ]);
  });

  test("stacks the bars on each other", () => {
    expect(stackSeries(refusalSeries(usage)).map(({ values }) => values)).toEqual([
      [7, 3, null, 1],
      [4, null, null, 1],
    ]);
    expect(stackSeries([])).toEqual([]);
  });
});
