import { describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeStoredBackup } from "../../../../src/operations/backups/backup-folder.ts";
import { folderChecks } from "../../../../src/operations/folder/folder-checks.ts";
import { realDisk } from "../../../../src/platform/files/disk.ts";
import { runBerth, runJsonOrThrow, runOrThrow } from "../../../support/run-berth.ts";
import { utc } from "../../../support/scenario.ts";
import { serveSite } from "../../../support/served-site.ts";
import { makeLicensedSite } from "../../../support/site-folder.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

const NIGHT = utc("2026-11-17T02:30:00Z");

async function makeSite(): Promise<{ data: string; directory: string }> {
  const root = tempFolder();
  const data = join(root, "data");
  await makeLicensedSite(data, { product: "cad", slots: 3 });
  return { data, directory: join(data, "backups") };
}

const backUp = async (dataFolder: string, directory: string): Promise<string> => {
  const options = { dataFolder, directory, keep: 7, now: NIGHT, checks: folderChecks };
  return (await makeStoredBackup(realDisk, options)).name;
};

describe("berth backup list", () => {
  test("says so if there is no backup", async () => {
    const { data, directory } = await makeSite();
    expect(await runOrThrow(["backup", "list", "--data", data])).toBe(
      `no backups in ${directory}; berth backup now makes one\n`,
    );
  });

  test("shows time, size and path of each backup, as text and as JSON", async () => {
    const { data, directory } = await makeSite();
    const name = await backUp(data, directory);
    const text = await runOrThrow(["backup", "list", "--data", data]);
    expect(text).toContain(`verified when made  ${join(directory, name)}`);
    expect(text).toMatch(/^MADE .*\n2026-11-17T02:30:00\.000Z  1\d\.\d KiB/);
    const size = realDisk.stat(join(directory, name))?.size;
    expect(await runJsonOrThrow<object>(["backup", "list", "--data", data])).toMatchObject({
      directory,
      is_same_disk: true,
      backups: [{ name, made_at: "2026-11-17T02:30:00.000Z", size, verified: true, finding: null }],
    });
  });

  test("reads the folder of backup_dir, also if the data folder is lost", async () => {
    const { data } = await makeSite();
    const directory = join(tempFolder(), "copies");
    mkdirSync(directory);
    const name = await backUp(data, directory);
    const config = join(tempFolder(), "berth.toml");
    writeFileSync(config, `data = "${data}"\nbackup_dir = "${directory}"\n`);
    rmSync(data, { recursive: true });
    const { backups } = await runJsonOrThrow<{ backups: { name: string }[] }>([
      "backup",
      "list",
      "--config",
      config,
    ]);
    expect(backups.map((backup) => backup.name)).toEqual([name]);
  });

  test("is refused without a data folder, and without the folder of backup_dir", async () => {
    const data = join(tempFolder(), "data");
    const missing = await runBerth(["backup", "list", "--data", data]);
    expect([missing.code, missing.stdout]).toEqual([78, ""]);
    expect(missing.stderr).toContain(`${data} is not a data folder`);
    const directory = join(tempFolder(), "unmounted");
    const words = ["backup", "list", "--data", data, "--backup-dir", directory];
    const unmounted = await runBerth(words);
    expect([unmounted.code, unmounted.stdout, unmounted.stderr]).toEqual([
      1,
      "",
      `berth: error: the backup folder ${directory} does not exist\n` +
        "berth: hint: mount its disk, or name another folder with --backup-dir DIR\n",
    ]);
  });

  test("reads the folder that the running server uses", async () => {
    const directory = tempFolder();
    const { folder } = await serveSite(["--backup-dir", directory]);
    expect((await runBerth(["backup", "now", "--data", folder])).code).toBe(0);
    const { backups, ...listed } = JSON.parse(
      (await runBerth(["backup", "list", "--data", folder, "--json"])).stdout,
    ) as { directory: string; backups: unknown[] };
    expect([listed.directory, backups.length]).toEqual([directory, 1]);
  });
});

describe("berth backup now", () => {
  test("lets the running server make a backup, which can be listed and verified", async () => {
    const { folder } = await serveSite();
    const made = await runBerth(["backup", "now", "--data", folder, "--json"]);
    const { path, verified } = JSON.parse(made.stdout) as { path: string; verified: boolean };
    expect([made.code, verified]).toEqual([0, true]);
    expect((await runBerth(["verify", path])).code).toBe(0);
    expect((await runBerth(["backup", "list", "--data", folder])).stdout).toContain(path);
    const text = (await runBerth(["backup", "now", "--data", folder])).stdout;
    expect(text).toMatch(/^\/.*\.berth \(.* KiB\) is written and checked\./);
  });

  test("is refused with a hint if no server runs", async () => {
    const { data } = await makeSite();
    const { code, stderr } = await runBerth(["backup", "now", "--data", data]);
    expect([code, stderr]).toEqual([
      1,
      "berth: error: no server is running\n" +
        "berth: hint: start it, or write a backup without a server: berth backup FILE\n",
    ]);
  });
});
