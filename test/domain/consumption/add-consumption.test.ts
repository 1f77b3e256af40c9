import { describe, test } from "bun:test";
import {
  consume,
  consumptionTerms,
  given,
  hoursLater,
  install,
  licenseInstalled,
  MONDAY,
  slotTaken,
} from "../../support/scenario.ts";

const added = { type: "ConsumptionAdded" } as const;
const notEnough = (left: number) => ({ code: "license_not_enough_consumptions", left }) as const;
const withTotal = (total: number, overrides: Parameters<typeof consumptionTerms>[0] = {}) => {
  const history = given(
    licenseInstalled(1, { consumption: consumptionTerms({ max: 10, ...overrides }) }),
  );
  return total === 0 ? history : history.at(MONDAY).execute(consume(total));
};

describe("consume", () => {
  test("adds to the total and answers with the new total", () => {
    withTotal(3)
      .at(hoursLater(1))
      .when(consume(4, { user: "ada" }))
      .records({
        ...added,
        at: hoursLater(1),
        license: 1,
        user: "ada",
        peer: "10.0.0.7",
        count: 4,
        total: 7,
        resetAt: null,
      })
      .answers({ license: 1, total: 7 });
  });

  test("counts up to the maximum, and refuses one more", () => {
    withTotal(3)
      .at(MONDAY)
      .when(consume(7))
      .records({ ...added, total: 10 });
    withTotal(3).at(MONDAY).when(consume(8)).refuses(notEnough(7));
    withTotal(10).at(MONDAY).when(consume(1)).refuses(notEnough(0));
  });

  test("writes nothing for zero and answers the total, also above the maximum", () => {
    withTotal(3).at(MONDAY).when(consume(0)).records().answers({ license: 1, total: 3 });
    const aboveMax = withTotal(10)
      .at(MONDAY)
      .execute(install(1, { consumption: consumptionTerms({ max: 5 }) }));
    aboveMax.at(MONDAY).when(consume(0)).records().answers({ total: 10 });
  });

  test("refuses a call without a product where several are installed", () => {
    const twoProducts = [
      licenseInstalled(1, { consumption: consumptionTerms() }),
      licenseInstalled(2, { product: "cam" }),
    ];
    given(...twoProducts)
      .at(MONDAY)
      .when(consume(1, { product: null }))
      .refuses({ code: "missing_parameters", fields: ["product"] });
  });

  test("refuses a license without consumption, and one that has expired", () => {
    given(licenseInstalled(1))
      .at(MONDAY)
      .when(consume(1))
      .refuses({ code: "license_not_consumption" });
    given(licenseInstalled(1, { consumption: consumptionTerms(), validUntil: hoursLater(1) }))
      .at(hoursLater(1))
      .when(consume(1))
      .refuses({ code: "license_expired", what: "license", end: hoursLater(1) });
  });
});

describe("consume with overage", () => {
  const withOverage = { overages: 5 };

  test("counts past the maximum up to the overage of the license", () => {
    withTotal(10, withOverage)
      .at(MONDAY)
      .when(consume(5))
      .records({ ...added, total: 15 });
    withTotal(10, withOverage).at(MONDAY).when(consume(6)).refuses(notEnough(5));
  });

  test("counts up to the maximum only when the call does not allow overage", () => {
    withTotal(8, withOverage)
      .at(MONDAY)
      .when(consume(2, { allowOverages: false }))
      .records(added);
    withTotal(8, withOverage)
      .at(MONDAY)
      .when(consume(3, { allowOverages: false }))
      .refuses(notEnough(2));
  });

  test("limits the overage to what the call allows", () => {
    withTotal(10, withOverage)
      .at(MONDAY)
      .when(consume(2, { maxOverages: 2 }))
      .records(added);
    withTotal(10, withOverage)
      .at(MONDAY)
      .when(consume(3, { maxOverages: 2 }))
      .refuses(notEnough(2));
    withTotal(10, withOverage)
      .at(MONDAY)
      .when(consume(1, { maxOverages: 0 }))
      .refuses(notEnough(0));
  });

  test("never exceeds the overage of the license, whatever the call allows", () => {
    const greedy = { allowOverages: true, maxOverages: 1_000 };
    withTotal(10, withOverage).at(MONDAY).when(consume(5, greedy)).records(added);
    withTotal(10, withOverage).at(MONDAY).when(consume(6, greedy)).refuses(notEnough(5));
    withTotal(10).at(MONDAY).when(consume(1, greedy)).refuses(notEnough(0));
  });
});

