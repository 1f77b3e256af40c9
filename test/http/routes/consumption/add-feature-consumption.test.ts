import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { consumptionTerms, featureTerms, minutesLater } from "../../../support/scenario.ts";

const readTotal = async (site: Appliance, code = "plot"): Promise<number | undefined> => {
  const { product_features } = expectOk(await site.license());
  return product_features.find((feature) => feature.code === code)?.total_consumptions;
};

test("add_feature_consumption replies with the feature, its maximum under both names, and nothing else", async () => {
  const site = await openAppliance();
  const fields = { product: "cad", feature: "plot", consumptions: "3" };
  expect(expectOk(await site.addFeatureConsumption(fields))).toEqual({
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
  expect(await readTotal(site)).toBe(3);
  expect(expectOk(await site.license()).total_consumptions).toBe(0);
});

test("add_feature_consumption counts 1 when consumptions is absent, and accepts 0 and a JSON integer", async () => {
  const site = await openAppliance();
  for (const [consumptions, expected] of [
    [undefined, 1],
    ["0", 1],
    [2, 3],
  ] as const) {
    const fields = { feature: "plot", consumptions };
    expect(expectOk(await site.addFeatureConsumption(fields)).total_consumptions).toBe(expected);
  }
});

test("add_feature_consumption refuses a count that does not fit whole and names the count that would", async () => {
  const site = await openAppliance();
  expectOk(await site.addFeatureConsumption({ feature: "plot", consumptions: "2" }));
  const message = await expectRefusedUnchanged(site, 400, "feature_not_enough_consumptions", () =>
    site.addFeatureConsumption({ feature: "plot", consumptions: "4" }),
  );
  expect(message).toContain("3 more");
  expect(await readTotal(site)).toBe(2);
});

describe("add_feature_consumption is refused", () => {
  test.each<[string, string, Record<string, unknown>]>([
    ["missing_parameters", "without a feature", {}],
    ["missing_parameters", "for an empty feature", { feature: "" }],
    ["invalid_license_feature_code", "for an unknown feature", { feature: "PLOT" }],
    ["invalid_license_feature_code", "for __proto__", { feature: "__proto__" }],
    ["invalid_license_feature_code", "for constructor", { feature: "constructor" }],
    ["unsupported_product_feature", "for a floating feature", { feature: "view" }],
    ["unsupported_product_feature", "for a feature that is only switched on", { feature: "skin" }],
    ["negative_not_allowed", "for a negative count", { feature: "plot", consumptions: "-1" }],
    ["unknown_product", "for an unknown product", { feature: "plot", product: "cam" }],
    ["license_not_found", "for an unknown license", { feature: "plot", license_id: "9" }],
  ])("with %s %s", async (code, _what, fields) => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, code, () => site.addFeatureConsumption(fields));
  });

  test("with both names when feature and product are missing", async () => {
    const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
    const message = await expectRefusedUnchanged(site, 400, "missing_parameters", () =>
      site.addFeatureConsumption({}),
    );
    expect(message).toBe("feature and product must be given");
  });

  test("with the end date once the feature has expired", async () => {
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
