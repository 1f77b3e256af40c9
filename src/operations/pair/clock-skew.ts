/** With a larger difference between the clocks of two hosts, they do not form a pair. */
export const MAX_SKEW_MS = 10_000;
