import { HOUR, instant, type Instant } from "../../domain/time.ts";
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
  for (let start = first.epochMilliseconds; start < to; start += HOUR) {
    const { dayOfWeek, hour, year, month, day } = toZoned(instant(start), timeZone);
    hours.push({
      from: instant(start),
      to: instant(start + HOUR),
      day: `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}`,
      weekday: dayOfWeek - 1,
      hour,
    });
  }
  return hours;
}

const toZoned = (at: Instant, timeZone: string): Temporal.ZonedDateTime =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone);

const pad = (number: number, digits: number): string => String(number).padStart(digits, "0");
