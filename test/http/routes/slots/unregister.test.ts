import { describe, expect, test } from "bun:test";
import { expectOk, expectRefusedUnchanged, openAppliance } from "../../../support/appliance.ts";

test("unregister replies in plain text and releases the slot at once", async () => {
  const site = await openAppliance({ licenses: { 1: { slots: 1 } } });
  expectOk(await site.register({ user: "ada" }));
  expect(expectOk(await site.unregister({ product: "cad", user: "ada" }))).toBe(
    "user_unregistered",
  );
  expect(await site.listHolders()).toEqual([]);
  expectOk(await site.register({ user: "bob" }));
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
});
