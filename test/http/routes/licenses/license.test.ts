import { expect, test } from "bun:test";
import { expectOk, expectRefusedUnchanged, openAppliance } from "../../../support/appliance.ts";
import {
  consumptionTerms,
  featureTerms,
  hoursLater,
  minutesLater,
  utc,
} from "../../../support/scenario.ts";

test("GET license shows every field as the vendor set it", async () => {
  const site = await openAppliance({
    licenses: {
      7: {
        productName: "CAD Pro",
        licenseKey: "KEY-1",
        type: "consumption",
        customer: "Initech",
        metadata: "m",
        trial: true,
        start: utc("2026-01-01T00:00:00Z"),
        validUntil: utc("2027-01-01T00:00:00Z"),
        maintenanceUntil: utc("2026-06-01T00:00:00Z"),
        graceHours: 48,
        consumption: consumptionTerms({ max: 10, overages: 2, negative: true, period: "weekly" }),
        features: [
          featureTerms("plot", {
            consumption: consumptionTerms({ max: null }),
            expires: hoursLater(1),
          }),
        ],
      },
    },
  });
  const { product_features, ...license } = expectOk(await site.license());
  expect(license).toEqual({
    id: 7,
    license_key: "KEY-1",
    license_type: "consumption",
    product_details: { product_name: "CAD Pro", short_code: "cad" },
    customer: "Initech",
    metadata: "m",
    custom_fields: [],
    start_date: "2026-01-01T00:00:00.000Z",
    validity_period: "2027-01-01T00:00:00.000Z",
    maintenance_period: "2026-06-01T00:00:00.000Z",
    is_trial: true,
    allow_grace_period: true,
    grace_period: 48,
    license_active: true,
    license_enabled: true,
    is_expired: false,
    is_floating: true,
    is_floating_cloud: false,
    floating_users: 2,
    floating_timeout: 30,
    floating_in_use_devices: 0,
    can_borrow: true,
    max_borrow_time: 24,
    borrowed_until: null,
    is_borrowed: false,
    max_activations: null,
    times_activated: null,
    max_transfers: null,
    transfer_count: null,
    prevent_vm: false,
    max_consumptions: 10,
    total_consumptions: 0,
    max_overages: 2,
    allow_overages: true,
    allow_unlimited_consumptions: false,
    allow_negative_consumptions: true,
    reset_consumption: true,
    consumption_period: "weekly",
    report_every_days: null,
    is_air_gapped: false,
    policy_id: null,
  });
  expect(product_features).toEqual([
    {
      id: 1,
      code: "plot",
      name: "plot",
      feature_type: "consumption",
      expiry_date: "2026-03-02T10:00:00.000Z",
      metadata: null,
      is_floating: false,
      is_floating_cloud: false,
      floating_users: null,
      floating_timeout: null,
      floating_in_use_devices: 0,
      max_consumption: null,
      total_consumptions: 0,
      max_overages: 0,
      allow_overages: false,
      allow_unlimited_consumptions: true,
      allow_negative_consumptions: false,
      reset_consumption: false,
      consumption_period: null,
    },
  ]);
});

test("GET license takes no slot and writes nothing", async () => {
  const site = await openAppliance();
  const written = site.lastSeq();
  expectOk(await site.license());
  expect(await site.listHolders()).toEqual([]);
  expect(site.lastSeq()).toBe(written);
});

test("GET license shows the present slots and totals", async () => {
  const site = await openAppliance();
  expectOk(await site.register({ user: "ada" }));
  expectOk(await site.addConsumption({ consumptions: "4" }));
  expect(expectOk(await site.license())).toMatchObject({
    floating_in_use_devices: 1,
    total_consumptions: 4,
  });
  site.clock.now = minutesLater(30);
  expect(expectOk(await site.license()).floating_in_use_devices).toBe(0);
});

test.each([
  ["before its start", { start: minutesLater(1) }, { license_active: false, is_expired: false }],
  ["after its end", { validUntil: minutesLater(0) }, { license_active: true, is_expired: true }],
  ["in its grace period", { validUntil: minutesLater(0), graceHours: 1 }, { is_expired: false }],
  ["disabled", { enabled: false }, { license_enabled: false }],
])("GET license shows a license %s with its status", async (_what, terms, expected) => {
  const site = await openAppliance({ licenses: { 1: terms } });
  expect(expectOk(await site.license())).toMatchObject(expected);
});

test.each([
  ["the newest license", "?product=cad", 2],
  ["the license with the license_id", "?product=cad&license_id=1", 1],
  ["the license with the license_id for names in any case", "?Product=cad&LICENSE_ID=1", 1],
  ["the license by the last of two values", "?license_id=1&product=x&license_id=2&product=cad", 2],
  [
    "the license by the first of two names in another case",
    "?License_Id=1&LICENSE_ID=2&product=cad",
    1,
  ],
  [
    "the newest license for a query with unknown names",
    "?product=cad&__proto__=x&constructor=y&user=z",
    2,
  ],
  ["the license of a percent-encoded product", "?product=c%61d", 2],
])("GET license shows %s", async (_what, query, id) => {
  const site = await openAppliance({ licenses: { 1: {}, 2: {}, 3: { product: "cam" } } });
  expect(expectOk(await site.license(query)).id).toBe(id);
});

test("GET license shows a valid license rather than a newer invalid one", async () => {
  const site = await openAppliance({ licenses: { 1: {}, 2: { enabled: false } } });
  expect(expectOk(await site.license()).id).toBe(1);
});

test.each([
  ["missing_parameters", ""],
  ["unknown_product", "?product=__proto__"],
  ["license_not_found", "?product=cad&license_id=3"],
  ["license_not_found", "?product=cad&license_id=9007199254740991"],
  ["invalid_number", "?product=cad&license_id=9007199254740993"],
  ["invalid_number", "?product=cad&license_id=-1"],
  ["invalid_number", "?product=cad&license_id=1e0"],
  ["invalid_characters", "?product=cad%00"],
  ["too_long", `?product=${"x".repeat(257)}`],
])("GET license is refused with %s for the query %j", async (code, query) => {
  const site = await openAppliance({ licenses: { 1: {}, 3: { product: "cam" } } });
  await expectRefusedUnchanged(site, 400, code, () => site.license(query));
});

test("GET license is refused with license_not_found when no license is installed", async () => {
  const site = await openAppliance({ licenses: {} });
  await expectRefusedUnchanged(site, 400, "license_not_found", () => site.license());
});
