import { describe, expect, test } from "bun:test";
import { replaySites } from "./check-what-if.ts";

describe("what-if", () => {
  test("decides the record of 100 simulated sites as it was decided", () => {
    const totals = replaySites(1, 100, false);
    expect(totals.differences).toEqual([]);
    expect(totals.refusals).toBeGreaterThan(1000);
  });

  test("decides 999 of 1,000 calls as recorded at 100 sites whose clock was set back", () => {
    const totals = replaySites(1001, 100, true);
    expect(totals.setBacks).toBeGreaterThan(25);
    expect(totals.refusals).toBeGreaterThan(500);
    expect(totals.differences.length).toBeLessThan(totals.decisions / 1_000);
  });
});