describe("consume with a negative count", () => {
  const negative = { negative: true };

  test("lowers the total to zero and no lower where the license allows it", () => {
    withTotal(3, negative)
      .at(MONDAY)
      .when(consume(-3))
      .records({ ...added, count: -3, total: 0 });
    withTotal(3, negative)
      .at(MONDAY)
      .when(consume(-4))
      .refuses({ code: "negative_not_allowed", total: 3, allowed: true });
  });

  test("is refused where the license does not allow it", () => {
    withTotal(3)
      .at(MONDAY)
      .when(consume(-1))
      .refuses({ code: "negative_not_allowed", total: 3, allowed: false });
  });

  test("lowers a total above a reduced maximum, where adding is refused", () => {
    const aboveMax = withTotal(10, negative)
      .at(MONDAY)
      .execute(install(1, { consumption: consumptionTerms({ max: 5, negative: true }) }));
    aboveMax.at(MONDAY).when(consume(1)).refuses(notEnough(0));
    aboveMax
      .at(MONDAY)
      .when(consume(-2))
      .records({ ...added, total: 8 });
  });

  test("is refused beyond what the current period counted", () => {
    withTotal(3, { negative: true, period: "daily" })
      .at("2026-03-03T00:00:00Z")
      .when(consume(-1))
      .refuses({ code: "negative_not_allowed", total: 0, allowed: true });
  });
});

describe("consume with several licenses", () => {
  const twoLicenses = given(
    licenseInstalled(1, { consumption: consumptionTerms({ max: 10 }) }),
    licenseInstalled(2, { consumption: consumptionTerms({ max: 4 }) }),
  );

  test("counts on the most recently added license that can take all of it", () => {
    twoLicenses
      .at(MONDAY)
      .when(consume(4))
      .records({ ...added, license: 2 });
    twoLicenses
      .at(MONDAY)
      .when(consume(5))
      .records({ ...added, license: 1, total: 5 });
  });

  test("refuses what no single license can take, and names the most that one can", () => {
    twoLicenses.at(MONDAY).when(consume(14)).refuses(notEnough(10));
    const consumed = twoLicenses.at(MONDAY).execute(consume(8));
    consumed.at(MONDAY).when(consume(5)).refuses(notEnough(4));
  });

  test("counts on the named license, or refuses", () => {
    twoLicenses
      .at(MONDAY)
      .when(consume(1, { licenseId: 1 }))
      .records({ ...added, license: 1 });
    twoLicenses
      .at(MONDAY)
      .when(consume(5, { licenseId: 2 }))
      .refuses(notEnough(4));
  });

  test("counts on the license the user holds, or refuses, while the slot is held", () => {
    const registered = given(...twoLicenses.events, slotTaken("ada"));
    registered
      .at(MONDAY)
      .when(consume(1, { user: "ada" }))
      .records({ ...added, license: 1 });
    registered
      .at(MONDAY)
      .when(consume(11, { user: "ada" }))
      .refuses(notEnough(10));
    registered
      .at(MONDAY)
      .when(consume(1, { user: "bob" }))
      .records({ ...added, license: 2 });
    registered
      .at(hoursLater(1))
      .when(consume(1, { user: "ada" }))
      .records({ ...added, license: 2 });
    const registeredOnNewer = given(...twoLicenses.events, slotTaken("ada", { license: 2 }));
    registeredOnNewer
      .at(MONDAY)
      .when(consume(5, { user: "ada" }))
      .refuses(notEnough(4));
  });

  test("skips licenses that do not count or are not valid", () => {
    given(
      ...twoLicenses.events,
      licenseInstalled(3),
      licenseInstalled(4, { consumption: consumptionTerms(), enabled: false }),
    )
      .at(MONDAY)
      .when(consume(1))
      .records({ ...added, license: 2 });
  });

  test("applies a negative count to a license that allows it, not to a newer one that does not", () => {
    given(licenseInstalled(1, { consumption: consumptionTerms({ negative: true }) }))
      .at(MONDAY)
      .execute(consume(3), install(2, { consumption: consumptionTerms() }))
      .at(MONDAY)
      .when(consume(-1))
      .records({ ...added, license: 1, total: 2 });
  });
});
