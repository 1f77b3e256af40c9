/** What a histogram has counted so far. */
export interface HistogramCounts {
  /** The upper bounds of the buckets, without the last one, which has no bound. */
  readonly bounds: readonly number[];
  /** The observations of each bucket alone, the last one without a bound included. */
  readonly counts: ArrayLike<number>;
  readonly sum: number;
}

/** Counts observations by size. An observation costs a few comparisons and two additions. */
export class Histogram implements HistogramCounts {
  readonly bounds: readonly number[];
  readonly counts: Float64Array;
  sum = 0;

  /** `bounds` in ascending order. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.counts = new Float64Array(bounds.length + 1);
  }

  /** An observation equal to a bound belongs to the bucket of that bound. */
  observe(value: number): void {
    let bucket = 0;
    while (value > (this.bounds[bucket] ?? Infinity)) bucket += 1;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += value;
  }
}
