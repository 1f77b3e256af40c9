import type { UsageReply } from "../../http/routes/usage.ts";
import { formatNumber } from "../format.ts";
import type { ChartSeries } from "../parts/chart-series.ts";
import { reasonOf } from "../texts/refusals.ts";
import { usage } from "../texts/usage.ts";

/** The beginning of every step, in seconds. */
export function stepTimesOf({ from, step_minutes, licenses, refusals }: UsageReply): number[] {
  const lists = [...licenses.map(({ in_use }) => in_use), ...refusals.map(({ counts }) => counts)];
  const steps = Math.max(0, ...lists.map(({ length }) => length));
  const start = Date.parse(from) / 1_000;
  return Array.from({ length: steps }, (_, step) => start + step * step_minutes * 60);
}

/** Colours come again after these, with another stroke: nobody has to tell them apart by colour. */
const COLOURS = ["--accent", "--taken-high", "--good", "--bad", "--quiet"];
const STROKES = [[], [8, 4], [2, 3]];

const seriesStyle = (index: number) => ({
  colour: COLOURS[index % COLOURS.length] ?? "--ink",
  stroke: STROKES[Math.floor(index / COLOURS.length) % STROKES.length] ?? [],
});

/** Of every license the slots in use. */
export const slotSeries = ({ licenses }: UsageReply): ChartSeries[] =>
  licenses.map(({ license_id, product, floating_users, in_use }, index) => {
    const twins = licenses.filter((other) => other.product === product);
    const name = twins.length > 1 ? usage.license(product, license_id) : product;
    return { name, values: in_use, limit: floating_users, ...seriesStyle(index) };
  });

/** Refusals by their reason, whichever product they were about. */
export function refusalSeries({ refusals }: UsageReply): ChartSeries[] {
  const byCode = Map.groupBy(refusals, ({ code }) => code);
  return [...byCode].map(([code, same], index) => ({
    name: reasonOf(code),
    values: same.map(({ counts }): Values => counts).reduce(addValues),
    limit: null,
    ...seriesStyle(index),
  }));
}

type Values = ChartSeries["values"];

/** What is known of either; null only where nothing is known of both. */
const addValues = (a: Values, b: Values): Values =>
  Array.from({ length: Math.max(a.length, b.length) }, (_, step) => {
    const [one = null, other = null] = [a[step], b[step]];
    return one === null ? other : one + (other ?? 0);
  });

/** Each bar with all that stand below it: drawn one after the other, they are a stack. */
export const stackSeries = (lines: readonly ChartSeries[]): ChartSeries[] =>
  lines.map((line, index) => ({
    ...line,
    values: lines
      .slice(index)
      .map(({ values }) => values)
      .reduce(addValues),
  }));

/** What a line says of one step. */
export function valueTextOf({ values, limit }: ChartSeries, step: number): string {
  const value = values[step] ?? null;
  if (value === null) return usage.unknown;
  return limit === null
    ? formatNumber(value)
    : usage.ofLimit(formatNumber(value), formatNumber(limit));
}

/** Null: nothing is known. */
export function peakOf({ values }: ChartSeries): number | null {
  const known = values.filter((value) => value !== null);
  return known.length === 0 ? null : Math.max(...known);
}

export const sumOf = ({ values }: ChartSeries): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
