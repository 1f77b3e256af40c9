import { describe, expect, test } from "bun:test";
import {
  boundsOf,
  boundsOfDay,
  dayOf,
  daysOf,
  isDay,
  readAddress,
  reportLink,
  type ReportAddress,
} from "../../../src/web/usage/address.ts";

const ALL: ReportAddress = { product: null, feature: null, period: "month", day: null };

/** As the router reads an address. */
const paramsOf = (link: string): string[] =>
  link.slice("#/reports".length).split("/").slice(1).map(decodeURIComponent);

describe("the address of a report", () => {
  test.each<[string, ReportAddress]>([
    ["#/reports", ALL],
    ["#/reports/CAD", { ...ALL, product: "CAD" }],
    ["#/reports/CAE/MESH", { ...ALL, product: "CAE", feature: "MESH" }],
    ["#/reports/CAD/range=week", { ...ALL, product: "CAD", period: "week" }],
    [
      "#/reports/from=2026-10-01/to=2026-10-31/day=2026-10-06",
      { ...ALL, period: { from: "2026-10-01", to: "2026-10-31" }, day: "2026-10-06" },
    ],
  ])("%s is written and read", (link, address) => {
    expect(reportLink(address)).toBe(link);
    expect(readAddress(paramsOf(link))).toEqual(address);
  });

  test.each(["<img src=x onerror=alert(1)>", "a/b", "x=y", "%"])(
    "keeps the product %s as it is",
    (product) => {
      const address = { ...ALL, product };
      expect(readAddress(paramsOf(reportLink(address)))).toEqual(address);
    },
  );

  test.each([
    "range=decade",
    "from=2026-10-01",
    "from=2026-10-31/to=2026-10-01",
    "from=2026-02-30/to=2026-03-01",
    "day=tuesday",
  ])("ignores %s, which is not valid", (params) => {
    expect(readAddress(params.split("/"))).toEqual(ALL);
  });
});

describe("the times of a period", () => {
  test("a range ends now", () => {
    const now = Date.parse("2026-11-17T12:00:00Z");
    expect(boundsOf("week", now)).toEqual({
      from: "2026-11-10T12:00:00.000Z",
      to: "2026-11-17T12:00:00.000Z",
    });
  });

  test("days are whole days of the reader's time zone", () => {
    const { from, to } = boundsOf({ from: "2026-10-01", to: "2026-10-02" }, 0);
    expect(from).toBe(new Date(2026, 9, 1).toISOString());
    expect(to).toBe(new Date(2026, 9, 3).toISOString());
    expect(boundsOfDay("2026-10-01")).toEqual({ from, to: new Date(2026, 9, 2).toISOString() });
  });

  test("every day of a period is listed once, the first and the last too", () => {
    const from = new Date(2026, 2, 27, 15).toISOString();
    const to = new Date(2026, 2, 30, 9).toISOString();
    expect(daysOf({ from, to })).toEqual(["2026-03-27", "2026-03-28", "2026-03-29", "2026-03-30"]);
    expect(daysOf(boundsOfDay("2026-03-29"))).toEqual(["2026-03-29"]);
  });

  test("a text is a day only if the calendar has it", () => {
    expect(["2026-02-28", "2026-02-29", "2026-2-1", ""].map(isDay)).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(dayOf(new Date(2026, 0, 5, 23, 59).getTime())).toBe("2026-01-05");
  });
});
