import { describe, expect, test } from "bun:test";
import {
  findNextBackupTime,
  formatBackupSchedule,
  parseBackupSchedule,
  type BackupSchedule,
} from "../../../src/domain/backups/backup-schedule.ts";
import { instant } from "../../../src/domain/time.ts";

function parsed(text: string): BackupSchedule {
  const schedule = parseBackupSchedule(text);
  if (!schedule.ok) throw new Error(`${text} was refused`);
  return schedule.value;
}

describe("a backup schedule", () => {
  test.each([
    ["off", "off"],
    ["hourly", "hourly"],
    ["daily 02:30", "daily 02:30"],
    ["daily 2:05", "daily 02:05"],
    ["Weekly  Sunday 23:59", "weekly sun 23:59"],
    [" weekly mon 00:00 ", "weekly mon 00:00"],
  ])("%p is read as %s", (text, canonical) => {
    expect(formatBackupSchedule(parsed(text))).toBe(canonical);
  });

  test.each(
    ["", "never", "daily", "daily 24:00", "daily 2:60", "daily 2", "weekly 02:30", "hourly 02:30"]
      .concat(["weekly sun", "weekly su 02:30", "weekly 1 02:30", "daily sun 02:30"])
      .concat(["0 2 * * *", "daily 02:30 UTC", "daily\n02:30"]),
  )("%p is refused", (text) => {
    expect(parseBackupSchedule(text).ok).toBe(false);
  });
});

/** The times of a schedule after `from`, each found after the one before. */
function timesOf(text: string, timeZone: string, from: string, count: number): string[] {
  const schedule = parsed(text);
  if (schedule === null) throw new Error("off has no times");
  let at = instant(Date.parse(from));
  return Array.from({ length: count }, () => {
    at = findNextBackupTime(schedule, at, timeZone);
    return new Date(at).toISOString().slice(0, 16);
  });
}

describe("the next backup of a schedule", () => {
  test.each([
    // A time of day that the change to summer time skips is made up an hour later, once.
    [
      "daily 02:30",
      "Europe/Berlin",
      "2026-03-28T00:00Z",
      ["2026-03-28T01:30", "2026-03-29T01:30", "2026-03-30T00:30", "2026-03-31T00:30"],
    ],
    // A time of day that comes twice counts once.
    [
      "daily 02:30",
      "Europe/Berlin",
      "2026-10-24T00:00Z",
      ["2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"],
    ],
    // After the first 02:30 of that night, the second does not count.
    ["daily 02:30", "Europe/Berlin", "2026-10-25T00:30Z", ["2026-10-26T01:30"]],
    ["daily 02:30", "America/New_York", "2026-03-08T06:00Z", ["2026-03-08T07:30"]],
    [
      "daily 01:30",
      "America/New_York",
      "2026-11-01T05:00Z",
      ["2026-11-01T05:30", "2026-11-02T06:30"],
    ],
    // The clock of Santiago skips midnight; that of Havana has it twice.
    [
      "daily 00:00",
      "America/Santiago",
      "2026-09-05T12:00Z",
      ["2026-09-06T04:00", "2026-09-07T03:00"],
    ],
    [
      "daily 00:30",
      "America/Havana",
      "2026-10-31T12:00Z",
      ["2026-11-01T04:30", "2026-11-02T05:30"],
    ],
    // Lord Howe changes by half an hour.
    [
      "daily 02:15",
      "Australia/Lord_Howe",
      "2026-10-03T12:00Z",
      ["2026-10-03T15:45", "2026-10-04T15:15"],
    ],
    // Samoa had no 30 December 2011.
    [
      "daily 12:00",
      "Pacific/Apia",
      "2011-12-29T00:00Z",
      ["2011-12-29T22:00", "2011-12-30T22:00", "2011-12-31T22:00"],
    ],
    [
      "hourly",
      "Europe/Berlin",
      "2026-03-29T00:15Z",
      ["2026-03-29T01:00", "2026-03-29T02:00", "2026-03-29T03:00"],
    ],
    [
      "hourly",
      "Europe/Berlin",
      "2026-10-25T00:00Z",
      ["2026-10-25T01:00", "2026-10-25T02:00", "2026-10-25T03:00"],
    ],
    [
      "weekly sun 02:30",
      "Europe/Berlin",
      "2026-03-22T01:30Z",
      ["2026-03-29T01:30", "2026-04-05T00:30"],
    ],
    ["weekly wed 10:00", "UTC", "2026-11-17T05:00Z", ["2026-11-18T10:00", "2026-11-25T10:00"]],
    ["daily 02:30", "UTC", "2026-11-17T02:30Z", ["2026-11-18T02:30"]],
    ["daily 02:30", "UTC", "2026-11-17T02:29:59.999Z", ["2026-11-17T02:30"]],
  ])("%s in %s after %s", (text, timeZone, from, expected) => {
    expect(timesOf(text, timeZone, from, expected.length)).toEqual(expected);
  });

  test("is once per local date over ten years, in zones with many changes", () => {
    const zones = ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca"];
    for (const zone of zones) {
      for (const time of ["00:00", "01:30", "02:00", "02:30", "23:59"]) {
        let at = instant(Date.parse("2020-01-01T12:00Z"));
        const schedule = parsed(`daily ${time}`);
        if (schedule === null) throw new Error("off");
        let day = Temporal.PlainDate.from(localDate(findNextBackupTime(schedule, at, zone), zone));
        for (let count = 0; count < 3650; count += 1) {
          at = findNextBackupTime(schedule, at, zone);
          expect(`${zone} ${localDate(at, zone)}`).toBe(`${zone} ${day.toString()}`);
          day = day.add({ days: 1 });
        }
      }
    }
  });
});

const localDate = (at: number, timeZone: string): string =>
  Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(timeZone).toPlainDate().toString();
