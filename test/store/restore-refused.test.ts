// A restore that is refused has changed nothing, and says what somebody would have to agree to.
import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AuditMaintenance } from "../../src/operations/audit-maintenance.ts";
import { FolderBusy } from "../../src/store/lock.ts";
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
} from "../support/backup-site.ts";
import {
  transactOrThrow,
  transactInOneBatch,
  unwrap,
  openSite,
  openAndCloseFolder,
} from "../support/licensed-store.ts";
import { consume, register, unregister, utc } from "../support/scenario.ts";
import { contentsOf, copyFolder, tempFolder } from "../support/temp-folder.ts";

const OTHER = "APPLIANCE0000002";

const hintFor = (folder: string): string =>
  `berth restore --accept-loss restores anyway and keeps the current contents of ${folder}`;

/** Not locked, and with the files that a start leaves. */
async function atRest(folder: string): Promise<string> {
  const copy = copyFolder(folder);
  await openAndCloseFolder(copy);
  return copy;
}

/** Refused with this, and nothing is different afterwards. */
async function refusedWith(folder: string, file: string, message: string): Promise<void> {
  const before = contentsOf(folder);
  expect(await catchRefusal(restoreTo(folder, file))).toEqual({
    name: "BackupRefused",
    message,
    hint: hintFor(folder),
  });
  expect(contentsOf(folder)).toEqual(before);
}

/** With leave it is done after all; how much was lost, and whether that could be told. */
async function goesOn(folder: string, file: string, lost: number | null): Promise<void> {
  const before = readStoreFiles(folder);
  const held = await readBackupState(file);
  const report = await restoreTo(folder, file, { acceptLoss: true });
  expect(report.lostLines).toBe(lost);
  expect(readStoreFiles(report.replacedFolder ?? "")).toEqual(before);
  expect((await readFolderState(folder)).seq).toBe(held.seq + 1);
  await verifyFolder(folder);
}

describe("without leave to lose anything, a restore is refused", () => {
  test("when the backup is older by one line", async () => {
    const { folder, store } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const { seq } = store.health();
    await transactOrThrow(store, register("dua"));
    const copy = await atRest(folder);
    await refusedWith(
      copy,
      file,
      `${file} is older than ${copy}: 1 change since then would be lost (from line ${seq + 1} on)`,
    );
    await goesOn(copy, file, 1);
    const [restore] = (await readFolderState(copy)).state.restores;
    expect(restore).toMatchObject({ seq, replaced: seq + 1 });
  });

  test("when it is older by more, also by lines that are in no record", async () => {
    const { folder, store } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const { seq } = store.health();
    await transactInOneBatch(store, register("cem"), register("bob"), register("cem"));
    const copy = await atRest(folder);
    await refusedWith(
      copy,
      file,
      `${file} is older than ${copy}: 3 changes since then would be lost (from line ${seq + 1} on)`,
    );
    await goesOn(copy, file, 3);
  });

  test("when it was brought back before, and that is all there is since", async () => {
    const { folder, store } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const copy = await atRest(folder);
    await restoreTo(copy, file);
    await refusedWith(
      copy,
      file,
      `${file} is older than ${copy}: 1 change since then would be lost (from line ${store.health().seq + 1} on)`,
    );
  });

  test("when the two parted, though the backup goes further", async () => {
    const { folder, store } = await openSiteWithHistory();
    const elsewhere = await atRest(folder);
    await restoreTo(elsewhere, await backUpFolder(folder));
    const last = (await readFolderState(elsewhere)).seq;
    await transactInOneBatch(store, register("dua"), register("eve"), register("fay"));
    const file = await backUpFolder(folder);
    await refusedWith(
      elsewhere,
      file,
      `${file} does not continue the contents of ${elsewhere}: they differ from before line ${last}`,
    );
    await goesOn(elsewhere, file, null);
  });

  test("when the two parted and are equally long", async () => {
    const { folder, store } = await openSiteWithHistory();
    const elsewhere = await atRest(folder);
    await restoreTo(elsewhere, await backUpFolder(folder));
    await transactOrThrow(store, register("dua"));
    const file = await backUpFolder(folder);
    const last = (await readFolderState(elsewhere)).seq;
    expect(store.health().seq).toBe(last);
    await refusedWith(
      elsewhere,
      file,
      `${file} does not continue the contents of ${elsewhere}: they differ from before line ${last}`,
    );
  });

  test("when the backup is another appliance's, however old", async () => {
    const { folder } = await openSiteWithHistory();
    const other = await openSiteWithKey({}, OTHER);
    const file = await backUpFolder(other.folder);
    const copy = await atRest(folder);
    await refusedWith(
      copy,
      file,
      `${copy} is of appliance ${APPLIANCE_ID}, but ${file} is of appliance ${OTHER}`,
    );
    await goesOn(copy, file, null);
    expect((await readFolderState(copy)).state.restores).toMatchObject([{ replaced: null }]);
  });

  test("when what is there cannot be read", async () => {
    const { folder } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const copy = await atRest(folder);
    flipBit(join(copy, "state.json"), 99);
    await refusedWith(
      copy,
      file,
      `it is unknown which changes would be lost: ${join(copy, "state.json")} does not match its checksum`,
    );
    await goesOn(copy, file, null);
    expect((await readFolderState(copy)).state.restores).toMatchObject([{ replaced: null }]);
  });

  test("when the state is missing, but its journal exists", async () => {
    const { folder } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const copy = await atRest(folder);
    rmSync(join(copy, "state.json"));
    await refusedWith(
      copy,
      file,
      "it is unknown which changes would be lost: its state is missing",
    );
    await goesOn(copy, file, null);
  });

  test("when the backup let go of the time in which the folder stopped", async () => {
    const { folder, store, clock } = await openSiteWithKey({
      checkpoint: checkpointKeepingMonths(1),
    });
    const behind = await atRest(folder);
    await transactOrThrow(store, register("ada"));
    await transactOrThrow(store, unregister("ada"));
    for (const month of ["04", "05"]) {
      clock.now = utc(`2026-${month}-01T00:00:00Z`);
      await transactOrThrow(store, consume(1));
      await store.checkpoint();
    }
    const file = await backUpFolder(folder);
    await refusedWith(
      behind,
      file,
      `cannot determine whether ${file} continues the contents of ${behind}: its audit log begins later, at line 5`,
    );
    await goesOn(behind, file, null);
  });

  test("when the backup has the month sealed in which the folder stopped", async () => {
    const { folder, store, clock } = await openSiteWithKey();
    const behind = await atRest(folder);
    await transactOrThrow(store, consume(1));
    const last = await atRest(folder);
    clock.now = utc("2026-04-01T00:00:00Z");
    await transactOrThrow(store, consume(1));
    unwrap(await new AuditMaintenance(store).seal("2026-03", { note: "", peer: "" }));
    const file = await backUpFolder(folder);
    await refusedWith(
      behind,
      file,
      `cannot determine whether ${file} continues the contents of ${behind}: its audit log lacks line 2`,
    );
    await goesOn(behind, file, null);
    // The sum of a gap's last line is known.
    expect((await restoreTo(last, file)).lostLines).toBe(0);
  });
});

