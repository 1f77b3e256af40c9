import { describe, expect, test } from "bun:test";
import { DeniedDemand } from "../../../src/operations/notifications/denied-demand.ts";

/** `continued`: episodes of the last process that are counted as open. */
const count = (started: number, ended: number, feature: string | null = null, continued = 0) => ({
  product: "CAD",
  feature,
  open: continued + started - ended,
  started,
  ended: { granted: ended, gave_up: 0, left: 0 },
});

describe("denied demand", () => {
  test("lasts while an episode is open", () => {
    const demand = new DeniedDemand();
    expect(demand.update([count(0, 0)])).toEqual([]);
    expect(demand.update([count(1, 0)])).toEqual([
      {
        code: "demand_denied",
        severity: "note",
        summary: "CAD: users are refused a slot",
        remedy: "See who uses the slots, or request more",
        command: "berth slots --product CAD",
        subject: "CAD",
      },
    ]);
    expect(demand.update([count(2, 1)])).toHaveLength(1);
    expect(demand.update([count(2, 2)])).toEqual([]);
  });

  test("is noticed although the episode began and ended between two updates", () => {
    const demand = new DeniedDemand();
    expect(demand.update([count(1, 1)])).toHaveLength(1);
    expect(demand.update([count(1, 1)])).toEqual([]);
  });

  test("of a feature is not that of its product", () => {
    const [condition, ...others] = new DeniedDemand().update([count(0, 0), count(1, 0, "MESH")]);
    expect(others).toEqual([]);
    expect(condition).toMatchObject({
      subject: "CAD/MESH",
      summary: "CAD: users are refused a slot of feature MESH",
    });
  });

  test("lasts while an episode is open, although one of the last process ended", () => {
    const demand = new DeniedDemand();
    expect(demand.update([count(0, 0, null, 1)])).toHaveLength(1);
    expect(demand.update([count(1, 1, null, 1)])).toHaveLength(1);
    expect(demand.update([count(1, 1, null, 1)])).toHaveLength(1);
    expect(demand.update([count(1, 2, null, 1)])).toEqual([]);
  });
});
