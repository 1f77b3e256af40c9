import { describe, expect, test } from "bun:test";
import manifest from "../../../package.json";
import { keyIdOf } from "../../../src/license/documents/keys.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
} from "../../support/appliance.ts";
import { minutesLater } from "../../support/scenario.ts";
import { VENDOR_KEY } from "../../support/vendor.ts";

const RELEASE = "/api/admin/v1/registrations/release";

describe("GET /api/admin/v1/status", () => {
  test("shows version, clock, storage and every license", async () => {
    const site = await openAppliance({
      licenses: { 1: { consumption: null }, 2: { enabled: false, product: "cam" } },
    });
    expectOk(await site.register({ user: "ada", product: "cad" }));
    site.clock.now = minutesLater(1);
    const { identity } = site.services;
    const { storage, ...status } = expectOk(await site.status());
    expect(status).toEqual({
      version: manifest.version,
      site_name: "Plant 4",
      expiry_warning_days: 30,
      kind: "site",
      pid: process.pid,
      now: "2026-03-02T09:01:00.000Z",
      created_at: "2026-03-02T09:00:00.000Z",
      moved_away_at: null,
      appliance: {
        id: identity.id,
        hardware_id: identity.hashHardware().hardwareId,
        components: ["mac", "machine_id"],
        weak_binding: false,
      },
      command_line: { executable: "berth", needs_sudo: true, data_folder: site.folder },
      findings: [
        {
          code: "license_refused",
          severity: "error",
          summary: "cam: license disabled, no slots available",
          remedy: "Request a new license",
          command: "berth license request --product cam",
          subject: "cam",
        },
      ],
      passed_checks: [
        { check: "storage", summary: expect.stringContaining("enough free space") },
        { check: "clock", summary: "In sync with the system clock" },
        { check: "hardware", summary: "Bound to mac, machine_id" },
      ],
      checked_at: null,
      certificate: null,
      backups: null,
      pair: null,
      licenses: [
        {
          license_id: 1,
          product: "cad",
          license_type: "perpetual",
          validity_period: null,
          refusal: null,
          moved_until: null,
          restored_until: null,
          vendor: keyIdOf(VENDOR_KEY),
          serial: 1,
          hardware_drift: [],
          floating_users: 2,
          floating_slots_in_use: 1,
          floating_slots_held: 0,
          max_consumptions: null,
          total_consumptions: 0,
          allow_unlimited_consumptions: false,
        },
        {
          license_id: 2,
          product: "cam",
          license_type: "perpetual",
          validity_period: null,
          refusal: "license_not_enabled",
          moved_until: null,
          restored_until: null,
          vendor: keyIdOf(VENDOR_KEY),
          serial: 1,
          hardware_drift: [],
          floating_users: 2,
          floating_slots_in_use: 0,
          floating_slots_held: 0,
          max_consumptions: null,
          total_consumptions: 0,
          allow_unlimited_consumptions: false,
        },
      ],
      queue: { changes: 0, products: [] },
      rules: null,
      refusals: [],
    });
    expect(storage).toMatchObject({ fault: null, checkpoint_error: null, recovery_notes: [] });
    expect(storage.seq).toBe(site.lastSeq());
    expect(storage.journal_bytes).toBeGreaterThan(0);
  });
});

describe("GET /api/admin/v1/licenses", () => {
  test("shows every license as GET /api/v4/license does", async () => {
    const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
    const licenses = expectOk(await site.licenses());
    expect(licenses).toEqual([
      expectOk(await site.license("?product=cad")),
      expectOk(await site.license("?product=cam")),
    ]);
  });

  test("is an empty list when no license is installed", async () => {
    const site = await openAppliance({ licenses: {} });
    expect(expectOk(await site.licenses())).toEqual([]);
  });
});

describe("GET /api/admin/v1/registrations", () => {
  test("lists the present slot holders of one product or of all, oldest first", async () => {
    const site = await openAppliance({ licenses: { 1: {}, 2: { product: "cam" } } });
    expectOk(await site.register({ user: "gone", product: "cad" }));
    site.clock.now = minutesLater(29);
    expectOk(await site.register({ user: "bob", product: "cam" }));
    expectOk(await site.register({ user: "ada", product: "cad" }));
    site.clock.now = minutesLater(30);
    const users = async (query: string): Promise<string[]> =>
      expectOk(await site.registrations(query)).map(({ user }) => user);
    expect(await users("")).toEqual(["bob", "ada"]);
    expect(await users("?product=cad")).toEqual(["ada"]);
    expect(await users("?Product=cam")).toEqual(["bob"]);
    expect(await users("?product=")).toEqual(["bob", "ada"]);
  });

  test("is refused for an unknown product", async () => {
    const site = await openAppliance();
    expectRefusal(await site.registrations("?product=cam"), 400, "unknown_product");
  });
});

describe("POST /api/admin/v1/registrations/release", () => {
  test("releases one user's slot", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    expectOk(await site.borrow({ user: "bob" }));
    expect(expectOk(await site.post(RELEASE, { product: "cad", user: "bob" }))).toEqual({
      released: 1,
    });
    expect(await site.listHolders()).toEqual(["ada"]);
  });

  test("accepts null for an omitted product", async () => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    expectOk(await site.post(RELEASE, { product: null, user: "ada" }));
    expect(await site.listHolders()).toEqual([]);
  });

  test.each<[string, Record<string, unknown>]>([
    ["missing_parameters", {}],
    ["user_not_registered", { user: "bob" }],
    ["unknown_product", { user: "ada", product: "cam" }],
    ["license_not_found", { user: "ada", license_id: "9" }],
    ["invalid_type", { user: 7 }],
  ])("is refused with %s for %j", async (code, fields) => {
    const site = await openAppliance();
    expectOk(await site.register({ user: "ada" }));
    await expectRefusedUnchanged(site, 400, code, () => site.post(RELEASE, fields));
    expect(await site.listHolders()).toEqual(["ada"]);
  });
});

test("POST /api/admin/v1/access/users names every missing field in one refusal", async () => {
  const site = await openAppliance();
  const message = expectRefusal(
    await site.post("/api/admin/v1/access/users", { role: "admin" }),
    400,
    "missing_parameters",
  );
  expect(message).toBe("name and password must be given");
});
