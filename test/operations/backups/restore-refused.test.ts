// A refused restore changes nothing, and reports what --accept-loss would accept.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AuditMaintenance } from "../../../src/operations/audit/audit-maintenance.ts";
import { FolderBusy } from "../../../src/store/folder/lock.ts";
import {
  APPLIANCE_ID,
  backUpFolder,
  openSiteWithKey,
  flipBit,
  readBackupState,
  checkpointKeepingMonths,
  openSiteWithHistory,
  newBackupPath,
  catchRefusal,
  restoreTo,
  readFolderState,
  readStoreFiles,
  verifyFolder,
} from "../../support/backup-site.ts";
import {
  transactOrThrow,
  transactInOneBatch,
  unwrap,
  openSite,
  openAndCloseFolder,
} from "../../support/licensed-store.ts";
import { consume, register, unregister, utc } from "../../support/scenario.ts";
import { contentsOf, copyFolder, tempFolder } from "../../support/temp-folder.ts";

const OTHER_APPLIANCE = "APPLIANCE0000002";

const hintFor = (folder: string): string =>
  `berth restore --accept-loss restores anyway and keeps the current contents of ${folder}`;

/** A copy that is not locked, with the files that a start leaves. */
async function copyStoppedFolder(folder: string): Promise<string> {
  const copy = copyFolder(folder);
  await openAndCloseFolder(copy);
  return copy;
}

/** Checks that the restore is refused with this message and changes nothing. */
async function expectRefusal(folder: string, file: string, message: string): Promise<void> {
  const before = contentsOf(folder);
  expect(await catchRefusal(restoreTo(folder, file))).toEqual({
    name: "BackupRefused",
    message,
    hint: hintFor(folder),
  });
  expect(contentsOf(folder)).toEqual(before);
}

/** Restores with `acceptLoss` and checks the reported loss; null: it is unknown. */
async function restoreWithLoss(
  folder: string,
  file: string,
  expectedLoss: number | null,
): Promise<void> {
  const before = readStoreFiles(folder);
  const backedUp = await readBackupState(file);
  const report = await restoreTo(folder, file, { acceptLoss: true });
  expect(report.lostLines).toBe(expectedLoss);
  expect(readStoreFiles(report.replacedFolder ?? "")).toEqual(before);
  expect((await readFolderState(folder)).seq).toBe(backedUp.seq + 1);
  await verifyFolder(folder);
}

