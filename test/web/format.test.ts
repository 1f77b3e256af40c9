// Times in the reader's zone. The zone of a process cannot be changed reliably while it runs, so
// every zone has a process of its own.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { formatAgo, formatDuration } from "../../src/web/format.ts";

const FORMAT = join(import.meta.dir, "..", "..", "src", "web", "format.ts");

/** What expressions of format.ts return in a time zone, with British texts. */
function evaluateIn(zone: string, ...expressions: readonly string[]): string[] {
  const code = `
    const format = await import(${JSON.stringify(FORMAT)});
    console.log(JSON.stringify([${expressions.map((call) => `format.${call}`).join(",")}]));`;
  const env = { ...process.env, TZ: zone, LANG: "en_GB.UTF-8", LC_ALL: "en_GB.UTF-8" };
  const { stdout, stderr } = Bun.spawnSync([process.execPath, "-e", code], { env });
  if (stdout.length === 0) throw new Error(stderr.toString());
  return JSON.parse(stdout.toString()) as string[];
}

const MIDNIGHT = `"2028-01-01T00:00:00.000Z"`;
const AFTERNOON = `"2026-11-17T13:03:27.000Z"`;

test.each(["America/New_York", "UTC", "Pacific/Auckland"])(
  "an end at midnight UTC is written as the day before, a start as its own day, in %s",
  (zone) => {
    const [end, start] = evaluateIn(zone, `formatEnd(${MIDNIGHT})`, `formatDate(${MIDNIGHT})`);
    expect(end).toContain("2027");
    expect(end).toMatch(/\b31\b/);
    expect(start).toContain("2028");
    expect(start).toMatch(/\b1\b/);
  },
);

test("other times are written in the zone of the reader, and in UTC in every zone", () => {
  const calls = [`formatEnd(${AFTERNOON})`, `formatTimeOfDay(${AFTERNOON})`];
  const [west = "", clock = ""] = evaluateIn("America/New_York", ...calls);
  expect(west).toMatch(/0?8:03/);
  expect(clock).toMatch(/0?8:03:27/);
  const [utc] = evaluateIn("America/New_York", `formatUtc(${AFTERNOON})`);
  expect(utc).toBe("2026-11-17 13:03:27 UTC");
});

test("the zone is named with its offset, UTC by its name alone", () => {
  const call = `nameTimeZone(Date.parse(${AFTERNOON}))`;
  expect(evaluateIn("Europe/Berlin", call)).toEqual(["Europe/Berlin (GMT+1)"]);
  expect(evaluateIn("UTC", call)).toEqual(["UTC"]);
});

test("a short time leaves out the date of today, and the year of this year", () => {
  const now = `Date.parse(${AFTERNOON})`;
  const [today = "", sameYear = "", other = ""] = evaluateIn(
    "Europe/Berlin",
    `formatShort("2026-11-17T01:00:00.000Z", ${now})`,
    `formatShort("2026-03-02T01:00:00.000Z", ${now})`,
    `formatShort("2025-03-02T01:00:00.000Z", ${now})`,
  );
  expect(today).toMatch(/^0?2:00/);
  expect(sameYear).toMatch(/Mar/);
  expect(sameYear).not.toContain("2026");
  expect(other).toContain("2025");
});

describe("formatAgo", () => {
  const now = Date.parse("2026-11-17T13:00:00.000Z");
  const ago = (milliseconds: number): string =>
    formatAgo(new Date(now - milliseconds).toISOString(), now);

  test("counts minutes and hours of the last day", () => {
    expect([59_999, 60_000, 119_999, 120_000].map(ago)).toEqual([
      "just now",
      "1 min ago",
      "1 min ago",
      "2 min ago",
    ]);
    expect(ago(86_399_999)).toBe("23 h 59 min ago");
  });

  test("shows the time itself a day later, and for a time in the future", () => {
    expect(ago(86_400_000)).not.toContain("ago");
    expect(ago(-1)).not.toContain("ago");
  });
});

test("a duration has at most two units and no zero", () => {
  const [minute, hour] = [60_000, 3_600_000];
  expect(
    [59_999, 8 * hour + 31 * minute, 2 * hour, 50 * hour, 48 * hour].map(formatDuration),
  ).toEqual(["0 min", "8 h 31 min", "2 h", "2 d 2 h", "2 d"]);
});
