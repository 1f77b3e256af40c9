import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../support/appliance.ts";

async function using(): Promise<Appliance> {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }));
  expectOk(await site.register({ user: "bob" }));
  expectOk(await site.featureRegister({ user: "ada", feature: "view" }));
  return site;
}

const inUse = async (site: Appliance): Promise<unknown[]> =>
  expectOk(await site.registrations()).map(({ user, features }) => [user, features]);

describe.each(["featureRelease", "feature_release"])("POST %s", (operation) => {
  test("gives the feature back in a word of plain text, and keeps the license's slot", async () => {
    const site = await using();
    const asked = { product: "cad", feature: "view", user: "ada" };
    expect(expectOk(await site.post(operation, asked))).toBe("feature_released");
    expect(await inUse(site)).toEqual([
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
    const site = await using();
    await expectRefusedUnchanged(site, 400, code, () => site.post(operation, fields));
  });
});

test("a refusal says whether it is the feature's slot or the license's that is not held", async () => {
  const site = await using();
  const released = await site.post("featureRelease", { user: "bob", feature: "view" });
  expect(expectRefusal(released, 400, "user_not_registered")).toBe(
    "the user holds no slot of the feature",
  );
  const taken = await site.featureRegister({ user: "eve", feature: "view" });
  expect(expectRefusal(taken, 400, "user_not_registered")).toBe(
    "the user holds no slot of the license; call register first",
  );
});

test.each(["featureRelease/all", "feature_release/all"])(
  "GET %s gives back every feature and no license's slot",
  async (operation) => {
    const site = await using();
    expect(expectOk(await site.get(`/api/v4/${operation}`))).toBe("");
    expect(await inUse(site)).toEqual([
      ["ada", []],
      ["bob", []],
    ]);
  },
);
