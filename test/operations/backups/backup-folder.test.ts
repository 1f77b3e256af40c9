import { describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  defaultBackupDirectory,
  makeStoredBackup,
  readApplianceId,
  readBackupFolder,
  type StoredBackupOptions,
} from "../../../src/operations/backups/backup-folder.ts";
import { folderChecks } from "../../../src/operations/folder/folder-checks.ts";
import { openBackup } from "../../../src/operations/backups/backup.ts";
import { later, DAY, HOUR, SECOND, type Instant } from "../../../src/domain/time.ts";
import { realDisk, type Disk } from "../../../src/platform/files/disk.ts";
import { flipBit } from "../../support/backup-site.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import { utc } from "../../support/scenario.ts";
import { makeLicensedSite } from "../../support/site-folder.ts";
import { contentsOf, modeOf, tempFolder } from "../../support/temp-folder.ts";

const NIGHT = utc("2026-11-17T02:30:00Z");

/** A new site with an empty backup folder. */
async function openSite(): Promise<{ dataFolder: string; directory: string; appliance: string }> {
  const root = tempFolder();
  const dataFolder = join(root, "data");
  await makeLicensedSite(dataFolder, { product: "cad", slots: 3 });
  const directory = join(root, "backups");
  mkdirSync(directory);
  const appliance = readApplianceId(realDisk, dataFolder);
  if (appliance === null) throw new Error("the site has no key");
  return { dataFolder, directory, appliance };
}

const backUp = (
  site: Pick<StoredBackupOptions, "dataFolder" | "directory">,
  now: Instant,
  keep = 7,
  disk: Disk = realDisk,
): ReturnType<typeof makeStoredBackup> =>
  makeStoredBackup(disk, { ...site, keep, now, checks: folderChecks });

const listNames = (directory: string): string[] => readdirSync(directory).toSorted();

async function refusalOf(attempt: Promise<unknown>): Promise<{ message: string; hint: string }> {
  try {
    await attempt;
  } catch (error) {
    const { message, hint } = error as { message: string; hint: string };
    return { message, hint };
  }
  throw new Error("expected a refusal");
}

describe("a scheduled backup", () => {
  test("is named after the appliance and the time, is for its owner only, and can be opened", async () => {
    const site = await openSite();
    const { name } = await backUp(site, NIGHT);
    expect(name).toBe(`berth-${site.appliance}-20261117T023000Z.berth`);
    const path = join(site.directory, name);
    expect(modeOf(path)).toBe("600");
    const { manifest } = await openBackup(realDisk, path, folderChecks);
    const { backups, isSameDisk } = readBackupFolder(realDisk, site);
    const size = realDisk.stat(path)?.size ?? 0;
    expect(backups).toEqual([{ name, madeAt: NIGHT, size, seq: manifest.seq, finding: null }]);
    expect(isSameDisk).toBe(true);
  });

  test("gets another name than one of the same second", async () => {
    const site = await openSite();
    const names = [];
    for (let count = 0; count < 3; count += 1) names.push((await backUp(site, NIGHT)).name);
    expect(names.map((name) => name.slice(-11))).toEqual([
      "3000Z.berth",
      "00Z-2.berth",
      "00Z-3.berth",
    ]);
    expect(readBackupFolder(realDisk, site).backups.length).toBe(3);
  });

  test("creates the folder in the data folder, for its owner only, but no other folder", async () => {
    const { dataFolder } = await openSite();
    const inside = { dataFolder, directory: defaultBackupDirectory(dataFolder) };
    await backUp(inside, NIGHT);
    expect(modeOf(inside.directory)).toBe("700");
    const missing = { dataFolder, directory: join(tempFolder(), "share") };
    expect(await refusalOf(backUp(missing, NIGHT))).toEqual({
      message: `the backup folder ${missing.directory} does not exist`,
      hint: "create it or mount its disk, or set backup_dir to another folder",
    });
    expect(existsSync(missing.directory)).toBe(false);
  });

  test("is refused in any other folder inside the data folder", async () => {
    const { dataFolder } = await openSite();
    for (const directory of [dataFolder, join(dataFolder, "history")]) {
      const before = contentsOf(dataFolder);
      const { message } = await refusalOf(backUp({ dataFolder, directory }, NIGHT));
      expect(message).toBe(`the backup folder ${directory} is inside the data folder`);
      expect(contentsOf(dataFolder)).toEqual(before);
    }
  });

  test("does not contain the backups before it", async () => {
    const { dataFolder } = await openSite();
    const inside = { dataFolder, directory: defaultBackupDirectory(dataFolder) };
    await backUp(inside, NIGHT);
    const { name } = await backUp(inside, later(NIGHT, DAY));
    const { archive } = await openBackup(realDisk, join(inside.directory, name), folderChecks);
    expect(archive.names.filter((file) => file.includes("berth"))).toEqual([]);
  });
});

