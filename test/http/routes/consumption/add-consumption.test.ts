import { describe, expect, test } from "bun:test";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { justBefore, consumptionTerms, utc } from "../../../support/scenario.ts";

const readTotal = async (site: Appliance): Promise<number> =>
  expectOk(await site.license()).total_consumptions;

test("add_consumption replies with every field of the contract and no other", async () => {
  const site = await openAppliance();
  const fields = { product: "cad", consumptions: "3", max_overages: "10", allow_overages: "true" };
  expect(expectOk(await site.addConsumption(fields))).toEqual({
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
  expect(await readTotal(site)).toBe(3);
});

test.each([
  ["absent", {}, 1],
  ["null", { consumptions: null }, 1],
  ["zero", { consumptions: "0" }, 0],
  ["a string", { consumptions: "7" }, 7],
  ["a JSON integer", { consumptions: 7 }, 7],
])(
  "add_consumption adds the right count when consumptions is %s",
  async (_what, fields, counted) => {
    const site = await openAppliance();
    expect(expectOk(await site.addConsumption(fields)).total_consumptions).toBe(counted);
    expect(await readTotal(site)).toBe(counted);
  },
);

describe("add_consumption on a license of 10 and 2 overages", () => {
  test.each<[string, Record<string, unknown>, number]>([
    ["no limits from the caller", {}, 12],
    ["empty limits", { max_overages: "", allow_overages: "" }, 12],
    ["limits above those of the license", { max_overages: "50", allow_overages: "true" }, 12],
    ["a negative max_overages, which means no limit", { max_overages: "-1" }, 12],
    ["a negative max_overages as a JSON integer", { max_overages: -1 }, 12],
    ["max_overages 1", { max_overages: "1" }, 11],
    ["max_overages 1 as a JSON integer", { max_overages: 1 }, 11],
    ["max_overages 0", { max_overages: "0" }, 10],
    ["allow_overages false", { allow_overages: "false" }, 10],
    ["allow_overages FALSE", { allow_overages: "FALSE" }, 10],
    ["allow_overages 0", { allow_overages: "0" }, 10],
    ["allow_overages false as a JSON boolean", { allow_overages: false }, 10],
    ["allow_overages 1", { allow_overages: "1" }, 12],
    ["allow_overages True", { allow_overages: "True" }, 12],
    ["allow_overages true as a JSON boolean", { allow_overages: true }, 12],
    ["allow_overages false and max_overages 2", { max_overages: "2", allow_overages: "false" }, 10],
  ])("takes exactly the allowed count with %s", async (_what, limits, maxCount) => {
    const site = await openAppliance();
    const message = await expectRefusedUnchanged(site, 400, "license_not_enough_consumptions", () =>
      site.addConsumption({ ...limits, consumptions: String(maxCount + 1) }),
    );
    expect(message).toContain(`${maxCount} more`);
    expect(await readTotal(site)).toBe(0);
    expectOk(await site.addConsumption({ ...limits, consumptions: String(maxCount) }));
    expect(await readTotal(site)).toBe(maxCount);
  });
});

describe("add_consumption with a negative count", () => {
  test("goes down to zero, and below that is refused with the present total", async () => {
    const site = await openAppliance({
      licenses: { 1: { consumption: consumptionTerms({ negative: true }) } },
    });
    expectOk(await site.addConsumption({ consumptions: "5" }));
    const message = await expectRefusedUnchanged(site, 400, "negative_not_allowed", () =>
      site.addConsumption({ consumptions: "-6" }),
    );
    expect(message).toContain("5");
    const reply = expectOk(await site.addConsumption({ consumptions: "-5" }));
    expect(reply).toMatchObject({ total_consumptions: 0, allow_negative_consumptions: true });
  });
});

test("add_consumption takes the largest count on an unlimited license", async () => {
  const site = await openAppliance({
    licenses: { 1: { consumption: consumptionTerms({ max: null, period: "monthly" }) } },
  });
  const reply = expectOk(await site.addConsumption({ consumptions: "1000000000000" }));
  expect(reply).toMatchObject({
    max_consumptions: null,
    total_consumptions: 1_000_000_000_000,
    allow_unlimited_consumptions: true,
    reset_consumption: true,
    consumption_period: "monthly",
  });
});

test("a daily total starts again exactly at midnight UTC", async () => {
  const site = await openAppliance({
    licenses: { 1: { consumption: consumptionTerms({ period: "daily" }) } },
  });
  const midnight = utc("2026-03-03T00:00:00Z");
  expectOk(await site.addConsumption({ consumptions: "10" }));
  site.clock.now = justBefore(midnight);
  expectRefusal(await site.addConsumption({}), 400, "license_not_enough_consumptions");
  site.clock.now = midnight;
  expect(await readTotal(site)).toBe(0);
  expect(expectOk(await site.addConsumption({})).total_consumptions).toBe(1);
});

test("add_consumption is refused on a license without consumption", async () => {
  const site = await openAppliance({ licenses: { 1: {} } });
  await expectRefusedUnchanged(site, 400, "license_not_consumption", () => site.addConsumption({}));
});
