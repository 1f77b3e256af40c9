import type { UsageReply } from "../../http/routes/usage.ts";
import { formatNumber } from "../format.ts";
import type { ChartSeries } from "../parts/chart-series.ts";
import { usage } from "./usage-texts.ts";

/** The start of every step, in seconds. */
export function stepTimesOf({ from, to, step_minutes }: UsageReply): number[] {
  const [start, end] = [Date.parse(from) / 1_000, Date.parse(to) / 1_000];
  const length = Math.round((end - start) / (step_minutes * 60));
  return Array.from({ length }, (_, step) => start + step * step_minutes * 60);
}

/** After these, colours repeat with another stroke, so that lines do not differ by colour alone. */
const COLOURS = ["--accent", "--taken-high", "--good", "--bad", "--muted"];
const STROKES = [[], [8, 4], [2, 3]];

const seriesStyle = (index: number) => ({
  colour: COLOURS[index % COLOURS.length] ?? "--ink",
  stroke: STROKES[Math.floor(index / COLOURS.length) % STROKES.length] ?? [],
});

/** The slots in use of every product; those of a feature are in the reports. */
export const slotSeries = ({ pools }: UsageReply): ChartSeries[] =>
  pools
    .filter(({ feature, limit, peak }) => feature === null && hasValue([...limit, ...peak]))
    .map(({ product, peak, limit }, index) => ({
      name: product,
      values: peak,
      limits: limit,
      ...seriesStyle(index),
    }));

/** The denied episodes that began, of every product and of every feature apart. */
export const episodeSeries = ({ pools }: UsageReply): ChartSeries[] =>
  pools
    .filter(({ episodes }) => hasValue(episodes))
    .map(({ product, feature, episodes }, index) => ({
      name: feature === null ? product : usage.ofFeature(feature, product),
      values: episodes,
      limits: null,
      ...seriesStyle(index),
    }));

const hasValue = (values: Values): boolean => values.some((value) => value !== null && value > 0);

type Values = ChartSeries["values"];

/** Adds two lists; null only where both have no value. */
const addValues = (a: Values, b: Values): Values =>
  Array.from({ length: Math.max(a.length, b.length) }, (_, step) => {
    const [left = null, right = null] = [a[step], b[step]];
    return left === null ? right : left + (right ?? 0);
  });

/** Adds to each bar all bars below it: drawn one after the other, they form a stack. */
export const stackSeries = (lines: readonly ChartSeries[]): ChartSeries[] =>
  lines.map((line, index) => ({
    ...line,
    values: lines
      .slice(index)
      .map(({ values }) => values)
      .reduce(addValues),
  }));

/** The value of a line at one step, as text. */
export function valueTextOf({ values, limits }: ChartSeries, step: number): string {
  const value = values[step] ?? null;
  const limit = limits?.[step] ?? null;
  if (value === null) return usage.unknown;
  return limit === null
    ? formatNumber(value)
    : usage.ofLimit(formatNumber(value), formatNumber(limit));
}

/** Null: no value is known. */
export function peakOf({ values }: ChartSeries): number | null {
  const numbers = values.filter((value) => value !== null);
  return numbers.length === 0 ? null : Math.max(...numbers);
}

/** The newest known limit; null: none. */
export const lastLimitOf = ({ limits }: ChartSeries): number | null =>
  limits?.findLast((limit) => limit !== null) ?? null;

export const sumOf = ({ values }: ChartSeries): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
