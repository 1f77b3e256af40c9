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
} from "../support/scenario.ts";

const added = { type: "ConsumptionAdded" } as const;
const short = (left: number) => ({ code: "license_not_enough_consumptions", left }) as const;
const at = (total: number, differing: Parameters<typeof consumptionTerms>[0] = {}) => {
  const history = given(
    licenseInstalled(1, { consumption: consumptionTerms({ max: 10, ...differing }) }),
  );
  return total === 0 ? history : history.at(MONDAY).execute(consume(total));
};

describe("counting", () => {
  test("adds to the total and answers with it", () => {
    at(3)
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

  test("reaches the maximum and goes not one past it", () => {
    at(3)
      .at(MONDAY)
      .when(consume(7))
      .records({ ...added, total: 10 });
    at(3).at(MONDAY).when(consume(8)).refuses(short(7));
    at(10).at(MONDAY).when(consume(1)).refuses(short(0));
  });

  test("of zero writes nothing and answers the total, above the limit too", () => {
    at(3).at(MONDAY).when(consume(0)).records().answers({ license: 1, total: 3 });
    const over = at(10)
      .at(MONDAY)
      .execute(install(1, { consumption: consumptionTerms({ max: 5 }) }));
    over.at(MONDAY).when(consume(0)).records().answers({ total: 10 });
  });

  test("needs the product where several are installed", () => {
    const both = [
      licenseInstalled(1, { consumption: consumptionTerms() }),
      licenseInstalled(2, { product: "cam" }),
    ];
    given(...both)
      .at(MONDAY)
      .when(consume(1, { product: null }))
      .refuses({ code: "missing_parameters", fields: ["product"] });
  });

  test("is not for a license that does not count, nor for one that has ended", () => {
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

describe("overage", () => {
  const over = { overages: 5 };

  test("goes as far past the maximum as the license lets it", () => {
    at(10, over)
      .at(MONDAY)
      .when(consume(5))
      .records({ ...added, total: 15 });
    at(10, over).at(MONDAY).when(consume(6)).refuses(short(5));
  });

  test("is off for a call that asks for none", () => {
    at(8, over)
      .at(MONDAY)
      .when(consume(2, { allowOverages: false }))
      .records(added);
    at(8, over)
      .at(MONDAY)
      .when(consume(3, { allowOverages: false }))
      .refuses(short(2));
  });

  test("is as small as a call asks for", () => {
    at(10, over)
      .at(MONDAY)
      .when(consume(2, { maxOverages: 2 }))
      .records(added);
    at(10, over)
      .at(MONDAY)
      .when(consume(3, { maxOverages: 2 }))
      .refuses(short(2));
    at(10, over)
      .at(MONDAY)
      .when(consume(1, { maxOverages: 0 }))
      .refuses(short(0));
  });

  test("never grows by what a call asks for", () => {
    const greedy = { allowOverages: true, maxOverages: 1_000 };
    at(10, over).at(MONDAY).when(consume(5, greedy)).records(added);
    at(10, over).at(MONDAY).when(consume(6, greedy)).refuses(short(5));
    at(10).at(MONDAY).when(consume(1, greedy)).refuses(short(0));
  });
});

describe("taking back", () => {
  const negative = { negative: true };

  test("lowers the total where the license allows it, to zero and no lower", () => {
    at(3, negative)
      .at(MONDAY)
      .when(consume(-3))
      .records({ ...added, count: -3, total: 0 });
    at(3, negative)
      .at(MONDAY)
      .when(consume(-4))
      .refuses({ code: "negative_not_allowed", total: 3, allowed: true });
  });

  test("is refused where it does not", () => {
    at(3)
      .at(MONDAY)
      .when(consume(-1))
      .refuses({ code: "negative_not_allowed", total: 3, allowed: false });
  });

  test("works above a lowered maximum, where adding does not", () => {
    const over = at(10, negative)
      .at(MONDAY)
      .execute(install(1, { consumption: consumptionTerms({ max: 5, negative: true }) }));
    over.at(MONDAY).when(consume(1)).refuses(short(0));
    over
      .at(MONDAY)
      .when(consume(-2))
      .records({ ...added, total: 8 });
  });

  test("reaches back into no period but the present one", () => {
    at(3, { negative: true, period: "daily" })
      .at("2026-03-03T00:00:00Z")
      .when(consume(-1))
      .refuses({ code: "negative_not_allowed", total: 0, allowed: true });
  });
});

describe("of several licenses", () => {
  const two = given(
    licenseInstalled(1, { consumption: consumptionTerms({ max: 10 }) }),
    licenseInstalled(2, { consumption: consumptionTerms({ max: 4 }) }),
  );

  test("the most recently added counts, while it can take all of it", () => {
    two
      .at(MONDAY)
      .when(consume(4))
      .records({ ...added, license: 2 });
    two
      .at(MONDAY)
      .when(consume(5))
      .records({ ...added, license: 1, total: 5 });
  });

  test("none takes a part: what no single one can take is refused with the most that would fit", () => {
    two.at(MONDAY).when(consume(14)).refuses(short(10));
    const used = two.at(MONDAY).execute(consume(8));
    used.at(MONDAY).when(consume(5)).refuses(short(4));
  });

  test("the one named counts, or refuses", () => {
    two
      .at(MONDAY)
      .when(consume(1, { licenseId: 1 }))
      .records({ ...added, license: 1 });
    two
      .at(MONDAY)
      .when(consume(5, { licenseId: 2 }))
      .refuses(short(4));
  });

  test("the one the user holds counts, or refuses, while it is held", () => {
    const held = given(...two.events, slotTaken("ada"));
    held
      .at(MONDAY)
      .when(consume(1, { user: "ada" }))
      .records({ ...added, license: 1 });
    held
      .at(MONDAY)
      .when(consume(11, { user: "ada" }))
      .refuses(short(10));
    held
      .at(MONDAY)
      .when(consume(1, { user: "bob" }))
      .records({ ...added, license: 2 });
    held
      .at(hoursLater(1))
      .when(consume(1, { user: "ada" }))
      .records({ ...added, license: 2 });
    const newer = given(...two.events, slotTaken("ada", { license: 2 }));
    newer
      .at(MONDAY)
      .when(consume(5, { user: "ada" }))
      .refuses(short(4));
  });

  test("one that does not count or is not valid is passed over", () => {
    given(
      ...two.events,
      licenseInstalled(3),
      licenseInstalled(4, { consumption: consumptionTerms(), enabled: false }),
    )
      .at(MONDAY)
      .when(consume(1))
      .records({ ...added, license: 2 });
  });

  test("one that allows taking back does it for one that does not", () => {
    given(licenseInstalled(1, { consumption: consumptionTerms({ negative: true }) }))
      .at(MONDAY)
      .execute(consume(3), install(2, { consumption: consumptionTerms() }))
      .at(MONDAY)
      .when(consume(-1))
      .records({ ...added, license: 1, total: 2 });
  });
});
