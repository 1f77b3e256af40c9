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
} from "../support/scenario.ts";

const added = { type: "ConsumptionAdded" } as const;
const short = (left: number) => ({ code: "license_not_enough_consumptions", left }) as const;
const at = (total: number, differing: Parameters<typeof consumptionTerms>[0] = {}) => {
  const history = given(
    licenseInstalled(1, { consumption: consumptionTerms({ max: 10, ...differing }) }),
  );
  return total === 0 ? history : history.at(MONDAY).execute(consume(total));
};

describe("great numbers", () => {
  const most = Number.MAX_SAFE_INTEGER;

  test("without a limit the total goes up to what can be counted exactly", () => {
    at(most - 5, { max: null })
      .at(MONDAY)
      .when(consume(5))
      .records({ ...added, total: most });
    at(most - 5, { max: null })
      .at(MONDAY)
      .when(consume(6))
      .refuses(short(5));
    at(most, { max: null })
      .at(MONDAY)
      .when(consume(10 ** 12))
      .refuses(short(0));
  });

  test("a limit and its overage beyond that are cut there", () => {
    const greatest = { max: most, overages: most };
    at(most - 1, greatest)
      .at(MONDAY)
      .when(consume(1))
      .records({ ...added, total: most });
    at(most - 1, greatest)
      .at(MONDAY)
      .when(consume(2))
      .refuses(short(1));
  });

  test("an unlimited license takes what no maximum would", () => {
    at(10, { max: null })
      .at(MONDAY)
      .when(consume(10 ** 12, { allowOverages: false, maxOverages: 0 }))
      .records({ ...added, total: 10 ** 12 + 10 });
  });
});

describe("a period", () => {
  const midnight = utc("2026-03-03T00:00:00Z");
  const daily = at(10, { period: "daily" });

  test("is named in the event, and kept through it", () => {
    at(0, { period: "daily" })
      .at(MONDAY)
      .when(consume(1))
      .records({ ...added, resetAt: midnight });
    at(5, { period: "daily" })
      .at(hoursLater(2))
      .when(consume(1))
      .records({ ...added, resetAt: midnight });
  });

  test("starts at zero at the boundary exactly, and not a millisecond before", () => {
    daily.at(justBefore(midnight)).when(consume(1)).refuses(short(0));
    const next = { total: 10, resetAt: utc("2026-03-04T00:00:00Z") };
    daily
      .at(midnight)
      .when(consume(10))
      .records({ ...added, ...next })
      .answers({ total: 10 });
    daily.at(midnight).when(consume(11)).refuses(short(10));
    daily.at(midnight).when(consume(0)).answers({ total: 0 });
  });

  test("over several boundaries, with nobody there, starts at zero once", () => {
    daily
      .at("2026-03-09T12:00:00Z")
      .when(consume(4))
      .records({ ...added, total: 4, resetAt: utc("2026-03-10T00:00:00Z") });
  });

  test("resets by week, month and year at their own boundaries", () => {
    const ends = {
      weekly: "2026-03-09T00:00:00Z",
      monthly: "2026-04-01T00:00:00Z",
      annually: "2027-01-01T00:00:00Z",
    };
    for (const period of ["weekly", "monthly", "annually"] as const) {
      const used = at(10, { period });
      used
        .at(justBefore(utc(ends[period])))
        .when(consume(1))
        .refuses(short(0));
      used
        .at(ends[period])
        .when(consume(1))
        .records({ ...added, total: 1 });
    }
  });

  test("without one the total stays for good", () => {
    at(10).at("2030-01-01T00:00:00Z").when(consume(1)).refuses(short(0));
  });
});