describe("retention", () => {
  test("keeps the newest backups and removes older ones", async () => {
    const site = await openSite();
    const nights = [0, 1, 2, 3].map((day) => later(NIGHT, day * DAY));
    for (const night of nights) await backUp(site, night, 2);
    expect(readBackupFolder(realDisk, site).backups.map(({ madeAt }) => madeAt)).toEqual(
      nights.slice(2).toReversed(),
    );
  });

  test("keeps the new backup, whatever the number is", async () => {
    const site = await openSite();
    await backUp(site, NIGHT, 1);
    const { name } = await backUp(site, later(NIGHT, DAY), 0);
    expect(listNames(site.directory)).toEqual([name]);
  });

  test("removes nothing else from the folder", async () => {
    const site = await openSite();
    const { directory, appliance } = site;
    const other = await openSite();
    const foreign = (await backUp(other, NIGHT)).name;
    cpSync(join(other.directory, foreign), join(directory, foreign));
    // Backups with other names, of this appliance and of another one under this one's name.
    const old = (await backUp(site, later(NIGHT, -9 * DAY))).name;
    cpSync(join(directory, old), join(directory, "site.berth"));
    const disguised = `berth-${appliance}-20200101T000000Z.berth`;
    cpSync(join(other.directory, foreign), join(directory, disguised));
    const files = [
      "notes.txt",
      "berth.berth",
      `berth-${appliance}-20200102T000000Z.berth`,
      `berth-${appliance}-20200103T000000Z.berth.bak`,
      `berth-${appliance}-20200104T000000Z.tar`,
      "site.berth.0123456789abcdef.new",
      `berth-0000000000000000-20200105T000000Z.berth.0123456789abcdef.new`,
    ];
    for (const name of files) writeFileSync(join(directory, name), "of another program");
    mkdirSync(join(directory, "berth-older"));
    writeFileSync(join(directory, "berth-older", "a.berth"), "");
    mkdirSync(join(directory, `berth-${appliance}-20200107T000000Z.berth`));
    mkdirSync(join(directory, `berth-${appliance}-20200108T000000Z.berth.0123456789abcdef.new`));
    writeFileSync(join(directory, `berth-${appliance}-20200109T000000Z.berth.my-copy.new`), "copy");
    symlinkSync("/nowhere", join(directory, `berth-${appliance}-20200106T000000Z.berth`));
    const { [old]: _removed, ...kept } = contentsWithLinks(directory);
    const { name } = await backUp(site, NIGHT, 1);
    const { [name]: _added, ...after } = contentsWithLinks(directory);
    expect(after).toEqual(kept);
    expect(readBackupFolder(realDisk, site).backups).toEqual([
      expect.objectContaining({ name, finding: null }),
      expect.objectContaining({ finding: "it is damaged, or not complete" }),
      expect.objectContaining({ name: disguised, finding: "it is of another appliance" }),
    ]);
  });

  test("neither counts nor removes a damaged backup", async () => {
    const site = await openSite();
    const first = (await backUp(site, NIGHT, 2)).name;
    const damaged = (await backUp(site, later(NIGHT, HOUR), 2)).name;
    flipBit(join(site.directory, damaged), 0);
    const last = (await backUp(site, later(NIGHT, 2 * HOUR), 2)).name;
    expect(listNames(site.directory)).toEqual([first, damaged, last].toSorted());
  });

  test("neither counts nor removes a backup from the future", async () => {
    const site = await openSite();
    const future = (await backUp(site, later(NIGHT, 300 * DAY), 1)).name;
    const first = (await backUp(site, NIGHT, 1)).name;
    expect(listNames(site.directory)).toEqual([future, first].toSorted());
    const second = (await backUp(site, later(NIGHT, DAY), 1)).name;
    expect(listNames(site.directory)).toEqual([future, second].toSorted());
  });

  test("removes what a killed backup left behind", async () => {
    const site = await openSite();
    const leftover = `berth-${site.appliance}-20261116T023000Z.berth.0123456789abcdef.new`;
    writeFileSync(join(site.directory, leftover), "half");
    const { name } = await backUp(site, NIGHT);
    expect(listNames(site.directory)).toEqual([name]);
  });
});

describe("in a folder where others can write", () => {
  test("links, folders and pipes with the name of a backup are neither listed nor counted", async () => {
    const site = await openSite();
    const { directory, appliance } = site;
    const { name: first } = await backUp(site, NIGHT);
    const disguise = (day: number): string =>
      join(directory, `berth-${appliance}-2026120${day}T000000Z.berth`);
    symlinkSync(first, disguise(1));
    symlinkSync(join(site.dataFolder, "identity.jwk"), disguise(2));
    mkdirSync(disguise(3));
    expect(Bun.spawnSync(["mkfifo", disguise(4)]).exitCode).toBe(0);
    const listed = () => readBackupFolder(realDisk, site).backups.map(({ name }) => name);
    expect(listed()).toEqual([first]);
    const { name: second } = await backUp(site, later(NIGHT, DAY), 2);
    expect(listed()).toEqual([second, first]);
  });

  test("a file that cannot be deleted does not keep a backup from being made", async () => {
    const site = await openSite();
    const first = (await backUp(site, NIGHT)).name;
    const leftover = `berth-${site.appliance}-20261116T023000Z.berth.0123456789abcdef.new`;
    writeFileSync(join(site.directory, leftover), "half");
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name, path }) => {
      const code = "EPERM";
      const isLocked = path.endsWith(first) || path.endsWith(leftover);
      if (name === "remove" && isLocked) throw Object.assign(new Error(code), { code, path });
    };
    const { name, removalFault } = await backUp(site, later(NIGHT, DAY), 1, disk);
    expect(removalFault).toBe(`${first} cannot be deleted (EPERM)`);
    expect(listNames(site.directory)).toEqual([first, leftover, name].toSorted());
    expect((await backUp(site, later(NIGHT, 2 * DAY), 1)).removalFault).toBeNull();
    expect(listNames(site.directory)).toHaveLength(1);
  });
});

