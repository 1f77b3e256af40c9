import { describe, expect, test } from "bun:test";
import { DAY, HOUR } from "../../../src/domain/time.ts";
import { listLocalHours } from "../../../src/usage/report/local-hours.ts";
import { utc } from "../../support/scenario.ts";

const WEEKDAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/** The hours of a span of whole days in UTC, as `YYYY-MM-DD HH`. */
const listHours = (from: string, to: string, timeZone: string): string[] =>
  listLocalHours({ from: utc(`${from}T00:00:00Z`), to: utc(`${to}T00:00:00Z`) }, timeZone).map(
    ({ day, hour }) => `${day} ${String(hour).padStart(2, "0")}`,
  );

const hoursOfDay = (day: string, timeZone: string): number[] => {
  const noon = Date.parse(`${day}T12:00:00Z`);
  const [from, to] = [noon - 2 * DAY, noon + 2 * DAY].map((at) =>
    new Date(at).toISOString().slice(0, 10),
  ) as [string, string];
  return listHours(from, to, timeZone)
    .filter((hour) => hour.startsWith(day))
    .map((hour) => Number(hour.slice(-2)));
};

const HOURS = Array.from({ length: 24 }, (_, hour) => hour);

describe("the local hours of a report", () => {
  test.each([
    ["23, without the one that summer time skips", "2026-03-29", HOURS.toSpliced(2, 1)],
    [
      "25, with the one that comes twice when summer time ends",
      "2026-10-25",
      [0, 1, 2, ...HOURS.slice(2)],
    ],
    ["24 on the last day of a year", "2027-12-31", HOURS],
    ["24 on the first day of a year", "2028-01-01", HOURS],
    ["24 on a leap day", "2028-02-29", HOURS],
  ])("are %s, in Berlin on %s", (_, day, hours) => {
    expect(hoursOfDay(day, "Europe/Berlin")).toEqual(hours);
  });

  test("leave out a day that a zone skips", () => {
    const days = new Set(
      listHours("2011-12-29", "2012-01-02", "Pacific/Apia").map((hour) => hour.slice(0, 10)),
    );
    expect([...days]).toEqual([
      "2011-12-28",
      "2011-12-29",
      "2011-12-31",
      "2012-01-01",
      "2012-01-02",
    ]);
  });

  test.each([
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "America/St_Johns",
    "Asia/Kolkata",
    "Australia/Lord_Howe",
    "Pacific/Chatham",
    "Pacific/Apia",
  ])(
    "follow each other without gaps, and are those of the clocks of %s in two years",
    (timeZone) => {
      const [from, to] = [utc("2027-06-15T10:20:30Z"), utc("2029-06-15T00:00:00Z")];
      const hours = listLocalHours({ from, to }, timeZone);
      const clock = new Intl.DateTimeFormat("en-US", {
        timeZone,
        weekday: "short",
        year: "numeric",
        month: "2-digit",
        day: "2-digit",
        hour: "2-digit",
        hourCycle: "h23",
      });
      const differing = hours.filter(({ from: at, day, weekday, hour }, index) => {
        const part = Object.fromEntries(
          clock.formatToParts(at).map(({ type, value }) => [type, value]),
        );
        return (
          at !== (hours[0]?.from ?? 0) + index * HOUR ||
          day !== `${part["year"]}-${part["month"]}-${part["day"]}` ||
          WEEKDAYS[weekday] !== part["weekday"] ||
          hour !== Number(part["hour"])
        );
      });
      expect(differing).toEqual([]);
      expect(hours[0]?.from ?? Infinity).toBeLessThanOrEqual(from);
      expect(hours.at(-1)?.to ?? 0).toBeGreaterThanOrEqual(to);
    },
  );
});
