import { describe, expect, test } from "bun:test";
import { replaySites } from "./check-what-if.ts";

describe("what-if", () => {
  test("decides the record of 1,000 simulated sites as it was decided", () => {
    const totals = replaySites(10001, 1000, false);
    expect(totals.differences).toEqual([]);
    expect(totals.refusals).toBeGreaterThan(10000);
  });

  test("differs at 1,000 sites whose clock was set back only where that changed the time", () => {
    const totals = replaySites(20001, 1000, true);
    expect(totals.setBacks).toBeGreaterThan(250);
    expect(totals.refusals).toBeGreaterThan(10000);
    expect(totals.differences.filter(({ isTimeKnown }) => isTimeKnown)).toEqual([]);
    expect(totals.differences.length).toBeLessThan(totals.decisions / 10_000);
  });
});
