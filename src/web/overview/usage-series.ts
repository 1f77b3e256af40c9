import type { UsageReply } from "../../http/routes/usage.ts";
import { formatNumber } from "../format.ts";
import type { ChartSeries } from "../parts/chart-series.ts";
import { reasonOf } from "../../faults/rule-reasons.ts";
import { usage } from "./usage-texts.ts";

/** The start of every step, in seconds. */
export function stepTimesOf({ from, step_minutes, licenses, refusals }: UsageReply): number[] {
  const lists = [...licenses.map(({ in_use }) => in_use), ...refusals.map(({ counts }) => counts)];
  const steps = Math.max(0, ...lists.map(({ length }) => length));
  const start = Date.parse(from) / 1_000;
  return Array.from({ length: steps }, (_, step) => start + step * step_minutes * 60);
}

/** After these, colours repeat with another stroke, so that lines do not differ by colour alone. */
const COLOURS = ["--accent", "--taken-high", "--good", "--bad", "--muted"];
const STROKES = [[], [8, 4], [2, 3]];

const seriesStyle = (index: number) => ({
  colour: COLOURS[index % COLOURS.length] ?? "--ink",
  stroke: STROKES[Math.floor(index / COLOURS.length) % STROKES.length] ?? [],
});

/** The slots in use of every license. */
export const slotSeries = ({ licenses }: UsageReply): ChartSeries[] =>
  licenses.map(({ license_id, product, floating_users, in_use }, index) => {
    const sameProduct = licenses.filter((other) => other.product === product);
    const name = sameProduct.length > 1 ? usage.license(product, license_id) : product;
    return { name, values: in_use, limit: floating_users, ...seriesStyle(index) };
  });

/** Refusals by reason, summed over all products; those of each feature apart. */
export function refusalSeries({ refusals }: UsageReply): ChartSeries[] {
  const byName = Map.groupBy(refusals, ({ product, feature, code }) =>
    feature === null || product === null
      ? reasonOf(code)
      : usage.ofFeature(reasonOf(code), feature, product),
  );
  return [...byName].map(([name, refusalsOfName], index) => ({
    name,
    values: refusalsOfName.map(({ counts }): Values => counts).reduce(addValues),
    limit: null,
    ...seriesStyle(index),
  }));
}

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
export function valueTextOf({ values, limit }: ChartSeries, step: number): string {
  const value = values[step] ?? null;
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

export const sumOf = ({ values }: ChartSeries): number =>
  values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
