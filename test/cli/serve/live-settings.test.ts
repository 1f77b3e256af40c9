import { describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createAccessPolicy } from "../../../src/cli/serve/access-policy.ts";
import { explainFixedSetting } from "../../../src/cli/serve/fixed-settings.ts";
import { LiveSettings, type LiveSettingsOptions } from "../../../src/cli/serve/live-settings.ts";
import { findStartRefusal } from "../../../src/cli/serve/start-checks.ts";
import { defaultValues } from "../../../src/cli/frame/define-command.ts";
import type { Option } from "../../../src/cli/frame/options.ts";
import { settings } from "../../../src/cli/serve/settings.ts";
import { readEditedSettings } from "../../../src/operations/settings/setting-changes.ts";
import { openAppliance } from "../../support/appliance.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const makeLive = (options: Partial<LiveSettingsOptions> = {}): LiveSettings =>
  new LiveSettings({
    settings: { ...defaultValues(settings), data: "/srv/berth" },
    setOptions: [],
    environment: {},
    ...options,
  });

test("every setting is either editable or says why it is not", () => {
  for (const { name, isEditable, fixedReason } of Object.values<Option>(settings)) {
    expect([name, isEditable === true]).toEqual([name, fixedReason === undefined]);
  }
});

describe("the live settings", () => {
  test("have the values of the page where only a default is set", () => {
    const live = makeLive({
      edited: { site_name: "Plant 4", max_slots_per_user: "2", client_networks: ["::1"] },
    });
    expect(live.current).toMatchObject({
      siteName: "Plant 4",
      maxSlotsPerUser: 2,
      clientNetworks: ["::1"],
      expiryWarningDays: 30,
    });
    live.replaceEdited({});
    expect(live.current).toMatchObject({ maxSlotsPerUser: null, clientNetworks: [] });
  });

  test.each(["--site-name", "BERTH_SITE_NAME", "/etc/berth/berth.toml"])(
    "prefer the value of %s to that of the page",
    (from) => {
      const base = { ...defaultValues(settings), siteName: "Set" };
      const setOptions = [{ name: "site-name", value: "Set", from }];
      const live = makeLive({ settings: base, setOptions, edited: { site_name: "Page" } });
      expect(live.current.siteName).toBe("Set");
      expect(live.describe(settings.siteName)).toMatchObject({ value: "Set", source: from });
    },
  );

  test("refuse a file that is no longer valid, and name the setting", () => {
    const refused = (edited: LiveSettingsOptions["edited"] & object, problem: string) =>
      expect(() => makeLive({ edited })).toThrow(`/srv/berth/settings.json is damaged: ${problem}`);
    refused({ listen: "0.0.0.0:1" }, "listen is no editable setting");
    refused({ sitename: "x" }, "sitename is no editable setting");
    refused({ audit_budget: "many" }, "audit_budget must be a number of MiB");
    refused({ client_networks: "::1" }, "client_networks must be a list of texts");
  });

  test("let the client networks of the access policy follow a change", () => {
    const live = makeLive();
    const { isClient, isAdmin } = createAccessPolicy(live, "site");
    const allowed = () => ["10.9.0.7", "10.1.0.7"].map((peer) => [isClient(peer), isAdmin(peer)]);
    expect(allowed()).toEqual([
      [true, true],
      [true, true],
    ]);
    live.replaceEdited({ client_networks: ["10.1.0.0/16"] });
    expect(allowed()).toEqual([
      [false, false],
      [true, true],
    ]);
    live.replaceEdited({ client_networks: ["10.1.0.0/16"], site_name: "Plant 4" });
    expect(isClient("10.1.0.7")).toBe(true);
  });
});

test("client networks from the other host of a pair leave the page to this host's administrators", async () => {
  const adminNetworks = ["10.9.0.0/24"];
  const live = makeLive({
    settings: { ...defaultValues(settings), data: "/srv/berth", adminNetworks },
  });
  const site = await openAppliance({ gate: createAccessPolicy(live, "site") });
  const statusFor = async (peer: string) => {
    site.peer = peer;
    return (await site.get("/"))[0].status;
  };
  live.replaceEdited({ client_networks: ["10.1.0.0/16"] });
  const peers = ["127.0.0.1", "10.9.0.7", "10.1.0.7", "10.2.0.7"];
  const statuses: number[] = [];
  for (const peer of peers) statuses.push(await statusFor(peer));
  expect(statuses).toEqual([200, 200, 200, 403]);
});

describe("the reason why a setting is fixed", () => {
  const explain = (option: Option, from: string, config: string | null = null) => {
    const setOptions = [{ name: option.name, value: "x", from }];
    return explainFixedSetting(makeLive({ setOptions }).describe(option), config);
  };

  test("is none for an editable setting with a default", () => {
    expect(explain(settings.siteName, "default")).toBeNull();
  });

  test.each<[Option, string, string | null, string]>([
    [
      settings.siteName,
      "--site-name",
      null,
      "it is set by --site-name on the server's command line.",
    ],
    [settings.siteName, "BERTH_SITE_NAME", null, "it is set by the variable BERTH_SITE_NAME."],
    [settings.siteName, "/a.toml", "/a.toml", "it is set in /a.toml. Remove it there and restart"],
    [settings.listen, "default", "/a.toml", "Change it in /a.toml and restart the server."],
    [settings.listen, "default", null, "Start the server with --listen, or with listen in a"],
    [settings.listen, "--listen", "/a.toml", "Change --listen on the server's command line"],
    [settings.listen, "BERTH_LISTEN", null, "Change the variable BERTH_LISTEN and restart"],
  ])("says where %j is set, from %s with the file %s", (option, from, config, text) => {
    expect(explain(option, from, config)).toContain(text);
  });
});

describe("a damaged settings.json", () => {
  test.each(["", "{", "[]", '{"settings":2,"values":{}}', '{"settings":1,"values":{"a":1}}'])(
    "is refused with a hint: %s",
    async (text) => {
      const folder = join(tempFolder(), "data");
      mkdirSync(folder);
      writeFileSync(join(folder, "settings.json"), text);
      expect(() => readEditedSettings(folder)).toThrow("settings.json is damaged");
      const refusal = await findStartRefusal({ ...defaultValues(settings), data: folder }, []);
      expect(refusal?.hint).toContain("correct it, or delete it");
    },
  );
});
