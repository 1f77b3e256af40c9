import { describe, test } from "bun:test";
import {
  justBefore,
  consume,
  consumptionTerms,
  given,
  hoursLater,
  licenseInstalled,
  MONDAY,
  utc,
} from "../../support/scenario.ts";

const added = { type: "ConsumptionAdded" } as const;
const notEnough = (left: number) => ({ code: "license_not_enough_consumptions", left }) as const;
const withTotal = (total: number, overrides: Parameters<typeof consumptionTerms>[0] = {}) => {
  const history = given(
    licenseInstalled(1, { consumption: consumptionTerms({ max: 10, ...overrides }) }),
  );
  return total === 0 ? history : history.at(MONDAY).execute(consume(total));
};

describe("very large totals", () => {
  const MAX = Number.MAX_SAFE_INTEGER;

  test("go up to the largest exact integer when there is no maximum", () => {
    withTotal(MAX - 5, { max: null })
      .at(MONDAY)
      .when(consume(5))
      .records({ ...added, total: MAX });
    withTotal(MAX - 5, { max: null })
      .at(MONDAY)
      .when(consume(6))
      .refuses(notEnough(5));
    withTotal(MAX, { max: null })
      .at(MONDAY)
      .when(consume(10 ** 12))
      .refuses(notEnough(0));
  });

  test("are limited to the largest exact integer when maximum and overage exceed it", () => {
    const greatestTerms = { max: MAX, overages: MAX };
    withTotal(MAX - 1, greatestTerms)
      .at(MONDAY)
      .when(consume(1))
      .records({ ...added, total: MAX });
    withTotal(MAX - 1, greatestTerms)
      .at(MONDAY)
      .when(consume(2))
      .refuses(notEnough(1));
  });

  test("are allowed without a maximum even when a call allows no overage", () => {
    withTotal(10, { max: null })
      .at(MONDAY)
      .when(consume(10 ** 12, { allowOverages: false, maxOverages: 0 }))
      .records({ ...added, total: 10 ** 12 + 10 });
  });
});

describe("a consumption period", () => {
  const midnight = utc("2026-03-03T00:00:00Z");
  const daily = withTotal(10, { period: "daily" });

  test("is recorded with its reset time in every event", () => {
    withTotal(0, { period: "daily" })
      .at(MONDAY)
      .when(consume(1))
      .records({ ...added, resetAt: midnight });
    withTotal(5, { period: "daily" })
      .at(hoursLater(2))
      .when(consume(1))
      .records({ ...added, resetAt: midnight });
  });

  test("starts at zero exactly at the boundary, and not a millisecond before", () => {
    daily.at(justBefore(midnight)).when(consume(1)).refuses(notEnough(0));
    const next = { total: 10, resetAt: utc("2026-03-04T00:00:00Z") };
    daily
      .at(midnight)
      .when(consume(10))
      .records({ ...added, ...next })
      .answers({ total: 10 });
    daily.at(midnight).when(consume(11)).refuses(notEnough(10));
    daily.at(midnight).when(consume(0)).answers({ total: 0 });
  });

  test("starts at zero once when several boundaries pass without a call", () => {
    daily
      .at("2026-03-09T12:00:00Z")
      .when(consume(4))
      .records({ ...added, total: 4, resetAt: utc("2026-03-10T00:00:00Z") });
  });

  test("resets the total at the start of each week, month and year", () => {
    const ends = {
      weekly: "2026-03-09T00:00:00Z",
      monthly: "2026-04-01T00:00:00Z",
      annually: "2027-01-01T00:00:00Z",
    };
    for (const period of ["weekly", "monthly", "annually"] as const) {
      const consumed = withTotal(10, { period });
      consumed
        .at(justBefore(utc(ends[period])))
        .when(consume(1))
        .refuses(notEnough(0));
      consumed
        .at(ends[period])
        .when(consume(1))
        .records({ ...added, total: 1 });
    }
  });

  test("keeps the total forever when there is no period", () => {
    withTotal(10).at("2030-01-01T00:00:00Z").when(consume(1)).refuses(notEnough(0));
  });
});
