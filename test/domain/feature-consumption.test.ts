import { describe, test } from "bun:test";
import {
  before,
  consumeFeature,
  counting,
  feature,
  given,
  hours,
  installed,
  MONDAY,
  taken,
  utc,
} from "../support/scenario.ts";

const mesh = feature("mesh", { floating: { slots: 1, timeoutMinutes: 10 } });

const short = (left: number) => ({ code: "feature_not_enough_consumptions", left }) as const;

describe("counting a feature", () => {
  const prints = feature("prints", { consumption: counting({ max: 10, overages: 2 }) });
  const history = given(installed(1, { features: [prints, mesh, feature("help")] }));
  const added = { type: "FeatureConsumptionAdded", feature: "prints" } as const;

  test("adds to the feature's own total, overage included, and no further", () => {
    const used = history.at(MONDAY).did(consumeFeature("prints", 4, { user: "ada" }));
    used
      .at(hours(1))
      .when(consumeFeature("prints", 8, { user: "ada" }))
      .records({ ...added, at: hours(1), license: 1, user: "ada", count: 8, total: 12 })
      .answers({ license: 1, feature: "prints", total: 12 });
    used.at(MONDAY).when(consumeFeature("prints", 9)).refuses(short(8));
    used
      .at(MONDAY)
      .when(consumeFeature("prints", 7, { allowOverages: false }))
      .refuses(short(6));
  });

  test("of zero writes nothing; below zero where not allowed is refused", () => {
    history.at(MONDAY).when(consumeFeature("prints", 0)).records().answers({ total: 0 });
    history
      .at(MONDAY)
      .when(consumeFeature("prints", -1))
      .refuses({ code: "negative_not_allowed", total: 0, allowed: false });
  });

  test("is for features that count", () => {
    const unsupported = { code: "unsupported_product_feature" } as const;
    history.at(MONDAY).when(consumeFeature("mesh", 1)).refuses(unsupported);
    history.at(MONDAY).when(consumeFeature("help", 1)).refuses(unsupported);
    const unknown = { code: "invalid_license_feature_code" } as const;
    history.at(MONDAY).when(consumeFeature("valueOf", 1)).refuses(unknown);
    const fault = { code: "missing_parameters", fields: ["feature"] } as const;
    history.at(MONDAY).when(consumeFeature(null, 1)).refuses(fault);
  });

  test("resets at the feature's own boundary", () => {
    const daily = { ...prints, consumption: counting({ period: "daily" }) };
    const used = given(installed(1, { features: [daily] }))
      .at(MONDAY)
      .did(consumeFeature("prints", 10));
    const midnight = utc("2026-03-03T00:00:00Z");
    used.at(before(midnight)).when(consumeFeature("prints", 1)).refuses(short(0));
    used
      .at(midnight)
      .when(consumeFeature("prints", 1))
      .records({ ...added, total: 1 });
  });

  test("ends at the feature's own date, unless another license still has it", () => {
    const ending = installed(2, { features: [{ ...prints, expires: hours(1) }] });
    const last = before(hours(1));
    given(ending).at(last).when(consumeFeature("prints", 1)).records(added);
    given(ending)
      .at(hours(1))
      .when(consumeFeature("prints", 1))
      .refuses({ code: "license_expired", what: "feature", end: hours(1) });
    given(...history.events, ending)
      .at(hours(1))
      .when(consumeFeature("prints", 1))
      .records({ ...added, license: 1 });
  });

  test("goes to the license the user holds, else to the newest that can take it all", () => {
    const two = given(...history.events, installed(2, { features: [prints] }), taken("ada"));
    const ada = { user: "ada" };
    two
      .at(MONDAY)
      .when(consumeFeature("prints", 1, ada))
      .records({ ...added, license: 1 });
    two
      .at(MONDAY)
      .when(consumeFeature("prints", 1))
      .records({ ...added, license: 2 });
    const used = two.at(MONDAY).did(consumeFeature("prints", 12));
    used
      .at(MONDAY)
      .when(consumeFeature("prints", 1))
      .records({ ...added, license: 1 });
  });

  test("ends with the license, or before it starts", () => {
    given(installed(1, { features: [prints], start: hours(1) }))
      .at(before(hours(1)))
      .when(consumeFeature("prints", 1))
      .refuses({ code: "license_not_active", start: hours(1) });
  });
});
