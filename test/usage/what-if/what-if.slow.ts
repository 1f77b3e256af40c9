import { describe, expect, test } from "bun:test";
import { chooseSize } from "../../support/suite-harness.ts";
import { replaySites } from "../check-what-if.ts";

const SITES = chooseSize(200, 1_000);

describe("what-if", () => {
  test("decides the record of many simulated sites as it was decided", () => {
    const totals = replaySites(10_001, SITES, false);
    expect(totals.differences).toEqual([]);
    expect(totals.refusals).toBeGreaterThan(10 * SITES);
  });

  test("differs at many sites whose clock was set back only where that changed the time", () => {
    const totals = replaySites(20_001, SITES, true);
    expect(totals.setBacks).toBeGreaterThan(SITES / 4);
    expect(totals.refusals).toBeGreaterThan(10 * SITES);
    expect(totals.differences.filter(({ isTimeKnown }) => isTimeKnown)).toEqual([]);
    expect(totals.differences.length).toBeLessThan(totals.decisions / 10_000);
  });
});
