import { describe, test } from "bun:test";
import { chooseSize } from "../../support/suite-harness.ts";
import { checkReport } from "../check-report.ts";

const SITES = chooseSize(150, 1_000);

describe("report", () => {
  test("equals an independent count at many simulated sites", () => {
    for (let seed = 10_001; seed <= 10_000 + SITES; seed += 1)
      checkReport(seed, { setsClockBack: false });
  });

  test("equals an independent count at many sites whose clock was set back", () => {
    for (let seed = 20_001; seed <= 20_000 + SITES; seed += 1)
      checkReport(seed, { setsClockBack: true });
  });
});