test("where the two parted is told even if it is the last line the backup let go of", async () => {
  const { folder, store, clock } = await openSiteWithKey({
    checkpoint: checkpointKeepingMonths(1),
  });
  const elsewhere = await openSite({ folder: copyFolder(folder) });
  await transactOrThrow(elsewhere.store, consume(5));
  await elsewhere.stop();
  await transactOrThrow(store, consume(1));
  for (const month of ["04", "05"]) {
    clock.now = utc(`2026-${month}-01T00:00:00Z`);
    await transactOrThrow(store, consume(1));
    await store.checkpoint();
  }
  const file = await backUpFolder(folder);
  expect((await verifyFolder(folder)).auditLog.from).toBe(4);
  await refusedWith(
    elsewhere.folder,
    file,
    `${file} does not continue the contents of ${elsewhere.folder}: they differ from before line 3`,
  );
});

describe("leave to lose something is not leave for everything", () => {
  test("a backup that is damaged is refused, and nothing changes", async () => {
    const { folder } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    flipBit(file, 2_000);
    const copy = await atRest(folder);
    const before = contentsOf(copy);
    const { name, hint } = await catchRefusal(restoreTo(copy, file, { acceptLoss: true }));
    expect([name, hint]).toEqual(["BackupRefused", "use another backup file"]);
    expect(contentsOf(copy)).toEqual(before);
  });

  test("a folder that a server holds is refused, and nothing changes", async () => {
    const { folder } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const before = contentsOf(folder);
    expect(restoreTo(folder, file, { acceptLoss: true })).rejects.toBeInstanceOf(FolderBusy);
    expect(contentsOf(folder)).toEqual(before);
  });

  test("a folder with somebody else's files is refused, and nothing changes", async () => {
    const { folder } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    const photos = tempFolder();
    writeFileSync(join(photos, "holiday.jpg"), "sun");
    expect(await catchRefusal(restoreTo(photos, file, { acceptLoss: true }))).toMatchObject({
      name: "FolderRefused",
      message: `${photos} contains other files and is not a data folder`,
    });
    expect(Object.keys(contentsOf(photos))).toEqual([".", "holiday.jpg"]);
  });

  test("a folder can be taken again after a refusal", async () => {
    const { folder, store } = await openSiteWithHistory();
    const file = await backUpFolder(folder);
    await transactOrThrow(store, register("dua"));
    const copy = await atRest(folder);
    await catchRefusal(restoreTo(copy, file));
    await openAndCloseFolder(copy);
    await restoreTo(copy, file, { acceptLoss: true });
    await openAndCloseFolder(copy);
  });
});

describe("a bad backup makes no new folder", () => {
  test("when it is damaged, cut off or missing", async () => {
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
      const fresh = join(tempFolder(), "data");
      expect((await catchRefusal(restoreTo(fresh, file))).name).toBe("BackupRefused");
      expect(existsSync(fresh)).toBe(false);
    }
  });

  test("and leaves an empty one as good as empty", async () => {
    const fresh = join(tempFolder(), "data");
    mkdirSync(fresh, { mode: 0o700 });
    const file = newBackupPath();
    expect(await catchRefusal(restoreTo(fresh, file))).toEqual({
      name: "BackupRefused",
      message: `${file} does not exist`,
      hint: "check the file name",
    });
    expect((await openAndCloseFolder(fresh)).seq).toBe(1);
  });
});
