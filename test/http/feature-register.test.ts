import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
  type ApiResponse,
  type Feature,
} from "../support/appliance.ts";
import { justBefore, minutesLater } from "../support/scenario.ts";

type RegisterFeature = (
  site: Appliance,
  fields: Record<string, string>,
) => Promise<ApiResponse<Feature>>;

const query = (fields: Record<string, string>): string => new URLSearchParams(fields).toString();

const WAYS: readonly [string, RegisterFeature][] = [
  ["POST featureRegister", (site, fields) => site.featureRegister(fields)],
  ["POST check_license_feature", (site, fields) => site.post("check_license_feature", fields)],
  [
    "GET check_license_feature",
    (site, fields) => site.get(`/api/v4/check_license_feature?${query(fields)}`),
  ],
];

describe.each(WAYS)("%s", (_way, take) => {
  test("takes a slot of the feature and answers with the feature object", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    const feature = expectOk(await take(site, { product: "cad", feature: "view", user: "ada" }));
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
    const [held] = expectOk(await site.registrations());
    expect(held).toMatchObject({ user: "ada", features: ["view"] });
  });

  test("is refused to somebody without a slot of the license", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, "user_not_registered", () =>
      take(site, { feature: "view", user: "ada" }),
    );
  });

  test("names everything that is missing", async () => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, "missing_parameters", () =>
      take(site, {}),
    );
    expect(message).toBe("user and feature must be given");
  });

  test("judges the register fields as register does", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    await expectRefusedUnchanged(site, 400, "invalid_characters", () =>
      take(site, { feature: "view", user: "ada", os_hostname: "a\u0000b" }),
    );
    await expectRefusedUnchanged(site, 400, "too_long", () =>
      take(site, { feature: "view", user: "ada", user_info: "x".repeat(4_097) }),
    );
  });
});

test("taking it again keeps the one slot; a second user has to wait for its end", async () => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }));
  expectOk(await site.register({ user: "bob" }));
  expectOk(await site.featureRegister({ user: "ada", feature: "view" }));
  site.clock.now = minutesLater(5);
  expectOk(await site.featureRegister({ user: "ada", feature: "view" }));
  site.clock.now = justBefore(minutesLater(15));
  const message = expectRefusal(
    await site.featureRegister({ user: "bob", feature: "view" }),
    400,
    "floating_not_available",
  );
  expect(message).toBe(
    "the only slot is taken; the next one comes free by 2026-03-02T09:15:00.000Z",
  );
  site.clock.now = minutesLater(15);
  expectOk(await site.featureRegister({ user: "bob", feature: "view" }));
});

test.each<[string, Record<string, unknown>]>([
  ["invalid_license_feature_code", { feature: "nothing" }],
  ["invalid_license_feature_code", { feature: "__proto__" }],
  ["feature_not_floating", { feature: "skin" }],
  ["feature_not_floating", { feature: "plot" }],
  ["missing_parameters", { feature: "" }],
  ["unknown_product", { feature: "view", product: "cam" }],
  ["license_not_found", { feature: "view", license_id: 5 }],
])("it is refused with %s for %j", async (code, fields) => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }));
  await expectRefusedUnchanged(site, 400, code, () =>
    site.featureRegister({ user: "ada", ...fields }),
  );
});
