import { describe, test } from "bun:test";
import { checkReport } from "./check-report.ts";

describe("report", () => {
  test("equals an independent count at 20 simulated sites", () => {
    for (let seed = 1; seed <= 20; seed += 1) checkReport(seed, false);
  });

  test("equals an independent count at 20 sites whose clock was set back", () => {
    for (let seed = 1_001; seed <= 1_020; seed += 1) checkReport(seed, true);
  });
});
