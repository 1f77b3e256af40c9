import { parseBackupSchedule } from "../../domain/backups/backup-schedule.ts";
import { backupTexts } from "./backups-texts.ts";

const { schedule: texts } = backupTexts;

/** The parts of a schedule, as the form edits them. */
export interface ScheduleParts {
  readonly frequency: string;
  /** Monday is 1. */
  readonly weekday: string;
  readonly time: string;
}

const DEFAULTS: ScheduleParts = { frequency: "off", weekday: "7", time: "02:30" };

/** Null and a text that cannot be read: off. */
export function splitSchedule(text: string | null): ScheduleParts {
  const parsed = parseBackupSchedule(text ?? "off");
  const schedule = parsed.ok ? parsed.value : null;
  if (schedule === null) return DEFAULTS;
  if (schedule.every === "hour") return { ...DEFAULTS, frequency: "hourly" };
  const { hour, minute } = schedule.at;
  const time = [hour, minute].map((number) => String(number).padStart(2, "0")).join(":");
  return schedule.every === "day"
    ? { ...DEFAULTS, frequency: "daily", time }
    : { frequency: "weekly", weekday: String(schedule.weekday), time };
}

/** The schedule as a setting is written; the server checks it. */
export function joinSchedule({ frequency, weekday, time }: ScheduleParts): string {
  if (frequency === "daily") return `daily ${time.trim()}`;
  const day = texts.weekdays[Number(weekday) - 1]?.slice(0, 3).toLowerCase() ?? "";
  return frequency === "weekly" ? `weekly ${day} ${time.trim()}` : frequency;
}

/** A schedule in words; null: off. */
export function describeSchedule(text: string | null): string {
  const { frequency, weekday, time } = splitSchedule(text);
  if (frequency === "off") return texts.off;
  if (frequency === "hourly") return texts.hourly;
  const day = texts.weekdays[Number(weekday) - 1] ?? "";
  return texts.inServerTime(frequency === "daily" ? texts.daily(time) : texts.weekly(day, time));
}
