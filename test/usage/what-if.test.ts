import { describe, expect, test } from "bun:test";
import { replaySites } from "./check-what-if.ts";

describe("what-if", () => {
  test("decides the record of 100 simulated sites as it was decided", () => {
    const totals = replaySites(1, 100, false);
    expect(totals.differences).toEqual([]);
    expect(totals.refusals).toBeGreaterThan(1000);
  });

  test("differs at 100 sites whose clock was set back only where that changed the time", () => {
    const totals = replaySites(1001, 100, true);
    expect(totals.setBacks).toBeGreaterThan(25);
    expect(totals.refusals).toBeGreaterThan(500);
    expect(totals.differences.filter(({ isTimeKnown }) => isTimeKnown)).toEqual([]);
    expect(totals.differences.length).toBeLessThan(totals.decisions / 10_000);
  });
});
