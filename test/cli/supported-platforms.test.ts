import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { canServe } from "../../src/platform/system/supported-platforms.ts";
import { runBerth } from "../support/run-berth.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** Runs the command line in a new folder as if on another platform. */
async function runOn(platform: NodeJS.Platform, ...words: string[]) {
  const folder = tempFolder();
  const env = { TMPDIR: folder };
  const { code, stdout, stderr } = await runBerth(words, { cwd: folder, env, platform });
  return { code, stdout, stderr, files: readdirSync(folder) };
}

test("canServe allows a site on Linux only, and a demo on macOS too", () => {
  const platforms = ["linux", "darwin", "win32", "freebsd"] as const;
  expect(platforms.filter((platform) => canServe("site", platform))).toEqual(["linux"]);
  expect(platforms.filter((platform) => canServe("demo", platform))).toEqual(["linux", "darwin"]);
});

test.each([
  ["win32", "serve", "Linux"],
  ["win32", "demo", "Linux or macOS"],
  ["darwin", "serve", "Linux"],
] as const)(
  "on %s, berth %s fails with one error and creates nothing",
  async (platform, command, systems) => {
    const result = await runOn(platform, command, "--data", "site", "--listen", "127.0.0.1:0");
    expect(result).toEqual({
      code: 1,
      stdout: "",
      stderr:
        `berth: error: berth ${command} requires ${systems}: its file locks do not work on other systems\n` +
        "berth: hint: the vendor's desk works on this system: berth help vendor init\n",
      files: [],
    });
  },
);

test.each(["win32", "darwin"] as const)(
  "on %s, berth vendor init creates a desk",
  async (platform) => {
    const result = await runOn(
      platform,
      "vendor",
      "init",
      "--no-passphrase",
      "--name",
      "A",
      "--dir",
      "desk",
      "--product",
      "CAD",
    );
    expect([result.code, result.stderr, result.files]).toEqual([0, "", ["desk", "desk-root"]]);
  },
);
