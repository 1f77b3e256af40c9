import { describe, test } from "bun:test";
import { utc } from "../../support/scenario.ts";
import { checkReport } from "../check-report.ts";

describe("report", () => {
  test("equals an independent count at 20 simulated sites", () => {
    for (let seed = 1; seed <= 20; seed += 1) checkReport(seed, { setsClockBack: false });
  });

  test("equals an independent count at 20 sites whose clock was set back", () => {
    for (let seed = 1_001; seed <= 1_020; seed += 1) checkReport(seed, { setsClockBack: true });
  });

  test.each([
    // Less than a day before the clocks are changed.
    ["Berlin", "begins", "Europe/Berlin", "2026-03-28T10:00:00Z"],
    ["Sydney", "ends", "Australia/Sydney", "2026-04-04T00:00:00Z"],
  ])("equals an independent count at 10 sites in %s where summer time %s", (...row) => {
    const [, , timeZone, start] = row;
    const options = { setsClockBack: false, start: utc(start), timeZone };
    for (let seed = 2_001; seed <= 2_010; seed += 1) checkReport(seed, options);
  });
});
