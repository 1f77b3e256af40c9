import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../support/appliance.ts";
import { consumptionTerms, featureTerms, minutesLater } from "../support/scenario.ts";

const total = async (site: Appliance, code = "plot"): Promise<number | undefined> => {
  const { product_features } = expectOk(await site.license());
  return product_features.find((one) => one.code === code)?.total_consumptions;
};

test("a count is answered with the feature, its maximum under both names, and nothing else", async () => {
  const site = await openAppliance();
  const asked = { product: "cad", feature: "plot", consumptions: "3" };
  expect(expectOk(await site.addFeatureConsumption(asked))).toEqual({
    license_id: 1,
    feature: "plot",
    max_consumption: 5,
    max_consumptions: 5,
    total_consumptions: 3,
    allow_overages: false,
    max_overages: 0,
    reset_consumption: false,
    consumption_period: null,
    allow_unlimited_consumptions: false,
    allow_negative_consumptions: false,
  });
  expect(await total(site)).toBe(3);
  expect(expectOk(await site.license()).total_consumptions).toBe(0);
});

test("absent is one, zero is nothing, and a JSON integer is understood", async () => {
  const site = await openAppliance();
  for (const [consumptions, expected] of [
    [undefined, 1],
    ["0", 1],
    [2, 3],
  ] as const) {
    const asked = { feature: "plot", consumptions };
    expect(expectOk(await site.addFeatureConsumption(asked)).total_consumptions).toBe(expected);
  }
});

test("what does not fit is not counted at all, and what would fit is told", async () => {
  const site = await openAppliance();
  expectOk(await site.addFeatureConsumption({ feature: "plot", consumptions: "2" }));
  const message = await expectRefusedUnchanged(site, 400, "feature_not_enough_consumptions", () =>
    site.addFeatureConsumption({ feature: "plot", consumptions: "4" }),
  );
  expect(message).toContain("3 more");
  expect(await total(site)).toBe(2);
});

test("the caller's limits only tighten the feature's", async () => {
  const plot = featureTerms("plot", { consumption: consumptionTerms({ max: 5, overages: 2 }) });
  const site = await openAppliance({ licenses: { 1: { features: [plot] } } });
  const count = (consumptions: string, limits: object) =>
    site.addFeatureConsumption({ feature: "plot", consumptions, ...limits });
  for (const limits of [{ allow_overages: "false" }, { max_overages: "0" }]) {
    await expectRefusedUnchanged(site, 400, "feature_not_enough_consumptions", () =>
      count("6", limits),
    );
  }
  await expectRefusedUnchanged(site, 400, "feature_not_enough_consumptions", () =>
    count("8", { max_overages: "50", allow_overages: "true" }),
  );
  expectOk(await count("7", {}));
});

describe("a count is refused", () => {
  test.each<[string, string, Record<string, unknown>]>([
    ["missing_parameters", "without a feature", {}],
    ["missing_parameters", "for an empty feature", { feature: "" }],
    ["invalid_license_feature_code", "for an unknown feature", { feature: "PLOT" }],
    ["invalid_license_feature_code", "for __proto__", { feature: "__proto__" }],
    ["invalid_license_feature_code", "for constructor", { feature: "constructor" }],
    ["unsupported_product_feature", "for one that floats", { feature: "view" }],
    ["unsupported_product_feature", "for one that is only there", { feature: "skin" }],
    ["negative_not_allowed", "for less than none", { feature: "plot", consumptions: "-1" }],
    ["unknown_product", "for an unknown product", { feature: "plot", product: "cam" }],
    ["license_not_found", "for an unknown license", { feature: "plot", license_id: "9" }],
  ])("with %s %s", async (code, _what, fields) => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, code, () => site.addFeatureConsumption(fields));
  });

  test("naming feature and product together when both are missing", async () => {
    const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
    const message = await expectRefusedUnchanged(site, 400, "missing_parameters", () =>
      site.addFeatureConsumption({}),
    );
    expect(message).toBe("feature and product must be given");
  });

  test("once the feature has ended, telling when", async () => {
    const plot = featureTerms("plot", {
      consumption: consumptionTerms(),
      expires: minutesLater(5),
    });
    const site = await openAppliance({ licenses: { 1: { features: [plot] } } });
    expectOk(await site.addFeatureConsumption({ feature: "plot" }));
    site.clock.now = minutesLater(5);
    const message = await expectRefusedUnchanged(site, 400, "license_expired", () =>
      site.addFeatureConsumption({ feature: "plot" }),
    );
    expect(message).toContain("2026-03-02T09:05:00.000Z");
  });
});