describe("restore without --accept-loss is refused", () => {
  test("when the backup is one line older than the folder", async () => {
    const { folder, store } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const { seq } = store.status();
    await transactOrThrow(store, register("dua"));
    const copy = await copyStoppedFolder(folder);
    await expectRefusal(
      copy,
      file,
      `${file} is older than ${copy}: 1 change since then would be lost (from line ${seq + 1} on)`,
    );
    await restoreWithLoss(copy, file, 1);
    const [restore] = (await readFolderState(copy)).state.restores;
    expect(restore).toMatchObject({ seq, replaced: seq + 1 });
  });

  test("when the backup is three lines older, though they are not in the audit log", async () => {
    const { folder, store } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const { seq } = store.status();
    for (const user of ["cem", "bob", "cem"]) await transactOrThrow(store, register(user));
    const copy = await copyStoppedFolder(folder);
    await expectRefusal(
      copy,
      file,
      `${file} is older than ${copy}: 3 changes since then would be lost (from line ${seq + 1} on)`,
    );
    await restoreWithLoss(copy, file, 3);
  });

  test("when the only newer line is from an earlier restore of the same backup", async () => {
    const { folder, store } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const copy = await copyStoppedFolder(folder);
    await restoreTo(copy, file);
    await expectRefusal(
      copy,
      file,
      `${file} is older than ${copy}: 1 change since then would be lost (from line ${store.status().seq + 1} on)`,
    );
  });

  test("when backup and folder diverged, though the backup has more lines", async () => {
    const { folder, store } = await openSiteWithHistory();
    const diverged = await copyStoppedFolder(folder);
    await restoreTo(diverged, await backUpFolder(folder));
    const last = (await readFolderState(diverged)).seq;
    await transactInOneBatch(store, register("dua"), register("eve"), register("fay"));
    const file = await backUpFolder(folder);
    await expectRefusal(
      diverged,
      file,
      `${file} does not continue the contents of ${diverged}: they differ from before line ${last}`,
    );
    await restoreWithLoss(diverged, file, null);
  });

  test("when backup and folder diverged and have equally many lines", async () => {
    const { folder, store } = await openSiteWithHistory();
    const diverged = await copyStoppedFolder(folder);
    await restoreTo(diverged, await backUpFolder(folder));
    await transactOrThrow(store, register("dua"));
    const file = await backUpFolder(folder);
    const last = (await readFolderState(diverged)).seq;
    expect(store.status().seq).toBe(last);
    await expectRefusal(
      diverged,
      file,
      `${file} does not continue the contents of ${diverged}: they differ from before line ${last}`,
    );
  });

  test("when the backup is of another appliance", async () => {
    const { folder } = await openSiteWithHistory();
    const other = await openSiteWithKey({}, OTHER_APPLIANCE);
    const file = await backUpFolder(other.folder);
    const copy = await copyStoppedFolder(folder);
    await expectRefusal(
      copy,
      file,
      `${copy} is of appliance ${APPLIANCE_ID}, but ${file} is of appliance ${OTHER_APPLIANCE}`,
    );
    await restoreWithLoss(copy, file, null);
    expect((await readFolderState(copy)).state.restores).toMatchObject([{ replaced: null }]);
  });

  test("when the folder cannot be read", async () => {
    const { folder } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const copy = await copyStoppedFolder(folder);
    flipBit(join(copy, "state.json"), 99);
    await expectRefusal(
      copy,
      file,
      `it is unknown which changes would be lost: ${join(copy, "state.json")} does not match its checksum`,
    );
    await restoreWithLoss(copy, file, null);
    expect((await readFolderState(copy)).state.restores).toMatchObject([{ replaced: null }]);
  });

  test("when the state is missing, but its journal exists", async () => {
    const { folder } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const copy = await copyStoppedFolder(folder);
    rmSync(join(copy, "state.json"));
    await expectRefusal(
      copy,
      file,
      "it is unknown which changes would be lost: its state is missing",
    );
    await restoreWithLoss(copy, file, null);
  });

  test("when the backup no longer has the month in which the folder ends", async () => {
    const { folder, store, clock } = await openSiteWithKey({
      checkpoint: checkpointKeepingMonths(1),
    });
    const olderFolder = await copyStoppedFolder(folder);
    await transactOrThrow(store, register("ada"));
    await transactOrThrow(store, unregister("ada"));
    for (const month of ["04", "05"]) {
      clock.now = utc(`2026-${month}-01T00:00:00Z`);
      await transactOrThrow(store, consume(1));
      await store.checkpoint();
    }
    const file = await backUpFolder(folder);
    await expectRefusal(
      olderFolder,
      file,
      `cannot determine whether ${file} continues the contents of ${olderFolder}: its audit log begins later, at line 5`,
    );
    await restoreWithLoss(olderFolder, file, null);
  });

  test("when the backup has sealed the month in which the folder ends", async () => {
    const { folder, store, clock } = await openSiteWithKey();
    const olderFolder = await copyStoppedFolder(folder);
    await transactOrThrow(store, consume(1));
    const last = await copyStoppedFolder(folder);
    clock.now = utc("2026-04-01T00:00:00Z");
    await transactOrThrow(store, consume(1));
    unwrap(await new AuditMaintenance(store).seal("2026-03", { note: "", peer: "" }));
    const file = await backUpFolder(folder);
    await expectRefusal(
      olderFolder,
      file,
      `cannot determine whether ${file} continues the contents of ${olderFolder}: its audit log lacks line 2`,
    );
    await restoreWithLoss(olderFolder, file, null);
    // The checksum of the last line of a gap is known.
    expect((await restoreTo(last, file)).lostLines).toBe(0);
  });
});

