import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { canServe } from "../../src/platform/system/supported-platforms.ts";
import { PATIENCE } from "../support/patience.ts";
import { tempFolder } from "../support/temp-folder.ts";

const CLI = join(import.meta.dir, "..", "..", "src", "cli", "frame", "cli.ts");

/** Runs the command line in a new folder as if on another platform. */
function runOn(platform: NodeJS.Platform, ...words: string[]) {
  const folder = tempFolder();
  const script = `import { run } from ${JSON.stringify(CLI)};
    process.exit(await run(JSON.parse(process.argv[1]), process.env, process.argv[2]));`;
  const child = Bun.spawnSync([process.execPath, "-e", script, JSON.stringify(words), platform], {
    cwd: folder,
    env: { TMPDIR: folder },
    timeout: PATIENCE,
  });
  const { exitCode, stdout, stderr } = child;
  return { exitCode, out: stdout.toString(), error: stderr.toString(), files: readdirSync(folder) };
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
  (platform, command, systems) => {
    const result = runOn(platform, command, "--data", "site", "--listen", "127.0.0.1:0");
    expect(result).toEqual({
      exitCode: 1,
      out: "",
      error:
        `berth: error: berth ${command} requires ${systems}: its file locks do not work on other systems\n` +
        "berth: hint: the vendor's desk works on this system: berth help vendor init\n",
      files: [],
    });
  },
);

test.each(["win32", "darwin"] as const)("on %s, berth vendor init creates a desk", (platform) => {
  const result = runOn(
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
  expect([result.exitCode, result.error, result.files]).toEqual([0, "", ["desk"]]);
});
