import { expect } from "bun:test";
import { HOUR, instant, later } from "../../src/domain/time.ts";
import { buildReport } from "../../src/usage/report/build-report.ts";
import { REAL_NAMES } from "../../src/usage/report/names.ts";
import { finishSteps, type Report } from "../../src/usage/report/report.ts";
import type { SiteRecord } from "../../src/usage/site-record.ts";
import { poolName, type NaiveFigures, type PoolTotals } from "./naive-figures.ts";
import { SimulatedDemand, type DemandOptions } from "./simulated-demand.ts";

/** Simulates a site, and compares its report with an independent count. */
export function checkReport(seed: number, options: DemandOptions): void {
  const site = new SimulatedDemand(seed, options);
  const record = site.simulate(120);
  const report = buildFullReport(record, options.timeZone ?? "UTC");
  const counted = summarizeCount(seed, site.naive);
  expect(summarizeReport(seed, report)).toEqual(counted);
  expect(counted.pools.length).toBeGreaterThan(0);
}

const buildFullReport = (record: SiteRecord, timeZone: string): Report =>
  finishSteps(
    buildReport(
      record,
      { holders: [], openEpisodes: [] },
      {
        from: instant(0),
        to: later(record.to, 1_000 * HOUR),
        product: null,
        feature: null,
        timeZone,
        idleDays: 7,
        rows: 1_000_000,
        hasSessions: false,
      },
      REAL_NAMES,
    ),
  );

/** Milliseconds, because hours are fractions. */
const toMs = (hours: number): number => Math.round(hours * HOUR);

function summarizeReport(seed: number, report: Report) {
  const pools = report.pools
    .filter(({ observedHours, episodes }) => observedHours > 0 || episodes > 0)
    .map((pool) => {
      const isOfPool = (row: { product: string; feature: string | null }): boolean =>
        row.product === pool.product && row.feature === pool.feature;
      const days = report.days.filter(isOfPool);
      return {
        pool: poolName(pool.product, pool.feature),
        peak: pool.peak,
        p95: pool.p95,
        p99: pool.p99,
        slotTime: toMs(pool.slotHours),
        observed: toMs(pool.observedHours),
        fullTime: toMs(pool.hoursAtLimit),
        means: pool.heatMap.mean.flat().map(roundMean),
        peaks: pool.heatMap.peak.flat(),
        people: Object.fromEntries(
          report.people
            .filter((row) => isOfPool(row) && row.slotHours > 0)
            .map(({ person, slotHours }) => [`${person}.`, toMs(slotHours)]),
        ),
        days: Object.fromEntries(
          days
            .filter(({ slotHours }) => slotHours > 0)
            .map(({ day, slotHours, people }) => [day, [toMs(slotHours), people]]),
        ),
        episodes: days.reduce((sum, { episodes }) => sum + episodes, 0),
        attempts: days.reduce((sum, { attempts }) => sum + attempts, 0),
        granted: days.reduce((sum, { granted }) => sum + granted, 0),
        consumed: days.reduce((sum, { consumption }) => sum + consumption, 0),
        waits: report.episodes
          .filter((row) => isOfPool(row) && row.outcome === "granted")
          .map(({ waited }) => waited)
          .toSorted((a, b) => a - b),
      };
    });
  return { seed, pools };
}

function summarizeCount(seed: number, { pools }: NaiveFigures) {
  const counted = [...pools]
    .filter(([, totals]) => totals.timeAtLevel.size > 0 || totals.episodes.length > 0)
    .toSorted(([a], [b]) => compareNames(a, b))
    .map(([pool, totals]) => {
      const levels = listLevels(totals);
      return {
        pool,
        peak: Math.max(0, ...totals.timeAtLevel.keys()),
        p95: findLevel(levels, 95),
        p99: findLevel(levels, 99),
        slotTime: levels.reduce((sum, [level, time]) => sum + level * time, 0),
        observed: levels.reduce((sum, [, time]) => sum + time, 0),
        fullTime: totals.fullTime,
        means: totals.observedByHour.map((time, hour) =>
          roundMean(time === 0 ? null : (totals.slotTimeByHour[hour] ?? 0) / time),
        ),
        peaks: totals.observedByHour.map((time, hour) =>
          time === 0 ? null : (totals.peakByHour[hour] ?? 0),
        ),
        people: Object.fromEntries([...totals.timeByPerson].map(([name, ms]) => [`${name}.`, ms])),
        days: Object.fromEntries(
          [...totals.slotTimeByDay]
            .filter(([, ms]) => ms > 0)
            .map(([day, ms]) => [day, [ms, totals.peopleByDay.get(day)?.size ?? 0]]),
        ),
        episodes: totals.episodes.length,
        attempts: totals.episodes.reduce((sum, { attempts }) => sum + attempts, 0),
        granted: totals.episodes.filter(({ outcome }) => outcome === "granted").length,
        consumed: totals.consumed,
        waits: totals.episodes
          .filter(({ outcome }) => outcome === "granted")
          .map(({ firstAt, endedAt }) => endedAt - firstAt)
          .toSorted((a, b) => a - b),
      };
    });
  return { seed, pools: counted };
}

const listLevels = ({ timeAtLevel }: PoolTotals): [level: number, time: number][] =>
  [...timeAtLevel].toSorted(([a], [b]) => a - b);

/** The lowest level with at most 5 % (or 1 %) of the time above it. */
function findLevel(levels: readonly (readonly [number, number])[], percent: number): number {
  const total = levels.reduce((sum, [, time]) => sum + time, 0);
  const timeAbove = (limit: number): number =>
    levels.reduce((sum, [level, time]) => sum + (level > limit ? time : 0), 0);
  const fitting = levels.find(([level]) => timeAbove(level) * 100 <= total * (100 - percent));
  return fitting?.[0] ?? 0;
}

const roundMean = (mean: number | null): number | null =>
  mean === null ? null : Math.round(mean * 1e6) / 1e6;

function compareNames(a: string, b: string): number {
  const [[productA, featureA], [productB, featureB]] = [JSON.parse(a), JSON.parse(b)] as [
    [string, string | null],
    [string, string | null],
  ];
  if (productA !== productB) return productA < productB ? -1 : 1;
  return (featureA ?? "") < (featureB ?? "") ? -1 : 1;
}
