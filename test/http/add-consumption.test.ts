import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../support/appliance.ts";
import { justBefore, consumptionTerms, utc } from "../support/scenario.ts";

const total = async (site: Appliance): Promise<number> =>
  expectOk(await site.license()).total_consumptions;

test("a count is answered with every field of the contract and no other", async () => {
  const site = await openAppliance();
  const asked = { product: "cad", consumptions: "3", max_overages: "10", allow_overages: "true" };
  expect(expectOk(await site.addConsumption(asked))).toEqual({
    license_id: 1,
    max_consumptions: 10,
    total_consumptions: 3,
    allow_overages: true,
    max_overages: 2,
    reset_consumption: false,
    consumption_period: null,
    allow_unlimited_consumptions: false,
    allow_negative_consumptions: false,
  });
  expect(await total(site)).toBe(3);
});

test.each([
  ["absent", {}, 1],
  ["null", { consumptions: null }, 1],
  ["zero", { consumptions: "0" }, 0],
  ["a string", { consumptions: "7" }, 7],
  ["a JSON integer", { consumptions: 7 }, 7],
])("consumptions %s counts as it should", async (_what, fields, counted) => {
  const site = await openAppliance();
  expect(expectOk(await site.addConsumption(fields)).total_consumptions).toBe(counted);
  expect(await total(site)).toBe(counted);
});

describe("the caller's limits only tighten the license's ten and two over", () => {
  test.each<[string, Record<string, unknown>, number]>([
    ["no limits", {}, 12],
    ["empty limits", { max_overages: "", allow_overages: "" }, 12],
    ["more than the license gives", { max_overages: "50", allow_overages: "true" }, 12],
    ["a negative limit, which is none", { max_overages: "-1" }, 12],
    ["a negative JSON integer", { max_overages: -1 }, 12],
    ["one", { max_overages: "1" }, 11],
    ["one as a JSON integer", { max_overages: 1 }, 11],
    ["zero", { max_overages: "0" }, 10],
    ["no overage", { allow_overages: "false" }, 10],
    ["no overage in capitals", { allow_overages: "FALSE" }, 10],
    ["no overage as 0", { allow_overages: "0" }, 10],
    ["no overage as a JSON boolean", { allow_overages: false }, 10],
    ["overage as 1", { allow_overages: "1" }, 12],
    ["overage as True", { allow_overages: "True" }, 12],
    ["overage as a JSON boolean", { allow_overages: true }, 12],
    ["no overage, whatever the limit", { max_overages: "2", allow_overages: "false" }, 10],
  ])("%s", async (_what, limits, most) => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, "license_not_enough_consumptions", () =>
      site.addConsumption({ ...limits, consumptions: String(most + 1) }),
    );
    expect(message).toContain(`${most} more`);
    expect(await total(site)).toBe(0);
    expectOk(await site.addConsumption({ ...limits, consumptions: String(most) }));
    expect(await total(site)).toBe(most);
  });

  test("a license that allows none gives none", async () => {
    const site = await openAppliance({ licenses: { 1: { consumption: consumptionTerms() } } });
    const limits = { max_overages: "5", allow_overages: "true" };
    await expectRefusedUnchanged(site, 400, "license_not_enough_consumptions", () =>
      site.addConsumption({ ...limits, consumptions: "11" }),
    );
    expect(expectOk(await site.addConsumption(limits))).toMatchObject({
      allow_overages: false,
      max_overages: 0,
    });
  });
});

describe("counting down", () => {
  test("is refused where the license does not allow it", async () => {
    const site = await openAppliance();
    expectOk(await site.addConsumption({ consumptions: "5" }));
    await expectRefusedUnchanged(site, 400, "negative_not_allowed", () =>
      site.addConsumption({ consumptions: "-1" }),
    );
  });

  test("goes to zero and never below, telling how much there is", async () => {
    const site = await openAppliance({
      licenses: { 1: { consumption: consumptionTerms({ negative: true }) } },
    });
    expectOk(await site.addConsumption({ consumptions: "5" }));
    const message = await expectRefusedUnchanged(site, 400, "negative_not_allowed", () =>
      site.addConsumption({ consumptions: "-6" }),
    );
    expect(message).toContain("5");
    const done = expectOk(await site.addConsumption({ consumptions: "-5" }));
    expect(done).toMatchObject({ total_consumptions: 0, allow_negative_consumptions: true });
  });
});

test("an unlimited license says so and takes the largest count", async () => {
  const site = await openAppliance({
    licenses: { 1: { consumption: consumptionTerms({ max: null, period: "monthly" }) } },
  });
  const done = expectOk(await site.addConsumption({ consumptions: "1000000000000" }));
  expect(done).toMatchObject({
    max_consumptions: null,
    total_consumptions: 1_000_000_000_000,
    allow_unlimited_consumptions: true,
    reset_consumption: true,
    consumption_period: "monthly",
  });
});

test("a total starts again at its UTC boundary exactly", async () => {
  const site = await openAppliance({
    licenses: { 1: { consumption: consumptionTerms({ period: "daily" }) } },
  });
  const midnight = utc("2026-03-03T00:00:00Z");
  expectOk(await site.addConsumption({ consumptions: "10" }));
  site.clock.now = justBefore(midnight);
  expectRefusal(await site.addConsumption({}), 400, "license_not_enough_consumptions");
  site.clock.now = midnight;
  expect(await total(site)).toBe(0);
  expect(expectOk(await site.addConsumption({})).total_consumptions).toBe(1);
});

describe("which license", () => {
  const two = {
    1: { consumption: consumptionTerms({ max: 5 }) },
    2: { consumption: consumptionTerms({ max: 3 }) },
  };

  test("the most recently added that can take all of it, never split", async () => {
    const site = await openAppliance({ licenses: two });
    expect(expectOk(await site.addConsumption({ consumptions: "2" })).license_id).toBe(2);
    expect(expectOk(await site.addConsumption({ consumptions: "2" })).license_id).toBe(1);
    await expectRefusedUnchanged(site, 400, "license_not_enough_consumptions", () =>
      site.addConsumption({ consumptions: "4" }),
    );
  });

  test("the one the user holds, or the one that is named", async () => {
    const site = await openAppliance({ licenses: two });
    expectOk(await site.register({ user: "ada", license_id: "1" }));
    expect(expectOk(await site.addConsumption({ user: "ada" })).license_id).toBe(1);
    expect(expectOk(await site.addConsumption({ license_id: 1 })).license_id).toBe(1);
    expect(expectOk(await site.addConsumption({})).license_id).toBe(2);
  });
});

describe("a count is refused", () => {
  test("on a license that does not count", async () => {
    const site = await openAppliance({ licenses: { 1: {} } });
    await expectRefusedUnchanged(site, 400, "license_not_consumption", () =>
      site.addConsumption({}),
    );
  });

  test("without a product where there are two", async () => {
    const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
    const message = await expectRefusedUnchanged(site, 400, "missing_parameters", () =>
      site.addConsumption({}),
    );
    expect(message).toBe("product must be given");
  });

  test("for an unknown product", async () => {
    const site = await openAppliance();
    await expectRefusedUnchanged(site, 400, "unknown_product", () =>
      site.addConsumption({ product: "cam" }),
    );
  });
});
