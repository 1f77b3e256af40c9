import { totalAt } from "../../domain/consumption/counters.ts";
import { countSlotsInUse } from "../../domain/model/slots/pool.ts";
import type { Feature, State } from "../../domain/model/state.ts";
import type { Instant } from "../../domain/time.ts";
import { featureKey } from "./change-counters.ts";

/** More features than this share the series `other`. */
const MAX_FEATURES = 200;

const OTHER = "other";

/** What is measured together: one feature of a product in all its licenses, or the rest. */
export interface FeatureSeries {
  readonly product: string;
  readonly feature: string;
  /** The keys of the features, see `featureKey`. */
  readonly keys: readonly string[];
  readonly features: readonly Feature[];
  /** All features beyond the first 200. */
  readonly isRest: boolean;
}

/**
 * The features that are floating or count consumption, the first 200 by product and code, and the
 * rest as one series. The choice depends on the installed licenses only.
 */
export function selectFeatures({ licenses }: State): FeatureSeries[] {
  const byKey = new Map<string, { product: string; feature: string; features: Feature[] }>();
  for (const { terms, features } of licenses.values()) {
    for (const [code, feature] of features) {
      if (feature.terms.floating === null && feature.terms.consumption === null) continue;
      const key = featureKey(terms.product, code);
      const entry = byKey.get(key) ?? { product: terms.product, feature: code, features: [] };
      entry.features.push(feature);
      byKey.set(key, entry);
    }
  }
  const sorted = [...byKey].toSorted(([a], [b]) => (a < b ? -1 : 1));
  const series: FeatureSeries[] = sorted
    .slice(0, MAX_FEATURES)
    .map(([key, entry]) => ({ ...entry, keys: [key], isRest: false }));
  const rest = sorted.slice(MAX_FEATURES);
  if (rest.length === 0) return series;
  const keys = rest.map(([key]) => key);
  const features = rest.flatMap(([, entry]) => entry.features);
  return [...series, { product: "", feature: OTHER, keys, features, isRest: true }];
}

export const isFloating = ({ features }: FeatureSeries): boolean =>
  features.some(({ terms }) => terms.floating !== null);

export const countsConsumption = ({ features }: FeatureSeries): boolean =>
  features.some(({ terms }) => terms.consumption !== null);

export const sumSlots = ({ features }: FeatureSeries): number =>
  features.reduce((sum, { terms }) => sum + (terms.floating?.slots ?? 0), 0);

export const sumSlotsInUse = ({ features }: FeatureSeries, at: Instant): number =>
  features.reduce((sum, { pool }) => sum + countSlotsInUse(pool, at), 0);

export const sumConsumption = ({ features }: FeatureSeries, at: Instant): number =>
  features.reduce((sum, { counter }) => sum + totalAt(counter, at), 0);

/** Null: at least one of them has no limit. */
export function sumConsumptionLimit({ features }: FeatureSeries): number | null {
  let limit = 0;
  for (const { terms } of features) {
    if (terms.consumption === null) continue;
    if (terms.consumption.max === null) return null;
    limit += terms.consumption.max;
  }
  return limit;
}
