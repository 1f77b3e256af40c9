import { describe, expect, test } from "bun:test";
import { chmodSync, chownSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { buildBinary } from "../support/binary.ts";
import { makeLicensedSite } from "../support/site-folder.ts";
import { tempFolder } from "../support/temp-folder.ts";

/** `nobody`, wherever there is one. */
const SERVICE_UID = 65_534;

function runBerth(...words: string[]) {
  const child = Bun.spawnSync([buildBinary(), ...words], { cwd: "/", env: {} });
  return { code: child.exitCode, err: child.stderr.toString() };
}

const listPaths = (folder: string): string[] => [
  folder,
  ...readdirSync(folder, { recursive: true }).map((name) => join(folder, String(name))),
];

/** Another user's folder, in a place that user can come to. */
function chownToService(folder: string): void {
  chmodSync(join(folder, ".."), 0o711);
  for (const path of listPaths(folder)) chownSync(path, SERVICE_UID, SERVICE_UID);
}

const listForeignPaths = (folder: string): string[] =>
  listPaths(folder).filter((path) => {
    const { uid, gid, mode } = statSync(path);
    return uid !== SERVICE_UID || gid !== SERVICE_UID || (mode & 0o077) !== 0;
  });

/** A backup that root alone can read, or come to. */
async function makeRootOwnedBackup(): Promise<{ readonly folder: string; readonly file: string }> {
  const [folder, file] = [join(tempFolder(), "data"), join(tempFolder(), "site.berth")];
  await makeLicensedSite(folder, { product: "cad" });
  chownToService(folder);
  expect(runBerth("backup", file, "--data", folder)).toEqual({ code: 0, err: "" });
  const { uid, mode } = statSync(file);
  expect([uid, mode & 0o777]).toEqual([0, 0o600]);
  expect(listForeignPaths(folder)).toEqual([]);
  return { folder, file };
}

describe.skipIf(process.getuid?.() !== 0)("root restores for a service", () => {
  test("over what the service has there: all of it is the service's afterwards", async () => {
    const { folder, file } = await makeRootOwnedBackup();
    expect(runBerth("restore", file, "--data", folder)).toEqual({ code: 0, err: "" });
    expect(readdirSync(folder).filter((name) => name.startsWith("replaced-"))).toHaveLength(1);
    expect(listForeignPaths(folder)).toEqual([]);
    expect(runBerth("verify", "--data", folder).code).toBe(0);
  });

  test("into an empty folder that was made for the service", async () => {
    const { file } = await makeRootOwnedBackup();
    const folder = join(tempFolder(), "data");
    mkdirSync(folder, { mode: 0o755 });
    chownToService(folder);
    expect(runBerth("restore", file, "--data", folder)).toEqual({ code: 0, err: "" });
    expect(readdirSync(folder)).toContain("state.json");
    expect(listForeignPaths(folder)).toEqual([]);
    expect(runBerth("verify", "--data", folder).code).toBe(0);
  });

  test("a refused one leaves nothing of root's there either", async () => {
    const { folder, file } = await makeRootOwnedBackup();
    expect(runBerth("release", "--user", "nobody", "--data", folder).code).toBe(1);
    expect(runBerth("restore", join(file, "..", "other.berth"), "--data", folder).code).toBe(1);
    expect(listForeignPaths(folder)).toEqual([]);
  });
});
