import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** The user `nobody`. */
const SERVICE_UID = 65_534;

function runBerth(...args: string[]) {
  const child = Bun.spawnSync([buildBinary(), ...args], { cwd: "/", env: {} });
  return { code: child.exitCode, stderr: child.stderr.toString() };
}

const listPaths = (folder: string): string[] => [
  folder,
  ...readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))),
];

/** Gives the folder to the service's user, who can also reach it. */
function chownToService(folder: string): void {
  chmodSync(join(folder, ".."), 0o711);
  for (const path of listPaths(folder)) chownSync(path, SERVICE_UID, SERVICE_UID);
}

const listForeignPaths = (folder: string): string[] =>
  listPaths(folder).filter((path) => {
    const { uid, gid, mode } = statSync(path);
    return uid !== SERVICE_UID || gid !== SERVICE_UID || (mode & 0o077) !== 0;
  });

/** A backup that only root can read or reach. */
async function makeRootOwnedBackup(): Promise<{ readonly folder: string; readonly file: string }> {
  const [folder, file] = [join(tempFolder(), "data"), join(tempFolder(), "site.berth")];
  await makeLicensedSite(folder, { product: "cad" });
  chownToService(folder);
  expect(runBerth("backup", file, "--data", folder)).toEqual({ code: 0, stderr: "" });
  const { uid, mode } = statSync(file);
  expect([uid, mode & 0o777]).toEqual([0, 0o600]);
  expect(listForeignPaths(folder)).toEqual([]);
  return { folder, file };
}

describe.skipIf(process.getuid?.() !== 0)("berth restore as root", () => {
  test("into a service's folder leaves every file owned by the service", async () => {
    const { folder, file } = await makeRootOwnedBackup();
    expect(runBerth("restore", file, "--data", folder)).toEqual({ code: 0, stderr: "" });
    expect(readdirSync(folder).filter((name) => name.startsWith("replaced-"))).toHaveLength(1);
    expect(listForeignPaths(folder)).toEqual([]);
    expect(runBerth("verify", "--data", folder).code).toBe(0);
  });

  test("into a service's empty folder leaves every file owned by the service", async () => {
    const { file } = await makeRootOwnedBackup();
    const folder = join(tempFolder(), "data");
    mkdirSync(folder, { mode: 0o755 });
    chownToService(folder);
    expect(runBerth("restore", file, "--data", folder)).toEqual({ code: 0, stderr: "" });
    expect(readdirSync(folder)).toContain("state.json");
    expect(listForeignPaths(folder)).toEqual([]);
    expect(runBerth("verify", "--data", folder).code).toBe(0);
  });

  test("leaves no file owned by root when it is refused", async () => {
    const { folder, file } = await makeRootOwnedBackup();
    expect(runBerth("release", "--user", "nobody", "--data", folder).code).toBe(1);
    expect(runBerth("restore", join(file, "..", "other.berth"), "--data", folder).code).toBe(1);
    expect(listForeignPaths(folder)).toEqual([]);
  });
});
