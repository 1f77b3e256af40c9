import { expect, test } from "bun:test";
import { monthsBetween, monthRangeQuery } from "../../../src/web/audit/months.ts";

test("monthsBetween lists every month between two times, newest first", () => {
  expect(monthsBetween("2025-11-30T23:59:59.999Z", "2026-02-01T00:00:00.000Z")).toEqual([
    "2026-02",
    "2026-01",
    "2025-12",
    "2025-11",
  ]);
  expect(monthsBetween("2026-02-01T00:00:00Z", "2026-02-01T00:00:00Z")).toEqual(["2026-02"]);
  expect(monthsBetween("2026-03-01T00:00:00Z", "2026-02-01T00:00:00Z")).toEqual([]);
});

test("monthRangeQuery covers the first to the last month, to the millisecond", () => {
  expect(monthRangeQuery("2025-12", "2025-12")).toEqual({
    since: "2025-12-01T00:00:00.000Z",
    until: "2025-12-31T23:59:59.999Z",
  });
  expect(monthRangeQuery("", "2024-02")).toEqual({ until: "2024-02-29T23:59:59.999Z" });
  expect(monthRangeQuery("2024-02", "")).toEqual({ since: "2024-02-01T00:00:00.000Z" });
  expect(monthRangeQuery("", "")).toEqual({});
});
