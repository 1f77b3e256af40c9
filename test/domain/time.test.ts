import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { DAY, instant, findNextPeriodStart, type Period } from "../../src/domain/time.ts";
import { utc } from "../support/scenario.ts";

type Row = readonly [at: string, next: string];

const ROWS: Readonly<Record<Period, readonly Row[]>> = {
  daily: [
    ["2026-03-02T00:00:00.000Z", "2026-03-03T00:00:00Z"],
    ["2026-03-02T00:00:00.001Z", "2026-03-03T00:00:00Z"],
    ["2026-03-02T23:59:59.999Z", "2026-03-03T00:00:00Z"],
    ["2028-02-28T12:00:00Z", "2028-02-29T00:00:00Z"],
    ["2027-02-28T12:00:00Z", "2027-03-01T00:00:00Z"],
    ["2026-12-31T12:00:00Z", "2027-01-01T00:00:00Z"],
    ["1969-12-31T12:00:00Z", "1970-01-01T00:00:00Z"],
  ],
  weekly: [
    ["2026-03-02T00:00:00.000Z", "2026-03-09T00:00:00Z"],
    ["2026-03-01T23:59:59.999Z", "2026-03-02T00:00:00Z"],
    ["2026-03-04T09:00:00Z", "2026-03-09T00:00:00Z"],
    ["2026-12-30T09:00:00Z", "2027-01-04T00:00:00Z"],
    ["2027-01-03T23:59:59.999Z", "2027-01-04T00:00:00Z"],
    ["2028-02-28T00:00:00Z", "2028-03-06T00:00:00Z"],
  ],
  monthly: [
    ["2026-01-31T23:59:59.999Z", "2026-02-01T00:00:00Z"],
    ["2026-02-01T00:00:00.000Z", "2026-03-01T00:00:00Z"],
    ["2026-01-29T12:00:00Z", "2026-02-01T00:00:00Z"],
    ["2026-02-28T23:59:59.999Z", "2026-03-01T00:00:00Z"],
    ["2028-02-28T23:59:59.999Z", "2028-03-01T00:00:00Z"],
    ["2028-02-29T23:59:59.999Z", "2028-03-01T00:00:00Z"],
    ["2026-04-30T12:00:00Z", "2026-05-01T00:00:00Z"],
    ["2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00Z"],
  ],
  annually: [
    ["2026-01-01T00:00:00.000Z", "2027-01-01T00:00:00Z"],
    ["2026-12-31T23:59:59.999Z", "2027-01-01T00:00:00Z"],
    ["2028-02-29T12:00:00Z", "2029-01-01T00:00:00Z"],
    ["2099-12-31T23:59:59.999Z", "2100-01-01T00:00:00Z"],
  ],
};

const PERIODS = Object.keys(ROWS) as Period[];

describe("findNextPeriodStart", () => {
  for (const period of PERIODS) {
    test.each([...ROWS[period]])(`${period}, at %s, gives %s`, (at, next) => {
      expect(findNextPeriodStart(period, utc(at))).toBe(utc(next));
    });
  }

  test("gives a later midnight that is the same for the whole period", () => {
    const range = { min: utc("1970-01-01T00:00:00Z"), max: utc("2200-01-01T00:00:00Z") };
    const period = fc.constantFrom(...PERIODS);
    fc.assert(
      fc.property(
        period,
        fc.integer(range),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (p, n, f) => {
          const at = instant(n);
          const next = findNextPeriodStart(p, at);
          expect(next).toBeGreaterThan(at);
          expect(next % DAY).toBe(0);
          const between = instant(at + Math.floor((next - 1 - at) * f));
          expect(findNextPeriodStart(p, between)).toBe(next);
        },
      ),
    );
  });
});
