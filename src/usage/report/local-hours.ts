import { DAY, HOUR, instant, type Instant } from "../../domain/time.ts";
import type { TimeSpan } from "../time-span.ts";

/** One hour on the wall clock of a time zone. */
export interface LocalHour {
  readonly from: Instant;
  readonly to: Instant;
  /** YYYY-MM-DD. */
  readonly day: string;
  /** 0: Monday. */
  readonly weekday: number;
  readonly hour: number;
}

export function isTimeZone(name: string): boolean {
  try {
    toZoned(instant(0), name);
    return true;
  } catch {
    return false;
  }
}

/** The hours that a span touches, in order and without gaps. */
export function listLocalHours({ from, to }: TimeSpan, timeZone: string): LocalHour[] {
  const hours: LocalHour[] = [];
  const first = toZoned(from, timeZone).round({ smallestUnit: "hour", roundingMode: "floor" });
  for (let start = first.epochMilliseconds; start < to; start += DAY) {
    const offset = offsetAt(start, timeZone);
    // On most days the clocks of the zone do not change.
    const isConstant = offset === offsetAt(start + DAY, timeZone);
    for (let at = start; at < start + DAY && at < to; at += HOUR) {
      const local = at + (isConstant ? offset : offsetAt(at, timeZone));
      hours.push({
        from: instant(at),
        to: instant(at + HOUR),
        day: dayOf(local, hours.at(-1)),
        weekday: (Math.floor(local / DAY) + 3) % 7,
        hour: Math.floor(local / HOUR) % 24,
      });
    }
  }
  return hours;
}

const offsetAt = (at: number, timeZone: string): number =>
  toZoned(instant(at), timeZone).offsetNanoseconds / 1e6;

/** As the hour before, unless a new day begins. */
const dayOf = (local: number, before: LocalHour | undefined): string =>
  before !== undefined && local % DAY >= HOUR && before.hour < Math.floor(local / HOUR) % 24
    ? before.day
    : Temporal.Instant.fromEpochMilliseconds(local).toString().slice(0, 10);

const toZoned = (at: Instant, timeZone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone);
