import { describe, test } from "bun:test";
import {
  justBefore,
  consumeFeature,
  consumptionTerms,
  featureTerms,
  given,
  hoursLater,
  licenseInstalled,
  MONDAY,
  slotTaken,
  utc,
} from "../support/scenario.ts";

const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 10 } });

const short = (left: number) => ({ code: "feature_not_enough_consumptions", left }) as const;

describe("counting a feature", () => {
  const prints = featureTerms("prints", {
    consumption: consumptionTerms({ max: 10, overages: 2 }),
  });
  const history = given(licenseInstalled(1, { features: [prints, mesh, featureTerms("help")] }));
  const added = { type: "FeatureConsumptionAdded", feature: "prints" } as const;

  test("adds to the feature's own total, overage included, and no further", () => {
    const used = history.at(MONDAY).execute(consumeFeature("prints", 4, { user: "ada" }));
    used
      .at(hoursLater(1))
      .when(consumeFeature("prints", 8, { user: "ada" }))
      .records({ ...added, at: hoursLater(1), license: 1, user: "ada", count: 8, total: 12 })
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
    const daily = { ...prints, consumption: consumptionTerms({ period: "daily" }) };
    const used = given(licenseInstalled(1, { features: [daily] }))
      .at(MONDAY)
      .execute(consumeFeature("prints", 10));
    const midnight = utc("2026-03-03T00:00:00Z");
    used.at(justBefore(midnight)).when(consumeFeature("prints", 1)).refuses(short(0));
    used
      .at(midnight)
      .when(consumeFeature("prints", 1))
      .records({ ...added, total: 1 });
  });

  test("ends at the feature's own date, unless another license still has it", () => {
    const ending = licenseInstalled(2, { features: [{ ...prints, expires: hoursLater(1) }] });
    const last = justBefore(hoursLater(1));
    given(ending).at(last).when(consumeFeature("prints", 1)).records(added);
    given(ending)
      .at(hoursLater(1))
      .when(consumeFeature("prints", 1))
      .refuses({ code: "license_expired", what: "feature", end: hoursLater(1) });
    given(...history.events, ending)
      .at(hoursLater(1))
      .when(consumeFeature("prints", 1))
      .records({ ...added, license: 1 });
  });

  test("goes to the license the user holds, else to the newest that can take it all", () => {
    const two = given(
      ...history.events,
      licenseInstalled(2, { features: [prints] }),
      slotTaken("ada"),
    );
    const ada = { user: "ada" };
    two
      .at(MONDAY)
      .when(consumeFeature("prints", 1, ada))
      .records({ ...added, license: 1 });
    two
      .at(MONDAY)
      .when(consumeFeature("prints", 1))
      .records({ ...added, license: 2 });
    const used = two.at(MONDAY).execute(consumeFeature("prints", 12));
    used
      .at(MONDAY)
      .when(consumeFeature("prints", 1))
      .records({ ...added, license: 1 });
  });

  test("ends with the license, or before it starts", () => {
    given(licenseInstalled(1, { features: [prints], start: hoursLater(1) }))
      .at(justBefore(hoursLater(1)))
      .when(consumeFeature("prints", 1))
      .refuses({ code: "license_not_active", start: hoursLater(1) });
  });
});
