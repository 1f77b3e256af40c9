import { describe, test } from "bun:test";
import { checkReport } from "./check-report.ts";

describe("report", () => {
  test("equals an independent count at 1,000 simulated sites", () => {
    for (let seed = 10_001; seed <= 11_000; seed += 1) checkReport(seed, false);
  });

  test("equals an independent count at 1,000 sites whose clock was set back", () => {
    for (let seed = 20_001; seed <= 21_000; seed += 1) checkReport(seed, true);
  });
});
