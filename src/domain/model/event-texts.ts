import { HOUR, MINUTE, SECOND, type Instant } from "../time.ts";

/**
 * The address of a caller, for people. A call through the unix socket certainly came from this
 * machine, and nothing more is known: only root and the owner of the data folder can open the
 * socket, and commands of root switch to the owner first.
 */
export const formatPeer = (peer: string): string => (peer === "socket" ? "this machine" : peer);

interface GapRange {
  readonly reason: string;
  readonly from: number;
  readonly to: number;
}

/** The range and the reason, worded the same everywhere. */
export const formatGap = ({ reason, from, to }: GapRange): string =>
  `${from === to ? `line ${from}` : `lines ${from} to ${to}`} declared missing (${reason})`;

/** For people: to the second. */
export const formatTime = (at: Instant): string =>
  Temporal.Instant.fromEpochMilliseconds(at).round("second").toString();

/** For programs: always with milliseconds. */
export const formatTimestamp = (at: Instant): string =>
  Temporal.Instant.fromEpochMilliseconds(at).toString({ fractionalSecondDigits: 3 });

export const formatTimestampOrNull = (at: Instant | null): string | null =>
  at === null ? null : formatTimestamp(at);

export const pluralize = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? "" : "s"}`;

export const formatList = (names: readonly string[]): string => names.join(", ") || "none";

/** A duration for people, such as "95 seconds", "12 minutes" or "5 hours". */
export function formatDuration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / SECOND);
  if (seconds < 120) return pluralize(seconds, "second");
  const minutes = Math.round(milliseconds / MINUTE);
  return minutes < 120 ? `${minutes} minutes` : `${Math.round(milliseconds / HOUR)} hours`;
}
