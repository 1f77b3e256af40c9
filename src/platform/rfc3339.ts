import { DAY, HOUR, MINUTE, SECOND, type Instant } from "../domain/time.ts";

/** Dates of the last few days that were shown, by day since 1970: every reply shows some. */
const dates = new Map<number, string>();
const MAX_DATES = 256;

const TWO_DIGITS = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, "0"));
const THREE_DIGITS = Array.from({ length: 1_000 }, (_, number) => String(number).padStart(3, "0"));

/** UTC with milliseconds and `Z`: how every instant is shown. */
export function rfc3339(at: Instant): string {
  // The times of files have fractions of a millisecond.
  const milliseconds = Math.trunc(at);
  const day = Math.floor(milliseconds / DAY);
  const time = milliseconds - day * DAY;
  const hours = TWO_DIGITS[Math.floor(time / HOUR)];
  const minutes = TWO_DIGITS[Math.floor((time % HOUR) / MINUTE)];
  const seconds = TWO_DIGITS[Math.floor((time % MINUTE) / SECOND)];
  return `${dateOf(day)}T${hours}:${minutes}:${seconds}.${THREE_DIGITS[time % SECOND]}Z`;
}

/** The day in UTC, as YYYY-MM-DD. */
export const formatDay = (at: Instant): string => dateOf(Math.floor(at / DAY));

function dateOf(day: number): string {
  const known = dates.get(day);
  if (known !== undefined) return known;
  const [date = ""] = new Date(day * DAY).toISOString().split("T");
  if (dates.size >= MAX_DATES) dates.clear();
  dates.set(day, date);
  return date;
}
