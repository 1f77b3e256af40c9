import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { buildBinary } from "../../../support/binary.ts";
import { runBerth, runOrThrow, runJsonOrThrow, runProcess } from "../../../support/run-berth.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

type Settings = Record<string, { readonly value: unknown; readonly source: string }>;

function writeConfig(text: string): string {
  const path = join(tempFolder(), "berth.toml");
  writeFileSync(path, text);
  return path;
}

const readSettings = (
  words: readonly string[],
  env: Record<string, string> = {},
): Promise<Settings> => runJsonOrThrow<Settings>(["config", ...words], { env, cwd: "/" });

test("berth config shows the defaults, with a data folder beside the executable", async () => {
  const { stdout } = await runProcess(["config", "--json"], { cwd: "/" });
  expect(JSON.parse(stdout)).toEqual({
    data: { value: join(dirname(buildBinary()), "data"), source: "default" },
    site_name: { value: hostname(), source: "default" },
    listen: { value: "0.0.0.0:8080", source: "default" },
    expiry_warning_days: { value: "30", source: "default" },
    client_auth: { value: "open", source: "default" },
    max_slots_per_user: { value: "0", source: "default" },
    max_slots_per_peer: { value: "0", source: "default" },
    max_places_per_caller: { value: "100", source: "default" },
    audit_budget: { value: "64", source: "default" },
    log: { value: "default", source: "default" },
    audit_keep_months: { value: "0", source: "default" },
    usage_months: { value: "18", source: "default" },
    backup_schedule: { value: "daily 02:30", source: "default" },
    backup_keep: { value: "7", source: "default" },
    events: { value: ["default"], source: "default" },
    pair_host: { value: expect.any(String), source: "default" },
    pair_takeover_seconds: { value: "10", source: "default" },
    pool_full_minutes: { value: "15", source: "default" },
  });
});

test("berth config prefers flags to the environment, that to the file, that to defaults", async () => {
  const path = writeConfig('listen = "1.1.1.1:1"\ndata = "/file"\nclient_networks = ["::1"]\n');
  const env = { BERTH_LISTEN: "2.2.2.2:2", BERTH_DATA: "/variable" };
  const file = ["--config", path];
  expect((await readSettings([...file, "--listen", "3.3.3.3:3"], env))["listen"]).toEqual({
    value: "3.3.3.3:3",
    source: "--listen",
  });
  expect(await readSettings(file, env)).toMatchObject({
    listen: { value: "2.2.2.2:2", source: "BERTH_LISTEN" },
    data: { value: "/variable", source: "BERTH_DATA" },
    client_networks: { value: ["::1"], source: path },
    config: { value: path, source: "--config" },
  });
  expect((await readSettings(file))["listen"]).toEqual({ value: "1.1.1.1:1", source: path });
  expect((await readSettings([]))["listen"]).toMatchObject({ source: "default" });
});

test("berth config reads the file that BERTH_CONFIG names", async () => {
  const path = writeConfig('listen = "1.1.1.1:1"\n');
  expect(await readSettings([], { BERTH_CONFIG: path })).toMatchObject({
    listen: { value: "1.1.1.1:1", source: path },
    config: { value: path, source: "BERTH_CONFIG" },
  });
});

describe("the data folder", () => {
  test("is STATE_DIRECTORY unless BERTH_DATA or --data is set", async () => {
    const env = { STATE_DIRECTORY: "/var/lib/berth" };
    expect((await readSettings([], env))["data"]?.value).toBe("/var/lib/berth");
    expect((await readSettings([], { ...env, BERTH_DATA: "/variable" }))["data"]?.value).toBe(
      "/variable",
    );
    expect((await readSettings(["--data", "/flag"], env))["data"]?.value).toBe("/flag");
  });
});

test("a list of networks is separated by commas or given with a repeated flag", async () => {
  const networks = ["10.0.0.0/8", "::1"];
  const outputs = await Promise.all([
    readSettings(["--client-networks", "10.0.0.0/8,::1"]),
    readSettings(["--client-networks", "10.0.0.0/8", "--client-networks", "::1"]),
    readSettings([], { BERTH_CLIENT_NETWORKS: "10.0.0.0/8, ::1" }),
  ]);
  for (const { client_networks: shown } of outputs) expect(shown?.value).toEqual(networks);
});

test("berth config without --json prints a table of name, value and source", async () => {
  const lines = (await runOrThrow(["config", "--listen", "3.3.3.3:3"])).split("\n");
  expect(lines.map((line) => line.split(/ {2,}/))).toContainEqual([
    "listen",
    "3.3.3.3:3",
    "--listen",
  ]);
});

test.each(["set", "reset"])(
  "berth help config %s lists the settings it can change",
  async (name) => {
    const text = await runOrThrow(["help", "config", name]);
    const [, list = ""] = /settings that can be changed:\n((?: {2}.*\n)+)/.exec(text) ?? [];
    expect(list.split(",").map((word) => word.trim())).toEqual([
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
  },
);

describe("a wrong settings file", () => {
  test.each([
    ["an unknown key", 'listn = "x"', /:1: unknown key listn/, /did you mean listen\?/],
    [
      "a key that is a flag but not a setting",
      "json = true",
      /:1: unknown key json/,
      /berth help serve/,
    ],
    ["a wrong type", "names = true", /:1: names must be a list of strings/, /names = \["NAME"\]/],
    ["invalid TOML", "listen = [", /:1: Unterminated array.*not valid TOML/, /./],
    [
      "a wrong value",
      'listen = "x"',
      /:1: listen must be HOST:PORT/,
      /for example 0\.0\.0\.0:8080/,
    ],
  ])("makes config, serve and status exit with 2: %s", async (_what, text, error, hint) => {
    const path = writeConfig(text);
    const commands = ["config", "serve", "status"].map((name) =>
      runBerth([name, "--config", path, "--data", join(path, "..", "data")]),
    );
    for (const { code, stdout, stderr } of await Promise.all(commands)) {
      expect([code, stdout]).toEqual([2, ""]);
      const [errorLine, hintLine] = stderr.split("\n");
      expect(errorLine).toMatch(error);
      expect(errorLine).toContain(path);
      expect(hintLine).toMatch(hint);
    }
  });
});
