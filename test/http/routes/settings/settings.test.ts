// Settings that administrators change while the server runs.
import { describe, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { SettingChangesReply, SettingsReply } from "../../../../src/http/running-server.ts";
import {
  expectOk,
  expectRefusal,
  expectRefusedUnchanged,
  openAppliance,
  type Appliance,
} from "../../../support/appliance.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { makeMaintenance } from "../../../support/maintenance.ts";

const SETTINGS = "/api/admin/v1/settings";

const openSite = () => openAppliance({ maintenance: makeMaintenance });

const change = (site: Appliance, changes: unknown, headers = {}) =>
  site.post<SettingChangesReply>(SETTINGS, { changes }, headers);

const read = async (site: Appliance, name: string) =>
  expectOk(await site.get<SettingsReply>(SETTINGS)).settings.find(
    (setting) => setting.name === name,
  );

const readEvents = async (site: Appliance) => {
  const path = "/api/admin/v1/audit?type=SettingChanged";
  return expectOk(await site.get<{ events: object[] }>(path)).events;
};

const hasFile = ({ folder }: Appliance): boolean => existsSync(join(folder, "settings.json"));

describe("POST settings", () => {
  test("changes settings at once, and replies with the differences", async () => {
    const site = await openSite();
    const changes = { site_name: "Plant 4", client_networks: ["10.1.0.0/16"], backup_keep: 9 };
    const reply = expectOk(await change(site, changes));
    expect(reply.changes).toEqual([
      { name: "site_name", from: expect.any(String), to: "Plant 4" },
      { name: "client_networks", from: [], to: ["10.1.0.0/16"] },
      { name: "backup_keep", from: "7", to: "9" },
    ]);
    expect(await read(site, "site_name")).toMatchObject({ value: "Plant 4", source: "page" });
    expect(await read(site, "backup_keep")).toMatchObject({ value: "9", source: "page" });
    expect(JSON.parse(readFileSync(join(site.folder, "settings.json"), "utf8"))).toEqual({
      settings: 1,
      values: { site_name: "Plant 4", client_networks: ["10.1.0.0/16"], backup_keep: "9" },
    });
  });

  test("writes each change to the audit log, with both values and the caller", async () => {
    const site = await openSite();
    const { token } = unwrap(await site.services.access.createToken("ops", null, "test"));
    const headers = { authorization: `Bearer ${token}` };
    expectOk(await change(site, { expiry_warning_days: "60", site_name: "Plant 4" }, headers));
    const path = "/api/admin/v1/audit?type=SettingChanged";
    const { events } = expectOk(await site.get<{ events: object[] }>(path, headers));
    expect(events).toMatchObject([
      {
        peer: "ops@127.0.0.1",
        detail: { name: "site_name", from: expect.any(String), to: "Plant 4" },
      },
      {
        peer: "ops@127.0.0.1",
        detail: { name: "expiry_warning_days", from: "30", to: "60" },
        summary: "setting expiry_warning_days changed from 30 to 60",
      },
    ]);
  });

  test("refuses an empty list of networks, whose default admits many", async () => {
    const site = await openSite();
    expectOk(await change(site, { client_networks: ["10.1.0.0/16"] }));
    expectRefusal(await change(site, { client_networks: [] }), 400, "invalid_setting");
    expect(await read(site, "client_networks")).toMatchObject({ value: ["10.1.0.0/16"] });
    expectRefusal(await change(site, { audit_budget: [] }), 400, "invalid_setting");
  });

  test("sets the default again with null, and removes the value from the file", async () => {
    const site = await openSite();
    expectOk(await change(site, { expiry_warning_days: "60", audit_budget: "1" }));
    const { changes } = expectOk(await change(site, { expiry_warning_days: null }));
    expect(changes).toEqual([{ name: "expiry_warning_days", from: "60", to: "30" }]);
    expect(await read(site, "expiry_warning_days")).toMatchObject({ source: "default" });
    const { values } = JSON.parse(readFileSync(join(site.folder, "settings.json"), "utf8")) as {
      values: object;
    };
    expect(values).toEqual({ audit_budget: "1" });
  });

  test("writes nothing if every value is as before", async () => {
    const site = await openSite();
    const before = site.lastSeq();
    expect(expectOk(await change(site, { expiry_warning_days: "30" })).changes).toEqual([]);
    expect(expectOk(await change(site, { client_networks: null })).changes).toEqual([]);
    expect([site.lastSeq(), hasFile(site)]).toEqual([before, false]);
  });

  test("accepts the object as a text, as forms of the API page send it", async () => {
    const site = await openSite();
    expectOk(await change(site, '{"max-slots-per-user": 2}'));
    expect(await read(site, "max_slots_per_user")).toMatchObject({ value: "2" });
  });

  const INVALID: readonly [string, unknown, string][] = [
    ["site_name", "", "1 to 64 visible characters"],
    ["site_name", "a".repeat(65), "1 to 64 visible characters"],
    ["site_name", "Plant\u00074", "1 to 64 visible characters"],
    ["site_name", "Plant \u202e4", "1 to 64 visible characters"],
    ["site_name", ["Plant"], "must be one text"],
    ["expiry_warning_days", "0", "from 1 to 365"],
    ["expiry_warning_days", 366, "from 1 to 365"],
    ["expiry_warning_days", true, "must be a text"],
    ["client_networks", ["10.1.0.0/16", "10.1"], "must be a list of networks; entry 2"],
    ["client_networks", ["10.1.0.0/16", "fe80::1%eth0/64"], "a network has no zone"],
    ["client_networks", "10.1.0.0/16", "must be a list"],
    ["client_networks", Array.from({ length: 65 }, () => "::1"), "at most 64"],
    ["audit_keep_months", "-1", "number of months"],
    ["usage_months", "0", "number of months from 1 to 999"],
    ["backup_schedule", "daily 25:00", "daily HH:MM"],
  ];
  test.each(INVALID)("refuses a wrong value of %s and names it: %j", async (name, value, text) => {
    const site = await openSite();
    const message = await expectRefusedUnchanged(site, 400, "invalid_setting", async () => {
      const reply = await change(site, { audit_budget: "1", [name]: value });
      expect(reply[1]).toMatchObject({ field: name });
      return reply;
    });
    expect(message).toContain(text);
    expect(await read(site, "audit_budget")).toMatchObject({ value: "64", source: "default" });
    expect(hasFile(site)).toBe(false);
  });

  test("refuses a setting that is named twice, with a dash and with an underscore", async () => {
    const site = await openSite();
    const changes = { "site-name": "Plant 4", site_name: "Plant 5" };
    const message = await expectRefusedUnchanged(site, 400, "invalid_setting", () =>
      change(site, changes),
    );
    expect(message).toBe("site_name is named twice");
  });

  test("refuses unknown names, fixed settings and other shapes, and changes nothing", async () => {
    const site = await openSite();
    const refused = (code: string, changes: unknown) =>
      expectRefusedUnchanged(site, 400, code, () => change(site, changes));
    await refused("unknown_setting", { site_nam: "x", audit_budget: "1" });
    await refused("unknown_setting", { __proto__: null, toString: "x" });
    const fixed = await refused("setting_not_editable", { listen: "0.0.0.0:1" });
    expect(fixed).toContain("a wrong address would cut off the page. Start the server with");
    for (const changes of ["[]", "no JSON", "null", { site_name: { a: 1 } }, { a: [1] }]) {
      await refused("invalid_parameter", changes);
    }
    await refused("missing_parameters", "");
    await refused("missing_parameters", null);
  });

  test("refuses networks without the caller's own address, and accepts them from this machine", async () => {
    const site = await openAppliance({ maintenance: makeMaintenance, gate: { adminOpen: true } });
    site.peer = "10.9.0.7";
    const message = await expectRefusedUnchanged(site, 400, "own_address_excluded", () =>
      change(site, { client_networks: ["10.1.0.0/16"] }),
    );
    expect(message).toContain("10.9.0.7");
    expectOk(await change(site, { client_networks: ["10.1.0.0/16", "10.9.0.0/24"] }));
    site.peer = "127.0.0.1";
    expectOk(await change(site, { client_networks: ["10.1.0.0/16"] }));
    expect(await readEvents(site)).toHaveLength(2);
  });

  test("needs a running server", async () => {
    const site = await openAppliance();
    expectRefusal(await change(site, { site_name: "x" }), 409, "server_not_running");
  });
});

describe("GET settings", () => {
  test("lists every setting, with whether and how it can be changed", async () => {
    const site = await openSite();
    const reply = expectOk(await site.get<SettingsReply>(SETTINGS));
    expect(reply.read_only).toBe(false);
    expect(reply.cloud_keys).toEqual({ api_key: false, shared_key: false });
    expect(reply.settings.filter(({ editable }) => editable).map(({ name }) => name)).toEqual([
      "site_name",
      "client_networks",
      "max_slots_per_user",
      "max_slots_per_peer",
      "max_places_per_caller",
      "audit_budget",
      "expiry_warning_days",
      "audit_keep_months",
      "usage_months",
      "backup_schedule",
      "backup_keep",
    ]);
    for (const { name, editable, why_not } of reply.settings) {
      expect([name, why_not === null]).toEqual([name, editable]);
    }
  });

  test("tells a viewer that an administrator is needed, and refuses its changes", async () => {
    const site = await openSite();
    const { access } = site.services;
    unwrap(await access.createToken("ops", null, "test"));
    const { token } = unwrap(await access.createToken("eyes", null, "test", "viewer"));
    const headers = { authorization: `Bearer ${token}` };
    const reply = expectOk(await site.get<SettingsReply>(SETTINGS, headers));
    expect(reply.read_only).toBe(true);
    expect(reply.settings.some(({ editable }) => editable)).toBe(false);
    expectRefusal(await change(site, { site_name: "x" }, headers), 403, "forbidden");
  });

  test("says which cloud keys are set, without showing them", async () => {
    const site = await openSite();
    expectOk(await site.post("setKeys", { apiKey: "secret-a" }));
    const [, reply] = await site.get<SettingsReply>(SETTINGS);
    expect(reply.cloud_keys).toEqual({ api_key: true, shared_key: false });
    expect(JSON.stringify(reply)).not.toContain("secret-a");
  });
});
