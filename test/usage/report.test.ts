import { describe, test } from "bun:test";
import { checkReport } from "./check-report.ts";

describe("report", () => {
  test("equals an independent count at 60 simulated sites", () => {
    for (let seed = 1; seed <= 60; seed += 1) checkReport(seed, false);
  });

  test("equals an independent count at 60 sites whose clock was set back", () => {
    for (let seed = 1_001; seed <= 1_060; seed += 1) checkReport(seed, true);
  });
});
