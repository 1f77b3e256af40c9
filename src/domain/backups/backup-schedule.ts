import { err, ok, type Result } from "../result.ts";
import { HOUR, instant, latest, MINUTE, type Instant } from "../time.ts";

/** When backups are made; times of day are those of the server's time zone. Null: never. */
export type BackupSchedule =
  | { readonly every: "hour" }
  | { readonly every: "day"; readonly at: TimeOfDay }
  | { readonly every: "week"; readonly weekday: number; readonly at: TimeOfDay }
  | null;

interface TimeOfDay {
  readonly hour: number;
  readonly minute: number;
}

/** Monday is 1, as in ISO 8601. */
const WEEKDAYS = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
const WEEKDAY_NAMES = [
  "monday",
  "tuesday",
  "wednesday",
  "thursday",
  "friday",
  "saturday",
  "sunday",
];

const PATTERN = /^(?:(off|hourly)|(?:daily|weekly ([a-z]+)) ([01]?\d|2[0-3]):([0-5]\d))$/;

/** Reads `off`, `hourly`, `daily HH:MM` or `weekly DAY HH:MM`. */
export function parseBackupSchedule(text: string): Result<BackupSchedule, "invalid_schedule"> {
  const words = text.trim().toLowerCase().replaceAll(/ +/g, " ");
  const match = PATTERN.exec(words);
  if (match === null) return err("invalid_schedule");
  const [, word, day, hour, minute] = match;
  if (word === "off") return ok(null);
  if (word === "hourly") return ok({ every: "hour" });
  const at = { hour: Number(hour), minute: Number(minute) };
  if (day === undefined) return ok({ every: "day", at });
  const index = WEEKDAY_NAMES.findIndex((name, i) => name === day || WEEKDAYS[i] === day);
  return index < 0 ? err("invalid_schedule") : ok({ every: "week", weekday: index + 1, at });
}

/** The schedule as a setting is written. */
export function formatBackupSchedule(schedule: BackupSchedule): string {
  if (schedule === null) return "off";
  if (schedule.every === "hour") return "hourly";
  const { hour, minute } = schedule.at;
  const time = [hour, minute].map((number) => String(number).padStart(2, "0")).join(":");
  return schedule.every === "day"
    ? `daily ${time}`
    : `weekly ${WEEKDAYS[schedule.weekday - 1]} ${time}`;
}

/**
 * The first time of the schedule after `after`. Each day has its time of day exactly once: one that
 * a change to summer time skips is an hour later, and one that comes twice is the first.
 */
export function findNextBackupTime(
  schedule: NonNullable<BackupSchedule>,
  after: Instant,
  timeZone: string,
): Instant {
  // Not by the local clock: some zones change by half an hour.
  if (schedule.every === "hour") return instant((Math.floor(after / HOUR) + 1) * HOUR);
  const start = Temporal.Instant.fromEpochMilliseconds(after).toZonedDateTimeISO(timeZone);
  // From the day before: a skipped time of that day may be on this one.
  for (let date = start.toPlainDate().subtract({ days: 1 }); ; date = date.add({ days: 1 })) {
    if (schedule.every === "week" && date.dayOfWeek !== schedule.weekday) continue;
    const { epochMilliseconds } = date.toZonedDateTime({ timeZone, plainTime: schedule.at });
    if (epochMilliseconds > after) return instant(epochMilliseconds);
  }
}

/** Clocks are corrected by small steps: a backup that is newer than now by less is not wrong. */
const CLOCK_TOLERANCE = HOUR;

/**
 * Whether a backup was made at a time that is still to come: the system clock was wrong then, or is
 * wrong now.
 */
export const isFromFuture = (madeAt: Instant, now: Instant): boolean =>
  madeAt > now + CLOCK_TOLERANCE;

/**
 * When the next backup is due; in the past if it was missed. Missed ones are made up by one: it is
 * the newest backup from then on. A backup from the future would put off the next one for as long
 * as the clock was wrong, so it does not count.
 */
export function findDueTime(
  schedule: NonNullable<BackupSchedule>,
  backupTimes: readonly Instant[],
  since: Instant,
  now: Instant,
  timeZone: string,
): Instant {
  const newest = findNewestTime(backupTimes, now) ?? instant(Math.min(since, now));
  return findNextBackupTime(schedule, newest, timeZone);
}

/** The newest of the times that are not in the future; null: there is none. */
function findNewestTime(times: readonly Instant[], now: Instant): Instant | null {
  const past = times.filter((time) => !isFromFuture(time, now));
  return past.length === 0 ? null : past.reduce(latest);
}

const FIRST_RETRY = 5 * MINUTE;
const LAST_RETRY = 6 * HOUR;

/** How long to wait after this many failed attempts in a row. */
export const computeRetryDelay = (failures: number): number =>
  Math.min(LAST_RETRY, FIRST_RETRY * 2 ** (failures - 1));
