import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
  type ApiResponse,
  type Feature,
} from "../../../support/appliance.ts";

type FeatureRegister = (
  site: Appliance,
  fields: Record<string, string>,
) => Promise<ApiResponse<Feature>>;

const query = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();

const ROUTES: readonly [string, FeatureRegister][] = [
  ["POST featureRegister", (site, fields) => site.featureRegister(fields)],
  ["POST check_license_feature", (site, fields) => site.post("check_license_feature", fields)],
  [
    "GET check_license_feature",
    (site, fields) => site.get(`/api/v4/check_license_feature?${query(fields)}`),
  ],
];

describe.each(ROUTES)("%s", (_route, registerFeature) => {
  test("takes a slot of the feature and replies with the feature object", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    const feature = expectOk(
      await registerFeature(site, { product: "cad", feature: "view", user: "ada" }),
    );
    expect(feature).toEqual({
      id: 1,
      code: "view",
      name: "view",
      feature_type: "activation",
      expiry_date: null,
      metadata: null,
      is_floating: true,
      is_floating_cloud: false,
      floating_users: 1,
      floating_timeout: 10,
      floating_in_use_devices: 1,
      max_consumption: null,
      total_consumptions: 0,
      max_overages: 0,
      allow_overages: false,
      allow_unlimited_consumptions: false,
      allow_negative_consumptions: false,
      reset_consumption: false,
      consumption_period: null,
    });
    const [registration] = expectOk(await site.registrations());
    expect(registration).toMatchObject({ user: "ada", features: ["view"] });
  });

  test("is refused for a user without a slot of the license", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, "user_not_registered", () =>
      registerFeature(site, { feature: "view", user: "ada" }),
    );
  });

  test("names all missing fields in one refusal", async () => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, "missing_parameters", () =>
      registerFeature(site, {}),
    );
    expect(message).toBe("user and feature must be given");
  });

  test("checks os_hostname and user_info as register does", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    await expectRefusedUnchanged(site, 400, "invalid_characters", () =>
      registerFeature(site, { feature: "view", user: "ada", os_hostname: "a\u0000b" }),
    );
    await expectRefusedUnchanged(site, 400, "too_long", () =>
      registerFeature(site, { feature: "view", user: "ada", user_info: "x".repeat(4_097) }),
    );
  });
});

test.each<[string, Record<string, unknown>]>([
  ["invalid_license_feature_code", { feature: "nothing" }],
  ["invalid_license_feature_code", { feature: "__proto__" }],
  ["feature_not_floating", { feature: "skin" }],
  ["feature_not_floating", { feature: "plot" }],
  ["missing_parameters", { feature: "" }],
  ["unknown_product", { feature: "view", product: "cam" }],
  ["license_not_found", { feature: "view", license_id: 5 }],
])("featureRegister is refused with %s for %j", async (code, fields) => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }));
  await expectRefusedUnchanged(site, 400, code, () =>
    site.featureRegister({ user: "ada", ...fields }),
  );
});
