const BUCKET_MS = 10_000;
/** Five minutes, and the bucket that is not over yet. */
const BUCKETS = 31;

/**
 * The highest level of the last five minutes, in steps of ten seconds. Between two records the
 * level may only fall.
 */
export class PeakWindow {
  readonly #peaks = new Float64Array(BUCKETS);
  #bucket: number;
  #level = 0;

  constructor(monotonicMs: number) {
    this.#bucket = bucketOf(monotonicMs);
  }

  record(level: number, monotonicMs: number): void {
    this.#moveTo(bucketOf(monotonicMs));
    const index = this.#bucket % BUCKETS;
    this.#peaks[index] = Math.max(this.#peaks[index] ?? 0, level);
    this.#level = level;
  }

  peak(): number {
    return Math.max(...this.#peaks);
  }

  /** A bucket begins with the level at the end of the one before. */
  #moveTo(bucket: number): void {
    const first = Math.max(this.#bucket + 1, bucket - BUCKETS + 1);
    for (let next = first; next <= bucket; next += 1) this.#peaks[next % BUCKETS] = this.#level;
    this.#bucket = Math.max(this.#bucket, bucket);
  }
}

const bucketOf = (monotonicMs: number): number => Math.floor(monotonicMs / BUCKET_MS);

/** How often the levels must be recorded for a window to be right. */
export const PEAK_SAMPLE_MS = BUCKET_MS;