test("restore detects that folder and backup diverged at the last line before the backup's audit log", async () => {
  const { folder, store, clock } = await openSiteWithKey({
    checkpoint: checkpointKeepingMonths(1),
  });
  const diverged = await openSite({ folder: copyFolder(folder) });
  await transactOrThrow(diverged.store, consume(5));
  await diverged.stop();
  await transactOrThrow(store, consume(1));
  for (const month of ["04", "05"]) {
    clock.now = utc(`2026-${month}-01T00:00:00Z`);
    await transactOrThrow(store, consume(1));
    await store.checkpoint();
  }
  const file = await backUpFolder(folder);
  expect((await verifyFolder(folder)).auditLog.from).toBe(4);
  await expectRefusal(
    diverged.folder,
    file,
    `${file} does not continue the contents of ${diverged.folder}: they differ from before line 3`,
  );
});

describe("restore with --accept-loss", () => {
  test("refuses a damaged backup and changes nothing", async () => {
    const { folder } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    flipBit(file, 2_000);
    const copy = await copyStoppedFolder(folder);
    const before = contentsOf(copy);
    const { name, hint } = await catchRefusal(restoreTo(copy, file, { acceptLoss: true }));
    expect([name, hint]).toEqual(["BackupRefused", "use another backup file"]);
    expect(contentsOf(copy)).toEqual(before);
  });

  test("refuses a folder that a server uses and changes nothing", async () => {
    const { folder } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const before = contentsOf(folder);
    expect(restoreTo(folder, file, { acceptLoss: true })).rejects.toBeInstanceOf(FolderBusy);
    expect(contentsOf(folder)).toEqual(before);
  });

  test("refuses a folder with other files and changes nothing", async () => {
    const { folder } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const otherFolder = tempFolder();
    writeFileSync(join(otherFolder, "holiday.jpg"), "sun");
    expect(await catchRefusal(restoreTo(otherFolder, file, { acceptLoss: true }))).toMatchObject({
      name: "FolderRefused",
      message: `${otherFolder} contains other files and is not a data folder`,
    });
    expect(Object.keys(contentsOf(otherFolder))).toEqual([".", "holiday.jpg"]);
  });

  test("succeeds after a restore without it was refused, because that released the lock", async () => {
    const { folder, store } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    await transactOrThrow(store, register("dua"));
    const copy = await copyStoppedFolder(folder);
    await catchRefusal(restoreTo(copy, file));
    await openAndCloseFolder(copy);
    await restoreTo(copy, file, { acceptLoss: true });
    await openAndCloseFolder(copy);
  });
});

describe("restore of an unusable backup", () => {
  test("creates no folder when the backup is damaged, truncated or missing", async () => {
    const { folder } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const bytes = readFileSync(file);
    for (const damage of [
      () => flipBit(file, 2_000),
      () => writeFileSync(file, bytes.subarray(0, -4_096)),
      () => writeFileSync(file, ""),
      () => rmSync(file),
    ]) {
      writeFileSync(file, bytes);
      damage();
      const newFolder = join(tempFolder(), "data");
      expect((await catchRefusal(restoreTo(newFolder, file))).name).toBe("BackupRefused");
      expect(existsSync(newFolder)).toBe(false);
    }
  });

  test("leaves an empty folder usable for a first start", async () => {
    const newFolder = join(tempFolder(), "data");
    mkdirSync(newFolder, { mode: 0o700 });
    const file = newBackupPath();
    expect(await catchRefusal(restoreTo(newFolder, file))).toEqual({
      name: "BackupRefused",
      message: `${file} does not exist`,
      hint: "check the file name",
    });
    expect((await openAndCloseFolder(newFolder)).seq).toBe(1);
  });
});