describe("a backup that fails", () => {
  let site: Awaited<ReturnType<typeof openSite>>;
  let older: string;

  async function expectOlderKept(disk: FaultyDisk, message: RegExp): Promise<void> {
    site = await openSite();
    older = (await backUp(site, NIGHT)).name;
    const before = contentsOf(site.directory);
    const data = contentsOf(site.dataFolder);
    const refusal = await refusalOf(backUp(site, later(NIGHT, DAY), 1, disk));
    expect(refusal.message).toMatch(message);
    expect(contentsOf(site.directory)).toEqual(before);
    expect(contentsOf(site.dataFolder)).toEqual(data);
    expect(Object.keys(before)).toContain(older);
  }

  test("for lack of space is refused before anything is written, and keeps older backups", async () => {
    const disk = new FaultyDisk();
    disk.reportedFreeBytes = 1_000_000;
    await expectOlderKept(disk, /^a backup needs \d+\.\d\d MiB of free space on the disk of /);
    expect(disk.listCalls("open", "remove")).toEqual([]);
  });

  test("because the disk is full while it is written removes what it wrote", async () => {
    const disk = new FaultyDisk();
    disk.reportedFreeBytes = 1e12;
    disk.bytesLeft = 5_000;
    await expectOlderKept(disk, /ENOSPC/);
    expect(disk.listCalls("open").length).toBe(1);
  });

  test("because the copy is damaged keeps older backups", async () => {
    const disk = new FaultyDisk();
    const damagedPaths = new Set<string>();
    disk.beforeCall = ({ name, path }) => {
      if (name !== "readPart" || !path.endsWith(".new") || damagedPaths.has(path)) return;
      damagedPaths.add(path);
      flipBit(path, 3_000);
    };
    await expectOlderKept(disk, /damaged/);
  });

  test.each(["EACCES", "EROFS"])("with %s says what the server cannot write to", async (code) => {
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name, path }) => {
      if (name === "open") throw Object.assign(new Error(code), { code, path });
    };
    await expectOlderKept(disk, /^the server cannot write to the backup folder .* \(E/);
  });
});

test("a folder that the server may not look into is named, and what helps", async () => {
  const site = await openSite();
  const disk = new FaultyDisk();
  disk.mapStat = (path, stat) => {
    if (path !== site.directory) return stat;
    throw Object.assign(new Error("EACCES"), { code: "EACCES", path });
  };
  expect(await refusalOf(backUp(site, NIGHT, 7, disk))).toEqual({
    message: `the server cannot write to the backup folder ${site.directory} (EACCES)`,
    hint: "let the server's user write there; for a service, sudo berth service install then allows it in the unit",
  });
});

test("backups on another disk need space only for themselves", async () => {
  const site = await openSite();
  const disk = new FaultyDisk();
  disk.mapStat = (path, stat) => (path === site.directory ? { ...stat, identity: "99:1" } : stat);
  disk.reportedFreeBytes = 1_000_000;
  await backUp(site, NIGHT, 7, disk);
  expect(readBackupFolder(disk, site).isSameDisk).toBe(false);
  disk.reportedFreeBytes = 1_000;
  const { message } = await refusalOf(backUp(site, later(NIGHT, SECOND), 7, disk));
  expect(message).toContain("but only 0.00 MiB are free");
});

test("without a readable key, the backups of every appliance are listed", async () => {
  const site = await openSite();
  const { name } = await backUp(site, NIGHT);
  const damaged = { ...site, dataFolder: tempFolder() };
  expect(readBackupFolder(realDisk, damaged).backups.map((backup) => backup.name)).toEqual([name]);
});

/** Like `contentsOf`, but does not follow links. */
function contentsWithLinks(folder: string): Record<string, string> {
  const links = readdirSync(folder, { withFileTypes: true }).filter((file) =>
    file.isSymbolicLink(),
  );
  const copy = join(tempFolder(), "copy");
  cpSync(folder, copy, {
    recursive: true,
    filter: (path) => !links.some(({ name }) => path === join(folder, name)),
  });
  return { ...contentsOf(copy), ...Object.fromEntries(links.map(({ name }) => [name, "link"])) };
}
