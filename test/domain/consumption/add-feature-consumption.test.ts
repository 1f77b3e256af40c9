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
} from "../../support/scenario.ts";

const mesh = featureTerms("mesh", { floating: { slots: 1, timeoutMinutes: 10 } });

const notEnough = (left: number) => ({ code: "feature_not_enough_consumptions", left }) as const;

describe("consumeFeature", () => {
  const prints = featureTerms("prints", {
    consumption: consumptionTerms({ max: 10, overages: 2 }),
  });
  const history = given(licenseInstalled(1, { features: [prints, mesh, featureTerms("help")] }));
  const added = { type: "FeatureConsumptionAdded", feature: "prints" } as const;

  test("adds to the feature's own total up to its maximum plus overage", () => {
    const consumed = history.at(MONDAY).execute(consumeFeature("prints", 4, { user: "ada" }));
    consumed
      .at(hoursLater(1))
      .when(consumeFeature("prints", 8, { user: "ada" }))
      .records({ ...added, at: hoursLater(1), license: 1, user: "ada", count: 8, total: 12 })
      .answers({ license: 1, feature: "prints", total: 12 });
    consumed.at(MONDAY).when(consumeFeature("prints", 9)).refuses(notEnough(8));
    consumed
      .at(MONDAY)
      .when(consumeFeature("prints", 7, { allowOverages: false }))
      .refuses(notEnough(6));
  });

  test("writes nothing for zero, and refuses a negative count where it is not allowed", () => {
    history.at(MONDAY).when(consumeFeature("prints", 0)).records().answers({ total: 0 });
    history
      .at(MONDAY)
      .when(consumeFeature("prints", -1))
      .refuses({ code: "negative_not_allowed", total: 0, allowed: false });
  });

  test("refuses features that are not counted, and unknown or missing codes", () => {
    const unsupported = { code: "unsupported_product_feature" } as const;
    history.at(MONDAY).when(consumeFeature("mesh", 1)).refuses(unsupported);
    history.at(MONDAY).when(consumeFeature("help", 1)).refuses(unsupported);
    const unknown = { code: "invalid_license_feature_code" } as const;
    history.at(MONDAY).when(consumeFeature("valueOf", 1)).refuses(unknown);
    const fault = { code: "missing_parameters", fields: ["feature"] } as const;
    history.at(MONDAY).when(consumeFeature(null, 1)).refuses(fault);
  });

  test("resets the total at the feature's own period boundary", () => {
    const daily = { ...prints, consumption: consumptionTerms({ period: "daily" }) };
    const consumed = given(licenseInstalled(1, { features: [daily] }))
      .at(MONDAY)
      .execute(consumeFeature("prints", 10));
    const midnight = utc("2026-03-03T00:00:00Z");
    consumed.at(justBefore(midnight)).when(consumeFeature("prints", 1)).refuses(notEnough(0));
    consumed
      .at(midnight)
      .when(consumeFeature("prints", 1))
      .records({ ...added, total: 1 });
  });

  test("refuses from the feature's own expiry on, unless another license has the feature", () => {
    const expiring = licenseInstalled(2, { features: [{ ...prints, expires: hoursLater(1) }] });
    const last = justBefore(hoursLater(1));
    given(expiring).at(last).when(consumeFeature("prints", 1)).records(added);
    given(expiring)
      .at(hoursLater(1))
      .when(consumeFeature("prints", 1))
      .refuses({ code: "license_expired", what: "feature", end: hoursLater(1) });
    given(...history.events, expiring)
      .at(hoursLater(1))
      .when(consumeFeature("prints", 1))
      .records({ ...added, license: 1 });
  });

  test("counts on the license the user holds, else on the newest that can take all of it", () => {
    const twoLicenses = given(
      ...history.events,
      licenseInstalled(2, { features: [prints] }),
      slotTaken("ada"),
    );
    const ada = { user: "ada" };
    twoLicenses
      .at(MONDAY)
      .when(consumeFeature("prints", 1, ada))
      .records({ ...added, license: 1 });
    twoLicenses
      .at(MONDAY)
      .when(consumeFeature("prints", 1))
      .records({ ...added, license: 2 });
    const consumed = twoLicenses.at(MONDAY).execute(consumeFeature("prints", 12));
    consumed
      .at(MONDAY)
      .when(consumeFeature("prints", 1))
      .records({ ...added, license: 1 });
  });

  test("refuses before the license starts", () => {
    given(licenseInstalled(1, { features: [prints], start: hoursLater(1) }))
      .at(justBefore(hoursLater(1)))
      .when(consumeFeature("prints", 1))
      .refuses({ code: "license_not_active", start: hoursLater(1) });
  });
});
