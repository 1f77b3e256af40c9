const SHORTEST_PAUSE = 2_000;

/** A long list is read less often: no more than a tenth of the time goes into reading. */
export const pauseAfter = (took: number): number => Math.max(SHORTEST_PAUSE, 10 * took);
