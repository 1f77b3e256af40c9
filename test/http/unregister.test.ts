import { describe, expect, test } from "bun:test";
import { expectOk, expectRefusedUnchanged, openAppliance } from "../support/appliance.ts";
import { minutesLater } from "../support/scenario.ts";

test("a slot is given back, in a word of plain text, and is free at once", async () => {
  const site = await openAppliance({ licenses: { 1: { slots: 1 } } });
  expectOk(await site.register({ user: "ada" }));
  expect(expectOk(await site.unregister({ product: "cad", user: "ada" }))).toBe(
    "user_unregistered",
  );
  expect(await site.listHolders()).toEqual([]);
  expectOk(await site.register({ user: "bob" }));
});

test("a borrowed slot is returned early", async () => {
  const site = await openAppliance();
  expectOk(await site.borrow({ user: "ada" }));
  expectOk(await site.unregister({ user: "ada" }));
  expect(await site.listHolders()).toEqual([]);
});

test("nobody else's slot goes with it", async () => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }));
  expectOk(await site.register({ user: "Ada" }));
  expectOk(await site.unregister({ user: "Ada" }));
  expect(await site.listHolders()).toEqual(["ada"]);
});

test("the features held through the slot are given back with it", async () => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }));
  expectOk(await site.featureRegister({ user: "ada", feature: "view" }));
  expectOk(await site.unregister({ user: "ada" }));
  const { product_features } = expectOk(await site.license());
  expect(product_features[0]).toMatchObject({ code: "view", floating_in_use_devices: 0 });
});

test("license_id means that license's slot alone", async () => {
  const site = await openAppliance({ licenses: { 1: {}, 2: {} } });
  expectOk(await site.register({ user: "ada", license_id: "1" }));
  expectOk(await site.register({ user: "ada", license_id: "2" }));
  expectOk(await site.unregister({ user: "ada", license_id: 2 }));
  const held = expectOk(await site.registrations());
  expect(held.map(({ license_id }) => license_id)).toEqual([1]);
});

describe("giving back is refused", () => {
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

  test("once the slot has run out", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    site.clock.now = minutesLater(30);
    await expectRefusedUnchanged(site, 400, "user_not_registered", () =>
      site.unregister({ user: "ada" }),
    );
  });
});
