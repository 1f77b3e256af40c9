import { describe, expect, test } from "bun:test";
import { parseEndTime, parseStartTime } from "../../../src/license/terms/term-times.ts";

describe("a day as start and end", () => {
  test.each([
    ["2027-12-31", "2027-12-31T00:00:00.000Z", "2028-01-01T00:00:00.000Z"],
    ["2028-02-28", "2028-02-28T00:00:00.000Z", "2028-02-29T00:00:00.000Z"],
    ["2028-02-29", "2028-02-29T00:00:00.000Z", "2028-03-01T00:00:00.000Z"],
    ["2100-02-28", "2100-02-28T00:00:00.000Z", "2100-03-01T00:00:00.000Z"],
    ["9999-12-30", "9999-12-30T00:00:00.000Z", "9999-12-31T00:00:00.000Z"],
  ])("%s begins at its midnight and ends at the next one", (day, start, end) => {
    expect([parseStartTime(day), parseEndTime(day)]).toEqual([start, end]);
  });

  test("9999-12-31 is valid as a start and not as an end", () => {
    expect([parseStartTime("9999-12-31"), parseEndTime("9999-12-31")]).toEqual([
      "9999-12-31T00:00:00.000Z",
      null,
    ]);
  });
});

describe("an RFC 3339 time as start and end", () => {
  test.each([
    ["2027-12-31T18:00:00Z", "2027-12-31T18:00:00.000Z"],
    ["2027-12-31T00:00:00Z", "2027-12-31T00:00:00.000Z"],
    ["2027-12-31t18:00:00z", "2027-12-31T18:00:00.000Z"],
    ["2027-12-31 18:00:00.5Z", "2027-12-31T18:00:00.500Z"],
    ["2027-12-31T18:00:00.123456Z", "2027-12-31T18:00:00.123Z"],
    ["2027-12-31T23:30:00-01:00", "2028-01-01T00:30:00.000Z"],
  ])("%s is used unchanged", (text, time) => {
    expect([parseStartTime(text), parseEndTime(text)]).toEqual([time, time]);
  });
});

test.each([
  "",
  "soon",
  "2027",
  "2027-12",
  "2027-02-29",
  "2027-02-30T00:00:00Z",
  "2027-04-31",
  "2027-13-01",
  "2027-00-01",
  "2027-01-00",
  "31.12.2027",
  "12/31/2027",
  "+012027-01-01",
  "2027-12-31T24:00:00Z",
  "2027-12-31T23:60:00Z",
  "2016-12-31T23:59:60Z",
  "2027-12-31T18:00Z",
  "2027-12-31T18:00:00",
  "2027-12-31T18:00:00+25:00",
  " 2027-12-31",
  "2027-12-31\n",
])("parseStartTime and parseEndTime refuse %j", (text) => {
  expect([parseStartTime(text), parseEndTime(text)]).toEqual([null, null]);
});
