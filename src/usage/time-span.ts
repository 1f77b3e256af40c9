import { earliest, latest, type Instant } from "../domain/time.ts";

/** An interval of time; `to` is exclusive. */
export interface TimeSpan {
  readonly from: Instant;
  readonly to: Instant;
}

/** The part of a span that is within another; null: none. */
export function intersect(a: TimeSpan, b: TimeSpan): TimeSpan | null {
  const [from, to] = [latest(a.from, b.from), earliest(a.to, b.to)];
  return from < to ? { from, to } : null;
}
