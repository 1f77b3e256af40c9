/**
 * With a larger difference of the clocks no host joins, and none hands over: the time of the
 * appliance would move.
 */
export const MAX_SKEW_MS = 10_000;
