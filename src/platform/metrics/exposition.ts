import type { HistogramCounts } from "./histogram.ts";
import type { Metric, MetricFamily } from "./metric.ts";

/** OpenMetrics 1.0, or the text format of Prometheus, version 0.0.4. */
export type ExpositionFormat = "openmetrics" | "text";

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  openmetrics: "application/openmetrics-text; version=1.0.0; charset=utf-8",
  text: "text/plain; version=0.0.4; charset=utf-8",
};

/**
 * Writes metrics. `createdAt` is when all counters were zero, in seconds since 1970: OpenMetrics
 * has it as `_created` of each counter, the text format as a gauge with that suffix.
 */
export function writeExposition(
  families: Iterable<MetricFamily>,
  createdAt: number,
  format: ExpositionFormat,
): string {
  const writer = new ExpositionWriter(createdAt, format === "openmetrics");
  for (const family of families) if (family.samples.length > 0) writer.writeFamily(family);
  return writer.finish();
}

class ExpositionWriter {
  readonly #lines: string[] = [];
  readonly #created: string;
  readonly #isOpenMetrics: boolean;

  constructor(createdAt: number, isOpenMetrics: boolean) {
    this.#created = formatNumber(createdAt);
    this.#isOpenMetrics = isOpenMetrics;
  }

  writeFamily(family: MetricFamily): void {
    const { metric, samples } = family;
    const { name, type } = metric;
    this.#writeHead(metric);
    const suffix = SAMPLE_SUFFIX[type];
    for (const { labels, value } of samples) {
      const pairs = formatPairs(metric.labels, labels);
      if (typeof value === "object") this.#writeHistogram(name, pairs, value);
      else this.#lines.push(`${name}${suffix}${inBraces(pairs)} ${formatNumber(value)}`);
      if (this.#isOpenMetrics && hasCreated(metric)) this.#writeCreated(name, pairs);
    }
    if (!this.#isOpenMetrics && hasCreated(metric)) this.#writeCreatedFamily(family);
  }

  finish(): string {
    if (this.#isOpenMetrics) this.#lines.push("# EOF");
    return this.#lines.length === 0 ? "" : `${this.#lines.join("\n")}\n`;
  }

  #writeHead({ name, type, unit, help }: Metric): void {
    if (this.#isOpenMetrics) {
      this.#lines.push(`# TYPE ${name} ${type}`);
      if (unit !== undefined) this.#lines.push(`# UNIT ${name} ${unit}`);
      this.#lines.push(`# HELP ${name} ${escapeText(help).replaceAll('"', '\\"')}`);
      return;
    }
    // The text format has no info, and names a family as its samples are named.
    const family = type === "histogram" ? name : `${name}${SAMPLE_SUFFIX[type]}`;
    this.#lines.push(`# HELP ${family} ${escapeText(help)}`);
    this.#lines.push(`# TYPE ${family} ${type === "info" ? "gauge" : type}`);
  }

  #writeHistogram(name: string, pairs: string, { bounds, counts, sum }: HistogramCounts): void {
    let total = 0;
    for (let bucket = 0; bucket <= bounds.length; bucket += 1) {
      total += counts[bucket] ?? 0;
      const bound = this.#formatBound(bounds[bucket] ?? Infinity);
      const bucketPairs = pairs === "" ? `le="${bound}"` : `${pairs},le="${bound}"`;
      this.#lines.push(`${name}_bucket${inBraces(bucketPairs)} ${total}`);
    }
    this.#lines.push(`${name}_sum${inBraces(pairs)} ${formatNumber(sum)}`);
    this.#lines.push(`${name}_count${inBraces(pairs)} ${total}`);
  }

  /** OpenMetrics writes a whole number as a float here. */
  #formatBound(bound: number): string {
    const text = formatNumber(bound);
    return this.#isOpenMetrics && /^\d+$/.test(text) ? `${text}.0` : text;
  }

  #writeCreated(name: string, pairs: string): void {
    this.#lines.push(`${name}_created${inBraces(pairs)} ${this.#created}`);
  }

  #writeCreatedFamily({ metric, samples }: MetricFamily): void {
    const { name, labels: names } = metric;
    this.#lines.push(`# HELP ${name}_created When ${name} was zero, in seconds since 1970.`);
    this.#lines.push(`# TYPE ${name}_created gauge`);
    for (const { labels } of samples) this.#writeCreated(name, formatPairs(names, labels));
  }
}

const SAMPLE_SUFFIX: Readonly<Record<Metric["type"], string>> = {
  gauge: "",
  counter: "_total",
  histogram: "",
  info: "_info",
};

const hasCreated = ({ type }: Metric): boolean => type === "counter" || type === "histogram";

const inBraces = (pairs: string): string => (pairs === "" ? "" : `{${pairs}}`);

const formatPairs = (names: readonly string[], values: readonly string[]): string =>
  names.map((name, index) => `${name}="${escapeLabelValue(values[index] ?? "")}"`).join(",");

const escapeText = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");

const NEEDS_ESCAPE = /[\\"\n]/;

/** Nearly no value has a character to escape. */
const escapeLabelValue = (value: string): string =>
  (NEEDS_ESCAPE.test(value) ? escapeText(value).replaceAll('"', '\\"') : value).toWellFormed();

function formatNumber(value: number): string {
  if (Number.isFinite(value)) return String(value);
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}
