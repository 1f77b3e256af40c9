import { describe, expect, test } from "bun:test";
import manifest from "../../../../package.json";
import { keyIdOf } from "../../../../src/license/documents/keys.ts";
import { expectOk, openAppliance } from "../../../support/appliance.ts";
import { minutesLater } from "../../../support/scenario.ts";
import { VENDOR, VENDOR_KEY } from "../../../support/vendor.ts";

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
          key: keyIdOf(VENDOR.issuing.key),
          key_until: "9999-12-31T23:59:59.000Z",
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
          key: keyIdOf(VENDOR.issuing.key),
          key_until: "9999-12-31T23:59:59.000Z",
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
