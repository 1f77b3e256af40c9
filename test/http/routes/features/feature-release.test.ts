import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";

async function openSiteInUse(): Promise<Appliance> {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }));
  expectOk(await site.register({ user: "bob" }));
  expectOk(await site.featureRegister({ user: "ada", feature: "view" }));
  return site;
}

const listFeatures = async (site: Appliance): Promise<unknown[]> =>
  expectOk(await site.registrations()).map(({ user, features }) => [user, features]);

describe.each(["featureRelease", "feature_release"])("POST %s", (operation) => {
  test("releases the feature with a plain text reply, and keeps the license's slot", async () => {
    const site = await openSiteInUse();
    const fields = { product: "cad", feature: "view", user: "ada" };
    expect(expectOk(await site.post(operation, fields))).toBe("feature_released");
    expect(await listFeatures(site)).toEqual([
      ["ada", []],
      ["bob", []],
    ]);
    expectOk(await site.featureRegister({ user: "bob", feature: "view" }));
  });

  test.each<[string, Record<string, unknown>]>([
    ["user_not_registered", { user: "bob", feature: "view" }],
    ["invalid_license_feature_code", { user: "ada", feature: "VIEW" }],
    ["missing_parameters", { user: "ada" }],
    ["missing_parameters", { feature: "view" }],
    ["unknown_product", { user: "ada", feature: "view", product: "cam" }],
    ["license_not_found", { user: "ada", feature: "view", license_id: "2" }],
  ])("is refused with %s for %j", async (code, fields) => {
    const site = await openSiteInUse();
    await expectRefusedUnchanged(site, 400, code, () => site.post(operation, fields));
  });
});

test("a user_not_registered refusal says whether the feature's slot or the license's is missing", async () => {
  const site = await openSiteInUse();
  const reply = await site.post("featureRelease", { user: "bob", feature: "view" });
  expect(expectRefusal(reply, 400, "user_not_registered")).toBe(
    "the user holds no slot of the feature",
  );
  const registered = await site.featureRegister({ user: "eve", feature: "view" });
  expect(expectRefusal(registered, 400, "user_not_registered")).toBe(
    "the user holds no slot of the license; call register first",
  );
});

test.each(["featureRelease/all", "feature_release/all"])(
  "GET %s releases every feature's slots and no license's slot",
  async (operation) => {
    const site = await openSiteInUse();
    expect(expectOk(await site.get(`/api/v4/${operation}`))).toBe("");
    expect(await listFeatures(site)).toEqual([
      ["ada", []],
      ["bob", []],
    ]);
  },
);
