import type { HistogramCounts } from "./histogram.ts";

/** What a metric measures. Its samples are written in the order of `labels`. */
export interface Metric {
  /** Without the suffixes `_total` of a counter and `_info` of an info. */
  readonly name: string;
  readonly type: "gauge" | "counter" | "histogram" | "info";
  /** The last part of the name; absent: a number of things, or a state. */
  readonly unit?: "seconds" | "bytes";
  readonly help: string;
  readonly labels: readonly string[];
}

/** The value of one series, or of the series of one histogram. */
export interface Sample {
  /** The values of the metric's labels, in their order. */
  readonly labels: readonly string[];
  readonly value: number | HistogramCounts;
}

export interface MetricFamily {
  readonly metric: Metric;
  readonly samples: readonly Sample[];
}

/** A metric without labels; null: it has no value now. */
export const single = (metric: Metric, value: number | null): MetricFamily => ({
  metric,
  samples: value === null ? [] : [{ labels: [], value }],
});
