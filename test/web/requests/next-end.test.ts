import { expect, test } from "bun:test";
import { nextEndOf } from "../../../src/web/requests/next-end.ts";

const NOW = Date.parse("2026-11-17T09:00:00Z");

test.each([
  ["is empty without an expiry", null, ""],
  ["is a year after the last day of a license", "2028-01-01T00:00:00.000Z", "2028-12-31"],
  ["is on the day of an end that is no midnight", "2027-06-15T12:00:00.000Z", "2028-06-15"],
  ["is a year after an end in the last days", "2026-11-10T00:00:00.000Z", "2027-11-09"],
  ["is never over for a license that ended years ago", "2021-03-01T00:00:00.000Z", "2027-02-28"],
])("the end that a renewal asks for %s", (_case, end, expected) => {
  expect(nextEndOf(end, NOW)).toBe(expected);
});
