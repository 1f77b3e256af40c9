import { describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import { runBerth, runOrThrow, runJsonOrThrow } from "../support/run-berth.ts";
import { tempFolder } from "../support/temp-folder.ts";

type Settings = Record<string, { readonly value: unknown; readonly source: string }>;

function configFile(text: string): string {
  const path = join(tempFolder(), "berth.toml");
  writeFileSync(path, text);
  return path;
}

const settings = (words: readonly string[], env: Record<string, string> = {}): Promise<Settings> =>
  runJsonOrThrow<Settings>(["config", ...words], { env, cwd: "/" });

test("the defaults are shown, and are not of the working folder", async () => {
  expect(await settings([])).toEqual({
    data: { value: join(dirname(buildBinary()), "data"), source: "default" },
    listen: { value: "0.0.0.0:8080", source: "default" },
    "client-auth": { value: "open", source: "default" },
    "max-slots-per-user": { value: "0", source: "default" },
    "max-slots-per-peer": { value: "0", source: "default" },
    "audit-budget": { value: "64", source: "default" },
    log: { value: "default", source: "default" },
    "audit-keep-months": { value: "0", source: "default" },
  });
});

test("flags go before the environment, that before the file, that before the default", async () => {
  const path = configFile('listen = "1.1.1.1:1"\ndata = "/file"\nclient_networks = ["::1"]\n');
  const env = { BERTH_LISTEN: "2.2.2.2:2", BERTH_DATA: "/variable" };
  const file = ["--config", path];
  expect((await settings([...file, "--listen", "3.3.3.3:3"], env))["listen"]).toEqual({
    value: "3.3.3.3:3",
    source: "--listen",
  });
  expect(await settings(file, env)).toMatchObject({
    listen: { value: "2.2.2.2:2", source: "BERTH_LISTEN" },
    data: { value: "/variable", source: "BERTH_DATA" },
    "client-networks": { value: ["::1"], source: path },
    config: { value: path, source: "--config" },
  });
  expect((await settings(file))["listen"]).toEqual({ value: "1.1.1.1:1", source: path });
  expect((await settings([]))["listen"]).toMatchObject({ source: "default" });
});

test("the file may be named by the environment", async () => {
  const path = configFile('listen = "1.1.1.1:1"\n');
  expect(await settings([], { BERTH_CONFIG: path })).toMatchObject({
    listen: { value: "1.1.1.1:1", source: path },
    config: { value: path, source: "BERTH_CONFIG" },
  });
});

describe("the data folder", () => {
  test("is systemd's where nobody says otherwise", async () => {
    const env = { STATE_DIRECTORY: "/var/lib/berth" };
    expect((await settings([], env))["data"]?.value).toBe("/var/lib/berth");
    expect((await settings([], { ...env, BERTH_DATA: "/variable" }))["data"]?.value).toBe(
      "/variable",
    );
    expect((await settings(["--data", "/flag"], env))["data"]?.value).toBe("/flag");
  });
});

test("networks are a list, by commas or by saying it again", async () => {
  const networks = ["10.0.0.0/8", "::1"];
  const said = await Promise.all([
    settings(["--client-networks", "10.0.0.0/8,::1"]),
    settings(["--client-networks", "10.0.0.0/8", "--client-networks", "::1"]),
    settings([], { BERTH_CLIENT_NETWORKS: "10.0.0.0/8, ::1" }),
  ]);
  for (const { "client-networks": shown } of said) expect(shown?.value).toEqual(networks);
});

test("without --json it is a table of name, value and source", async () => {
  const lines = (await runOrThrow(["config", "--listen", "3.3.3.3:3"])).split("\n");
  expect(lines.map((line) => line.split(/ {2,}/))).toContainEqual([
    "listen",
    "3.3.3.3:3",
    "--listen",
  ]);
});

describe("a wrong file is misuse", () => {
  test.each([
    ["an unknown key", 'listn = "x"', /:1: unknown key listn/, /did you mean listen\?/],
    ["a key of no setting", "json = true", /:1: unknown key json/, /berth help serve/],
    ["a wrong type", "names = true", /:1: names must be a list of strings/, /names = \["NAME"\]/],
    ["no TOML", "listen = [", /:1: Unterminated array.*not valid TOML/, /./],
    [
      "a wrong value",
      'listen = "x"',
      /:1: listen must be HOST:PORT/,
      /for example 0\.0\.0\.0:8080/,
    ],
  ])("%s", async (_what, text, error, hint) => {
    const path = configFile(text);
    const commands = ["config", "serve", "status"].map((name) =>
      runBerth([name, "--config", path, "--data", join(path, "..", "data")]),
    );
    for (const { code, stdout, stderr } of await Promise.all(commands)) {
      expect([code, stdout]).toEqual([2, ""]);
      const [said, hinted] = stderr.split("\n");
      expect(said).toMatch(error);
      expect(said).toContain(path);
      expect(hinted).toMatch(hint);
    }
  });
});
