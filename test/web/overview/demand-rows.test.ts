import { describe, expect, test } from "bun:test";
import { makeDemandRows } from "../../../src/web/overview/demand-rows.ts";
import { findSteps, peakOf, sumOf } from "../../../src/web/usage/usage-steps.ts";
import type { UsageReply } from "../../../src/http/routes/usage/usage.ts";

type PoolUsage = UsageReply["pools"][number];

const pool = (product: string, different: Partial<PoolUsage> = {}): PoolUsage => ({
  product,
  feature: null,
  limit: [4, 6],
  peak: [4, null],
  mean: [2, null],
  full_seconds: [90, null],
  borrowed: [0, null],
  waiting: [0, null],
  episodes: [0, null],
  consumed: [0, null],
  ...different,
});

const usage = (...pools: PoolUsage[]): UsageReply => ({
  range: "week",
  from: "2026-11-10T00:00:00.000Z",
  to: "2026-11-12T00:00:00.000Z",
  step_minutes: 24 * 60,
  pools,
});

const license = (product: string, used: number, slots: number) =>
  ({ product, floating_slots_in_use: used, floating_users: slots }) as never;

describe("use and denied demand of the overview", () => {
  test("has a row for every licensed product, also without recorded use", () => {
    const rows = makeDemandRows(usage(pool("CAD")), [license("CAD", 1, 4), license("NEW", 0, 2)]);
    expect(rows.map(({ product, now }) => [product, now])).toEqual([
      ["CAD", { used: 1, limit: 4 }],
      ["NEW", { used: 0, limit: 2 }],
    ]);
  });

  test("adds the licenses of one product", () => {
    const [row] = makeDemandRows(usage(pool("CAD")), [license("CAD", 1, 4), license("CAD", 2, 6)]);
    expect(row?.now).toEqual({ used: 3, limit: 10 });
  });

  test("shows refusals of a feature in a row of its own, and hides features without any", () => {
    const rows = makeDemandRows(
      usage(
        pool("CAE"),
        pool("CAE", { feature: "MESH", episodes: [3, 2] }),
        pool("CAE", { feature: "SOLVER" }),
      ),
      [license("CAE", 0, 4)],
    );
    expect(rows.map(({ feature, denied, deniedToday }) => [feature, denied, deniedToday])).toEqual([
      ["MESH", 5, 2],
      [null, 0, 0],
    ]);
  });

  test("hides a product that is no longer licensed and was not denied", () => {
    expect(makeDemandRows(usage(pool("OLD")), [])).toEqual([]);
    expect(makeDemandRows(usage(pool("OLD", { episodes: [1, 0] })), []).length).toBe(1);
  });
});

describe("the steps of a pool", () => {
  test("have the time of each step and the limit of its time", () => {
    const steps = findSteps(usage(pool("CAD"), pool("CAD", { feature: "MESH", limit: [9, 9] })), {
      product: "CAD",
      feature: null,
    });
    const start = Date.parse("2026-11-10T00:00:00Z") / 1_000;
    expect(steps?.times).toEqual([start, start + 86_400]);
    expect(steps?.limits).toEqual([4, 6]);
    expect(steps?.fullSeconds).toEqual([90, null]);
  });

  test("are null for a pool that is not in the reply", () => {
    expect(findSteps(usage(pool("CAD")), { product: "CAD", feature: "MESH" })).toBeNull();
  });

  test("a peak is unknown if all steps are, and a sum is 0", () => {
    expect([peakOf([null, 3, 1]), peakOf([null]), sumOf([null, 3, 1]), sumOf([null])]).toEqual([
      3,
      null,
      4,
      0,
    ]);
  });
});
