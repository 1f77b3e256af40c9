import { earliest, latest, type Instant } from "../domain/time.ts";
import type { ClockPeriod } from "./site-record.ts";

/** Something that lasted, perhaps over several clock periods. */
export interface Lasting {
  /** Null: it began before the record. */
  readonly start: Instant | null;
  /** Null: it lasted at the end of the record. */
  readonly end: Instant | null;
  readonly startPeriod: number;
  readonly endPeriod: number;
}

/** A part of something lasting, within one clock period; never empty. */
export interface PeriodPart {
  readonly clockPeriod: number;
  readonly from: Instant;
  /** Exclusive. */
  readonly to: Instant;
}

/**
 * The times at which it lasted, in each clock period from its first line to its last one. An end is
 * on the clock of the last period. In the first period it counts if it is after the start: then it
 * was due there too, although no line says so.
 */
export function* clipToClockPeriods(
  { start, end, startPeriod, endPeriod }: Lasting,
  clockPeriods: readonly ClockPeriod[],
): Generator<PeriodPart> {
  for (let index = startPeriod; index <= endPeriod; index += 1) {
    const period = clockPeriods[index];
    if (period === undefined) return;
    const isFirst = index === startPeriod && start !== null;
    const from = isFirst ? latest(start, period.from) : period.from;
    const isEndOfLaterPeriod = isFirst && index < endPeriod && end !== null && end < start;
    const to = end === null || isEndOfLaterPeriod ? period.to : earliest(end, period.to);
    if (from < to) yield { clockPeriod: index, from, to };
  }
}
