import { expect, test } from "bun:test";
import { describeMissing } from "../../../src/cli/report/figures.ts";

/** Lines that are missing between two times. */
const between = (from: string, to: string) => ({ from, to, first_line: 1, last_line: 1 });

const describeIn = (time_zone: string, missing: readonly ReturnType<typeof between>[]) =>
  describeMissing({ time_zone, missing: [...missing] });

test("a report over a complete audit log names no missing days", () => {
  expect(describeIn("UTC", [])).toBeNull();
});

test("a report names the days of missing lines in its time zone, each period once", () => {
  const missing = [
    between("2026-03-02T23:30:00Z", "2026-03-02T23:40:00Z"),
    between("2026-03-04T10:00:00Z", "2026-03-06T10:00:00Z"),
    between("2026-03-06T12:00:00Z", "2026-03-07T10:00:00Z"),
  ];
  expect(describeIn("Europe/Berlin", missing)).toBe(
    "the audit log lacks lines of 2026-03-03, 2026-03-04 to 2026-03-07: the figures of these days are too low",
  );
});

test("a report names ten periods of missing lines at most", () => {
  const missing = Array.from({ length: 12 }, (_, index) => {
    const day = `2026-03-${String(2 * index + 1).padStart(2, "0")}T10:00:00Z`;
    return between(day, day);
  });
  expect(describeIn("UTC", missing)).toContain("2026-03-19, 2 more periods: ");
});
