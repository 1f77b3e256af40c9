import { describe, expect, test } from "bun:test";
import { expectOk, expectRefusedUnchanged, openAppliance } from "../support/appliance.ts";
import { minutesLater } from "../support/scenario.ts";

test("unregister replies in plain text and releases the slot at once", async () => {
  const site = await openAppliance({ licenses: { 1: { slots: 1 } } });
  expectOk(await site.register({ user: "ada" }));
  expect(expectOk(await site.unregister({ product: "cad", user: "ada" }))).toBe(
    "user_unregistered",
  );
  expect(await site.listHolders()).toEqual([]);
  expectOk(await site.register({ user: "bob" }));
});

test("unregister releases a borrowed slot before its end", async () => {
  const site = await openAppliance();
  expectOk(await site.borrow({ user: "ada" }));
  expectOk(await site.unregister({ user: "ada" }));
  expect(await site.listHolders()).toEqual([]);
});

test("unregister releases no other user's slot, also of a name that differs in case only", async () => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }));
  expectOk(await site.register({ user: "Ada" }));
  expectOk(await site.unregister({ user: "Ada" }));
  expect(await site.listHolders()).toEqual(["ada"]);
});

test("unregister releases the features of the slot too", async () => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }));
  expectOk(await site.featureRegister({ user: "ada", feature: "view" }));
  expectOk(await site.unregister({ user: "ada" }));
  const { product_features } = expectOk(await site.license());
  expect(product_features[0]).toMatchObject({ code: "view", floating_in_use_devices: 0 });
});

test("unregister with license_id releases the slot of that license only", async () => {
  const site = await openAppliance({ licenses: { 1: {}, 2: {} } });
  expectOk(await site.register({ user: "ada", license_id: "1" }));
  expectOk(await site.register({ user: "ada", license_id: "2" }));
  expectOk(await site.unregister({ user: "ada", license_id: 2 }));
  const registrations = expectOk(await site.registrations());
  expect(registrations.map(({ license_id }) => license_id)).toEqual([1]);
});

describe("unregister is refused", () => {
  test.each<[string, Record<string, unknown>]>([
    ["user_not_registered", { user: "bob" }],
    ["user_not_registered", { user: "ADA" }],
    ["missing_parameters", {}],
    ["missing_parameters", { user: "" }],
    ["unknown_product", { user: "ada", product: "cam" }],
    ["license_not_found", { user: "ada", license_id: "7" }],
  ])("with %s for %j", async (code, fields) => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    await expectRefusedUnchanged(site, 400, code, () => site.unregister(fields));
    expect(await site.listHolders()).toEqual(["ada"]);
  });

  test("once the slot has expired", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    site.clock.now = minutesLater(30);
    await expectRefusedUnchanged(site, 400, "user_not_registered", () =>
      site.unregister({ user: "ada" }),
    );
  });
});
