import type { EpisodeOutcome } from "../../domain/model/demand/episode.ts";
import type { MetricFamily } from "../../platform/metrics/metric.ts";
import type { DemandCount, DemandCounts } from "../demand/demand-counts.ts";
import { METRICS } from "./catalogue.ts";
import { featureKey } from "./change-counters.ts";
import { isFloating, type FeatureSeries } from "./feature-series.ts";

const OUTCOMES: readonly EpisodeOutcome[] = ["granted", "gave_up", "left"];

/** The denied episodes of the products themselves, and of their features. */
export function demandFamilies(
  counts: DemandCounts,
  products: readonly string[],
  features: readonly FeatureSeries[],
): MetricFamily[] {
  const byKey = new Map<string, Readonly<DemandCount>>();
  for (const count of counts.list()) byKey.set(keyOf(count.product, count.feature), count);
  const startedOf = (key: string): number => byKey.get(key)?.started ?? 0;
  return [
    {
      metric: METRICS.deniedEpisodes,
      samples: products.map((product) => ({
        labels: [product],
        value: startedOf(keyOf(product, null)),
      })),
    },
    {
      metric: METRICS.deniedEpisodesEnded,
      samples: products.flatMap((product) =>
        OUTCOMES.map((outcome) => ({
          labels: [product, outcome],
          value: byKey.get(keyOf(product, null))?.ended[outcome] ?? 0,
        })),
      ),
    },
    {
      metric: METRICS.featureDeniedEpisodes,
      samples: features.filter(isFloating).map(({ product, feature, keys }) => ({
        labels: [product, feature],
        value: keys.reduce((sum, key) => sum + startedOf(key), 0),
      })),
    },
  ];
}

/** A product itself has a key that no feature can have. */
const keyOf = (product: string, feature: string | null): string =>
  feature === null ? product : featureKey(product, feature);
