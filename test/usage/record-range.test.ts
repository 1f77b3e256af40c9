import { describe, expect, test } from "bun:test";
import { later, type Instant } from "../../src/domain/time.ts";
import { buildReport } from "../../src/usage/report/build-report.ts";
import { REAL_NAMES } from "../../src/usage/report/names.ts";
import { finishSteps } from "../../src/usage/report/report.ts";
import type { SiteRecord } from "../../src/usage/site-record.ts";
import { SimulatedHistory } from "./simulated-history.ts";

describe("record of a part of the time", () => {
  test("gives the figures of the whole record for that part, at 15 simulated sites", async () => {
    let compared = 0;
    for (let seed = 1; seed <= 15; seed += 1) {
      const history = await SimulatedHistory.start(seed);
      await history.run(60);
      // Over a clock that was set back, a part of the time has no single beginning.
      if (history.setBacks > 0) continue;
      const whole = await history.readRecord(null);
      for (const share of [0.2, 0.5, 0.8]) {
        const from = history.instantAt(share);
        const part = await history.readRecord(from);
        const expected = { seed, share, ...report(whole, from) };
        expect({ seed, share, ...report(part, from) }).toEqual(expected);
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(20);
  }, 120_000);
});

function report(record: SiteRecord, from: Instant) {
  const request = {
    from,
    to: later(record.to, 1),
    product: null,
    feature: null,
    timeZone: "UTC",
    idleDays: 7,
    rows: 1_000_000,
    hasSessions: false,
  };
  const { pools, days, episodes, people, consumption } = finishSteps(
    buildReport(record, { holders: [], openEpisodes: [] }, request, REAL_NAMES),
  );
  return {
    pools: pools.filter(({ observedHours }) => observedHours > 0),
    days: days.filter(({ limit, peak }) => limit + peak > 0),
    episodes,
    people,
    consumption,
  };
}
