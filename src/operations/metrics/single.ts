import type { Metric, MetricFamily } from "../../platform/metrics/metric.ts";

/** A metric without labels; null: it has no value now. */
export const single = (metric: Metric, value: number | null): MetricFamily => ({
  metric,
  samples: value === null ? [] : [{ labels: [], value }],
});
