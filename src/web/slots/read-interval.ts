const SHORTEST_PAUSE = 2_000;
const LONGEST_PAUSE = 10_000;

/** A long list is read less often: about a tenth of the time goes into reading. */
export const pauseAfterRead = (took: number): number =>
  Math.min(LONGEST_PAUSE, Math.max(SHORTEST_PAUSE, 10 * took));
