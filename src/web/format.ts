/**
 * Numbers and times, written in the locale and the time zone of the reader's browser. A license is
 * valid for whole days in UTC: an end at midnight UTC is written as its last day, in every zone, as
 * the vendor gave it.
 */

const numberFormat = new Intl.NumberFormat();

const formatWith = (options: Intl.DateTimeFormatOptions): ((time: string) => string) => {
  const format = new Intl.DateTimeFormat(undefined, options);
  return (time) => format.format(new Date(time));
};

const CLOCK = { hour: "2-digit", minute: "2-digit" } as const;

/** The time of day: "14:03". */
export const formatTime = formatWith(CLOCK);
const formatDayAndTime = formatWith({ day: "numeric", month: "short", ...CLOCK });
const formatLocalDate = formatWith({ dateStyle: "medium" });
const formatUtcDate = formatWith({ dateStyle: "medium", timeZone: "UTC" });

export const formatNumber = (value: number): string => numberFormat.format(value);

/** A date and a time, with the year: "17 Nov 2026, 14:03". */
export const formatDateTime = formatWith({ dateStyle: "medium", timeStyle: "short" });

/** The time of day with seconds: "14:03:27". */
export const formatTimeOfDay = formatWith({ timeStyle: "medium" });

/** A date: "17 Nov 2026". */
export const formatDate = (time: string): string =>
  isUtcMidnight(time) ? formatUtcDate(time) : formatLocalDate(time);

/** When something ends: its last day if that is at midnight UTC, otherwise a date and a time. */
export const formatEnd = (time: string): string =>
  isUtcMidnight(time)
    ? formatUtcDate(new Date(Date.parse(time) - 1).toISOString())
    : formatDateTime(time);

/** For tables: today only the time, this year without the year. */
export function formatShort(time: string, now = Date.now()): string {
  const [date, today] = [new Date(time), new Date(now)];
  if (date.toDateString() === today.toDateString()) return formatTime(time);
  return date.getFullYear() === today.getFullYear() ? formatDayAndTime(time) : formatDateTime(time);
}

/** How long ago something was, if that is less than a day; otherwise as `formatShort`. */
export function formatAgo(time: string, now = Date.now()): string {
  const passed = now - Date.parse(time);
  if (passed < 0 || passed >= DAY) return formatShort(time, now);
  return passed < MINUTE ? "just now" : `${formatDuration(passed)} ago`;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time in at most two units, rounded down: "8 h 31 min". */
export function formatDuration(milliseconds: number): string {
  const [days, hours, minutes] = [
    Math.floor(milliseconds / DAY),
    Math.floor((milliseconds % DAY) / HOUR),
    Math.floor((milliseconds % HOUR) / MINUTE),
  ];
  if (days > 0) return joinUnits([formatNumber(days), "d"], [hours, "h"]);
  return hours > 0 ? joinUnits([hours, "h"], [minutes, "min"]) : `${minutes} min`;
}

const joinUnits = (
  [large, largeUnit]: readonly [number | string, string],
  [small, smallUnit]: readonly [number, string],
): string => `${large} ${largeUnit}${small === 0 ? "" : ` ${small} ${smallUnit}`}`;

/** The same text in every time zone: "2026-11-17 13:03:27 UTC". */
export const formatUtc = (time: string): string =>
  new Date(time)
    .toISOString()
    .replace("T", " ")
    .replace(/\.\d{3}Z$/, " UTC");

/** The reader's time zone with its present offset: "Europe/Berlin (GMT+1)". */
export function nameTimeZone(now = Date.now()): string {
  const format = new Intl.DateTimeFormat("en", { timeZoneName: "shortOffset" });
  const offset = format.formatToParts(now).find(({ type }) => type === "timeZoneName")?.value ?? "";
  const { timeZone } = format.resolvedOptions();
  return timeZone === "UTC" || offset === "" ? "UTC" : `${timeZone} (${offset})`;
}

const isUtcMidnight = (time: string): boolean => Date.parse(time) % DAY === 0;

const UNITS = ["B", "kB", "MB", "GB", "TB"];

export function formatBytes(count: number): string {
  const power = count < 1 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log10(count) / 3));
  const value = count / 1_000 ** power;
  return `${value.toFixed(power === 0 || value >= 100 ? 0 : 1)} ${UNITS[power]}`;
}

/** One decimal: means of slots are small numbers. */
export const formatMean = (mean: number): string => formatNumber(Math.round(mean * 10) / 10);

/** A waiting time, in seconds below a minute. */
export const formatWait = (seconds: number): string =>
  seconds < 60 ? `${seconds} s` : formatDuration(seconds * 1_000);
