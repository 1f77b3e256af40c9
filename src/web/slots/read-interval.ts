const SHORTEST_PAUSE = 2_000;
const LONGEST_PAUSE = 10_000;

/** A long list is read less often, so that reading takes about a tenth of the time. */
export const pauseAfterRead = (readTime: number): number =>
  Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, 10 * readTime));
