import { earliest, instant, latest, type Instant } from "../domain/time.ts";
import type { ClockPeriod } from "./site-record.ts";
import type { TimeSpan } from "./time-span.ts";

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
export function clipToClockPeriods(
  lasting: Lasting,
  clockPeriods: readonly ClockPeriod[],
): PeriodPart[] {
  const parts: PeriodPart[] = [];
  visitParts(lasting, clockPeriods, EVER, (from, to, clockPeriod) =>
    parts.push({ clockPeriod, from, to }),
  );
  return parts;
}

const EVER: TimeSpan = { from: instant(-Infinity), to: instant(Infinity) };

/** The same within a window, without an object for each part: a site has many sessions. */
export function visitParts(
  { start, end, startPeriod, endPeriod }: Lasting,
  clockPeriods: readonly ClockPeriod[],
  window: TimeSpan,
  visit: (from: Instant, to: Instant, clockPeriod: number) => void,
): void {
  for (let index = startPeriod; index <= endPeriod; index += 1) {
    const period = clockPeriods[index];
    if (period === undefined) return;
    const isFirst = index === startPeriod && start !== null;
    const begin = isFirst ? latest(start, period.from) : period.from;
    const stop =
      index === endPeriod && end !== null ? earliest(end, period.to) : endOf(period, begin);
    const from = latest(begin, window.from);
    const to = earliest(stop, window.to);
    if (from < to) visit(from, to, index);
  }
}

const endOf = ({ to, wrongFrom }: ClockPeriod, from: Instant): Instant =>
  wrongFrom !== undefined && from <= wrongFrom ? wrongFrom : to;
