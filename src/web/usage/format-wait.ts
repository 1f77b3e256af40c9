import { formatDuration } from "../format.ts";

/** A waiting time, in seconds below a minute. */
export const formatWait = (seconds: number): string =>
  seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1_000);
