import { expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { canServe } from "../../src/platform/supported-platforms.ts";
import { PATIENCE } from "../support/patience.ts";
import { tempFolder } from "../support/temp-folder.ts";

const CLI = join(import.meta.dir, "..", "..", "src", "cli", "cli.ts");

/** The command line as it would be on another system, with a folder of its own to write to. */
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
  return { exitCode, out: stdout.toString(), error: stderr.toString(), left: readdirSync(folder) };
}

test("a site is served on Linux alone, and tried on a Mac too", () => {
  const platforms = ["linux", "darwin", "win32", "freebsd"] as const;
  expect(platforms.filter((one) => canServe("site", one))).toEqual(["linux"]);
  expect(platforms.filter((one) => canServe("demo", one))).toEqual(["linux", "darwin"]);
});

test.each([
  ["win32", "serve"],
  ["win32", "demo"],
  ["darwin", "serve"],
] as const)("on %s, %s is refused in one line, and nothing is made", (platform, command) => {
  const said = runOn(platform, command, "--data", "site", "--listen", "127.0.0.1:0");
  expect(said).toEqual({
    exitCode: 1,
    out: "",
    error:
      `berth: error: berth ${command} requires Linux: its file locks do not work on other systems\n` +
      "berth: hint: the vendor's desk works on this system: berth help vendor init\n",
    left: [],
  });
});

test.each(["win32", "darwin"] as const)("on %s, the vendor's desk is not refused", (platform) => {
  const said = runOn(
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
  expect([said.exitCode, said.error, said.left]).toEqual([0, "", ["desk"]]);
});
