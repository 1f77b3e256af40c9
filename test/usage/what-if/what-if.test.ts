import { describe, expect, test } from "bun:test";
import { replaySites } from "../check-what-if.ts";

describe("what-if", () => {
  test("decides the record of 40 simulated sites as it was decided", () => {
    const totals = replaySites(1, 40, false);
    expect(totals.differences).toEqual([]);
    expect(totals.refusals).toBeGreaterThan(400);
  });

  test("differs at 40 sites whose clock was set back only where that changed the time", () => {
    const totals = replaySites(1_001, 40, true);
    expect(totals.setBacks).toBeGreaterThan(10);
    expect(totals.refusals).toBeGreaterThan(200);
    expect(totals.differences.filter(({ isTimeKnown }) => isTimeKnown)).toEqual([]);
    expect(totals.differences.length).toBeLessThan(totals.decisions / 10_000);
  });
});
