import { describe, expect, test } from "bun:test";
import type { UsageReply } from "../../src/http/routes/usage.ts";
import {
  episodeSeries,
  lastLimitOf,
  peakOf,
  slotSeries,
  stackSeries,
  sumOf,
  stepTimesOf,
  valueTextOf,
} from "../../src/web/overview/usage-series.ts";

type Pool = UsageReply["pools"][number];

const pool = (product: string, changes: Partial<Pool> = {}): Pool => ({
  product,
  feature: null,
  limit: [5, 5, 5],
  peak: [1, null, 3],
  mean: [1, null, 3],
  full_seconds: [0, null, 0],
  borrowed: [0, null, 0],
  episodes: [0, null, 0],
  consumed: [0, null, 0],
  ...changes,
});

const reply = (...pools: Pool[]): UsageReply => ({
  range: "day",
  from: "2026-03-02T09:00:00.000Z",
  to: "2026-03-02T09:15:00.000Z",
  step_minutes: 5,
  pools,
});

describe("usage series of slots", () => {
  test("has a time for every step", () => {
    const nine = Date.parse("2026-03-02T09:00:00.000Z") / 1_000;
    expect(stepTimesOf(reply())).toEqual([nine, nine + 300, nine + 600]);
  });

  test("has one line per product, and none for a feature", () => {
    const pools = [pool("cad"), pool("cad", { feature: "view" }), pool("cam")];
    expect(slotSeries(reply(...pools)).map(({ name }) => name)).toEqual(["cad", "cam"]);
  });

  test("leaves out a product that had no slots and no use", () => {
    const counted = pool("sms", { limit: [0, 0, 0], peak: [0, 0, 0] });
    expect(slotSeries(reply(counted))).toEqual([]);
  });

  test("shows each value with the limit of its time", () => {
    const [line] = slotSeries(reply(pool("cad", { limit: [2, 2, 7], peak: [2, null, 3] })));
    if (line === undefined) throw new Error("there is no line");
    expect([0, 1, 2].map((step) => valueTextOf(line, step))).toEqual([
      "2 of 2",
      "unknown",
      "3 of 7",
    ]);
    expect(lastLimitOf(line)).toBe(7);
  });

  test("draws every product in a different style", () => {
    const pools = Array.from({ length: 15 }, (_, id) => pool(`p${id}`));
    const styles = slotSeries(reply(...pools)).map(
      ({ colour, stroke }) => `${colour} ${stroke.join(" ")}`,
    );
    expect(new Set(styles).size).toBe(15);
  });

  test("has a peak if any value is known, and null otherwise", () => {
    const [cad, cam] = slotSeries(reply(pool("cad"), pool("cam", { peak: [null, null, null] })));
    expect(cad && peakOf(cad)).toBe(3);
    expect(cam && peakOf(cam)).toBeNull();
  });
});

describe("usage series of denied episodes", () => {
  const usage = reply(
    pool("CAE", { episodes: [1, null, 2] }),
    pool("CAE", { feature: "MESH", episodes: [2, null, 0] }),
    pool("CAD"),
  );

  test("names a feature, and never adds it to its product", () => {
    const lines = episodeSeries(usage);
    expect(lines.map(({ name, values }) => [name, values])).toEqual([
      ["CAE", [1, null, 2]],
      ["feature MESH of CAE", [2, null, 0]],
    ]);
    expect(lines.map(sumOf)).toEqual([3, 2]);
  });

  test("stacks the bars on each other", () => {
    expect(stackSeries(episodeSeries(usage)).map(({ values }) => values)).toEqual([
      [3, null, 2],
      [2, null, 0],
    ]);
    expect(stackSeries([])).toEqual([]);
  });
});
