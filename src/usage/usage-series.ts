import { DAY, HOUR, instant, MINUTE, type Instant } from "../domain/time.ts";
import type { PoolName } from "../domain/model/slots/pool-name.ts";
import type { TimeSpan } from "./time-span.ts";
import {
  combineFigure,
  mapFigures,
  startOfHour,
  USAGE_STEP,
  type FigureName,
  type LimitSpan,
  type PoolUsage,
  type UsageTable,
} from "./usage-table.ts";

/** The ranges that a reader can choose, and their steps: a screen shows no more. */
export const USAGE_RANGES = {
  day: { length: DAY, step: USAGE_STEP },
  week: { length: 7 * DAY, step: 30 * MINUTE },
  month: { length: 30 * DAY, step: 2 * HOUR },
  quarter: { length: 91 * DAY, step: 6 * HOUR },
  year: { length: 365 * DAY, step: DAY },
  "18months": { length: 548 * DAY, step: 2 * DAY },
} as const;

export type UsageRange = keyof typeof USAGE_RANGES;

export const isUsageRange = (text: string): text is UsageRange => Object.hasOwn(USAGE_RANGES, text);

/** At most so many steps are in a series. */
const MAX_SERIES_STEPS = 400;

const STEP_LENGTHS = [
  USAGE_STEP,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  2 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
  28 * DAY,
];

/** Steps older than this are kept as hours. */
export const FOLD_AFTER = 90 * DAY;

export interface SeriesSpan extends TimeSpan {
  /** The length of a step, in milliseconds. */
  readonly step: number;
}

/** The steps of a range that ends with the current step. */
export function findRangeSteps(range: UsageRange, now: Instant): SeriesSpan {
  const { length, step } = USAGE_RANGES[range];
  const to = (Math.floor(now / step) + 1) * step;
  return { from: instant(to - length), to: instant(to), step };
}

/** The steps of a range that contains `from`, and ends with the step before or of `to`. */
export function chooseSteps({ from, to }: TimeSpan, now: Instant): SeriesSpan {
  // A month is folded when its last day is old enough; an hour is then the finest step.
  const finest = from < now - FOLD_AFTER ? HOUR : USAGE_STEP;
  for (const step of STEP_LENGTHS) {
    const start = Math.floor(from / step) * step;
    const end = Math.max(Math.ceil(to / step) * step, start + step);
    const isShortEnough = (end - start) / step <= MAX_SERIES_STEPS;
    if (step < finest || !isShortEnough) continue;
    return { from: instant(start), to: instant(end), step };
  }
  const step = Math.ceil((to - from) / (MAX_SERIES_STEPS - 1) / DAY) * DAY;
  const start = Math.floor(from / step) * step;
  return { from: instant(start), to: instant(Math.ceil(to / step) * step), step };
}

/** The figures of a pool, step by step. Null: unknown, because nothing was observed in the step. */
export interface PoolSeries extends PoolName {
  /** The highest limit in the step; null also: no license was installed. */
  readonly limit: readonly (number | null)[];
  readonly figures: Readonly<Record<FigureName, readonly (number | null)[]>>;
}

export interface UsageSeries extends SeriesSpan {
  /** The observed milliseconds of each step; more than the step's length if time ran twice. */
  readonly observed: readonly number[];
  readonly pools: readonly PoolSeries[];
}

export function makeSeries(
  table: UsageTable,
  span: SeriesSpan,
  isWanted: (pool: PoolName) => boolean = () => true,
): UsageSeries {
  const observed = sumOverlaps(table.observed, span);
  const pools: PoolSeries[] = [];
  for (const pool of table.pools) {
    if (!isWanted(pool)) continue;
    const series = makePoolSeries(pool, span, observed);
    const isEmpty = series.limit.every((limit) => limit === null) && !hasFigures(series);
    if (!isEmpty) pools.push(series);
  }
  return { ...span, observed, pools: pools.toSorted(comparePools) };
}

/** By product; the product itself comes before its features. */
function comparePools(a: PoolName, b: PoolName): number {
  if (a.product !== b.product) return a.product < b.product ? -1 : 1;
  return (a.feature ?? "") < (b.feature ?? "") ? -1 : 1;
}

const hasFigures = ({ figures }: PoolSeries): boolean =>
  Object.values(figures).some((values) => values.some((value) => value !== null && value !== 0));

function makePoolSeries(
  { product, feature, limits, hours }: PoolUsage,
  span: SeriesSpan,
  observed: readonly number[],
): PoolSeries {
  const figures = mapFigures((): (number | null)[] =>
    observed.map((milliseconds) => (milliseconds === 0 ? null : 0)),
  );
  for (const [hour, values] of hours) {
    const start = startOfHour(hour);
    if (start + HOUR <= span.from || start >= span.to) continue;
    const length = HOUR / values.peak.length;
    for (const [index] of values.peak.entries()) {
      const step = Math.floor((start + index * length - span.from) / span.step);
      if (step < 0 || step >= observed.length) continue;
      mapFigures((name) => {
        const value = values[name][index] ?? 0;
        // A figure of zero does not make an unknown step known.
        if (value !== 0) figures[name][step] = combineFigure(name, figures[name][step] ?? 0, value);
      });
    }
  }
  return { product, feature, limit: findLimits(limits, span, observed.length), figures };
}

function findLimits(
  limits: readonly LimitSpan[],
  span: SeriesSpan,
  length: number,
): (number | null)[] {
  const highest = Array.from({ length }, (): number | null => null);
  for (const { slots, ...limit } of limits) {
    for (const step of listSteps(limit, span)) highest[step] = Math.max(highest[step] ?? 0, slots);
  }
  return highest;
}

function sumOverlaps(spans: readonly TimeSpan[], series: SeriesSpan): number[] {
  const length = (series.to - series.from) / series.step;
  const sums = Array.from({ length }, () => 0);
  for (const span of spans) {
    for (const step of listSteps(span, series)) {
      const start = series.from + step * series.step;
      const overlap = Math.min(span.to, start + series.step) - Math.max(span.from, start);
      sums[step] = (sums[step] ?? 0) + overlap;
    }
  }
  return sums;
}

/** The steps that a span of time is in. */
function* listSteps({ from, to }: TimeSpan, series: SeriesSpan): Generator<number> {
  const first = Math.max(0, Math.floor((from - series.from) / series.step));
  const end = Math.min(series.to, to) - series.from;
  for (let step = first; step * series.step < end; step += 1) yield step;
}
