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
 * The times at which it lasted, in each clock period from its first line to its last one. Until the
 * clock was set back it lasted on, but not into the time after a wrong jump: a slot is held for
 * minutes or hours only, and the jump may have been a year. What a later line says does not change
 * an earlier period, so figures that were written once stay true.
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
    const to = index === endPeriod && end !== null ? earliest(end, period.to) : endOf(period, from);
    if (from < to) yield { clockPeriod: index, from, to };
  }
}

const endOf = ({ to, wrongFrom }: ClockPeriod, from: Instant): Instant =>
  wrongFrom !== undefined && from <= wrongFrom ? wrongFrom : to;
