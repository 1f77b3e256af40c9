/**
 * Percentiles are defined once, for levels and for lists: the smallest value that at least this
 * share does not exceed. Of slots in use it is a share of the observed time, of waiting times a
 * share of the episodes.
 */

/** `weights`: how long (or how often) each value was observed. Zero without any observation. */
export function weightedPercentile(weights: ReadonlyMap<number, number>, share: number): number {
  let total = 0;
  for (const weight of weights.values()) total += weight;
  let reached = 0;
  for (const [value, weight] of [...weights].toSorted(([a], [b]) => a - b)) {
    reached += weight;
    if (weight > 0 && reached >= total * share) return value;
  }
  return 0;
}

/** Of an ascending list that is not empty. */
export const percentile = (ascending: readonly number[], share: number): number =>
  ascending[Math.max(0, Math.ceil(ascending.length * share) - 1)] ?? 0;
