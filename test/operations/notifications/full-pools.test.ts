import { describe, expect, test } from "bun:test";
import { MINUTE } from "../../../src/domain/time.ts";
import type { FeatureView } from "../../../src/domain/views/views.ts";
import { FullPools, type PoolLicense } from "../../../src/operations/notifications/full-pools.ts";
import { terms } from "../../support/scenario.ts";

const license = (
  product: string,
  [slotsInUse, slots]: readonly [number, number],
  differing: Partial<PoolLicense> = {},
): PoolLicense => ({
  terms: terms({ product, slots }),
  refusal: null,
  slotsInUse,
  features: [],
  ...differing,
});

const feature = (
  code: string,
  slotsInUse: number,
  floating: FeatureView["terms"]["floating"],
): FeatureView => ({
  id: 1,
  terms: { code, name: code, metadata: null, expires: null, floating, consumption: null },
  slotsInUse,
  total: 0,
});

const subjects = (pools: FullPools, licenses: readonly PoolLicense[], minute: number) =>
  pools.update(licenses, 15, minute * MINUTE).map(({ subject }) => subject);

describe("a pool without a free slot", () => {
  test("is reported from the end of the time on, not before", () => {
    const pools = new FullPools();
    const full = [license("CAD", [3, 3])];
    expect(subjects(pools, full, 0)).toEqual([]);
    expect(subjects(pools, full, 14.99)).toEqual([]);
    expect(pools.update(full, 15, 15 * MINUTE)).toEqual([
      {
        code: "pool_full",
        severity: "note",
        summary: "CAD: all 3 slots have been in use for 15 minutes or longer",
        remedy: "See who uses them, or request more slots",
        command: "berth slots --product CAD",
        subject: "CAD",
      },
    ]);
    expect(subjects(pools, full, 500)).toEqual(["CAD"]);
  });

  test("starts again after a slot was free", () => {
    const pools = new FullPools();
    subjects(pools, [license("CAD", [3, 3])], 0);
    subjects(pools, [license("CAD", [2, 3])], 10);
    expect(subjects(pools, [license("CAD", [3, 3])], 16)).toEqual([]);
    expect(subjects(pools, [license("CAD", [3, 3])], 30)).toEqual([]);
    expect(subjects(pools, [license("CAD", [3, 3])], 31)).toEqual(["CAD"]);
  });

  test("has the slots of all licenses of its product that grant slots", () => {
    const pools = new FullPools();
    const halfFull = [license("CAD", [3, 3]), license("CAD", [1, 2])];
    subjects(pools, halfFull, 0);
    expect(subjects(pools, halfFull, 60)).toEqual([]);
    const expired = [
      license("CAD", [3, 3]),
      license("CAD", [1, 2], { refusal: "license_expired" }),
    ];
    subjects(pools, expired, 100);
    expect(subjects(pools, expired, 115)).toEqual(["CAD"]);
  });

  test("is also a floating feature, apart from its product", () => {
    const pools = new FullPools();
    const floating = { slots: 2, timeoutMinutes: 10 };
    const features = [feature("RENDER", 2, floating), feature("EXPORT", 0, null)];
    const licenses = [license("CAD", [2, 5], { features })];
    subjects(pools, licenses, 0);
    const [full, ...others] = pools.update(licenses, 15, 15 * MINUTE);
    expect(others).toEqual([]);
    expect(full).toMatchObject({
      subject: "CAD/RENDER",
      summary: "CAD, feature RENDER: all 2 slots have been in use for 15 minutes or longer",
    });
  });

  test("is no product without slots", () => {
    const pools = new FullPools();
    subjects(pools, [license("CAD", [0, 0])], 0);
    expect(subjects(pools, [license("CAD", [0, 0])], 60)).toEqual([]);
  });
});
