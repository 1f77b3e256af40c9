// A restore that is killed, or meets a disk error, at any call. The next start finds either the old
// contents or the restored ones, never a mixture, and nothing is lost.
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { makeBackup } from "../../../src/operations/backups/backup.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { RestoreUnfinished } from "../../../src/store/folder/refusal.ts";
import {
  backUpFolder,
  readBackupState,
  checkIdentity,
  openSiteWithHistory,
  newBackupPath,
  findReplacedFolder,
  restoreTo,
  readStoreFiles,
  listRestoreLeftovers,
  verifyFolder,
} from "../../support/backup-site.ts";
import { makeDiskError, failCallAt, FaultyDisk } from "../../support/faulty-disk.ts";
import {
  transactOrThrow,
  openAndCloseFolder,
  type StateDump,
} from "../../support/licensed-store.ts";
import { register } from "../../support/scenario.ts";
import { contentsOf, copyFolder, tempFolder } from "../../support/temp-folder.ts";

interface RestoreSite {
  readonly folder: string;
  readonly file: string;
  readonly old: { readonly state: StateDump; readonly seq: number };
  readonly backedUp: { readonly state: StateDump; readonly seq: number };
  /** The files of the old folder, byte for byte. */
  readonly files: Record<string, string>;
}

/** A backup with two segments, and the folder to be replaced, with newer lines and credentials. */
async function prepareRestore(): Promise<RestoreSite> {
  let isCheckpointEnabled = true;
  const { folder, store } = await openSiteWithHistory({
    checkpoint: async (path, open) => {
      if (isCheckpointEnabled) await checkpoint(realDisk, path, open);
    },
  });
  isCheckpointEnabled = false;
  await store.checkpoint();
  await transactOrThrow(store, register("dua"));
  const file = await backUpFolder(folder);
  const backedUp = await readBackupState(file);
  await transactOrThrow(store, register("eve"));
  await transactOrThrow(store, register("fay"));
  const copy = copyFolder(folder);
  const { state, seq } = await openAndCloseFolder(copy);
  await Bun.write(join(copy, "credentials.sealed"), "sealed");
  await Bun.write(join(copy, "sealing.key"), "key");
  return { folder: copy, file, backedUp, old: { state, seq }, files: readStoreFiles(copy) };
}

/** Fails every disk call from this one on, as if the process were killed. */
function failFromCall(disk: FaultyDisk, callNumber: number): void {
  let count = 0;
  disk.beforeCall = () => {
    count += 1;
    if (count >= callNumber) throw makeDiskError("EIO");
  };
}

const tryRestore = (site: RestoreSite, folder: string, disk: FaultyDisk): Promise<boolean> =>
  restoreTo(folder, site.file, { disk, acceptLoss: true }).then(
    () => true,
    () => false,
  );

/** A state without its list of restores. */
const withoutRestores = (state: StateDump): StateDump => ({ ...state, restores: [] });

/** Checks that a start finds all of the old contents, or all of the new ones with the old kept. */
async function checkOldOrNew(site: RestoreSite, folder: string): Promise<"old" | "new"> {
  const { state, seq, notes } = await openAndCloseFolder(folder);
  await verifyFolder(folder);
  for (const name of ["credentials.sealed", "sealing.key"]) {
    expect(existsSync(join(folder, name))).toBe(true);
  }
  const replacedFolder = findReplacedFolder(folder);
  if (replacedFolder === null) {
    expect({ state, seq, notes }).toEqual({ ...site.old, notes: [] });
    expect(readStoreFiles(folder)).toEqual(site.files);
    expect(listRestoreLeftovers(folder).filter((name) => name !== "restore.new")).toEqual([]);
    return "old";
  }
  expect(withoutRestores(state)).toEqual(site.backedUp.state);
  expect(state.restores).toMatchObject([{ seq: site.backedUp.seq, replaced: site.old.seq }]);
  expect(seq).toBe(site.backedUp.seq + 1);
  expect(readStoreFiles(replacedFolder)).toEqual(site.files);
  expect(listRestoreLeftovers(folder)).toEqual([]);
  if (notes.length > 0) {
    expect(notes).toEqual([
      `an interrupted restore was finished; the previous contents are in ${replacedFolder}`,
    ]);
  }
  return "new";
}

async function forEachCall(
  site: RestoreSite,
  injectFault: (disk: FaultyDisk, callNumber: number) => void,
  checkFolder: (folder: string, callNumber: number) => Promise<void>,
): Promise<number> {
  for (let callNumber = 1; ; callNumber += 1) {
    const folder = copyFolder(site.folder);
    const disk = new FaultyDisk();
    disk.hasRealSync = false;
    injectFault(disk, callNumber);
    const hasSucceeded = await tryRestore(site, folder, disk);
    await checkFolder(folder, callNumber);
    if (hasSucceeded) return callNumber - 1;
  }
}

describe("restore that is interrupted", () => {
  for (const [what, injectFault] of [
    ["by a kill", failFromCall],
    [
      "by one failed call",
      (disk: FaultyDisk, callNumber: number) => failCallAt(disk, callNumber, "EIO"),
    ],
  ] as const) {
    test(`${what} at any disk call leaves the old contents or the new ones`, async () => {
      const site = await prepareRestore();
      const counts = { old: 0, new: 0 };
      const callCount = await forEachCall(site, injectFault, async (folder, callNumber) => {
        const version = await checkOldOrNew(site, folder);
        expect([callNumber, version === "old" && counts.new > 0]).toEqual([callNumber, false]);
        counts[version] += 1;
        // A second start finds the same.
        expect([callNumber, await checkOldOrNew(site, folder)]).toEqual([callNumber, version]);
      });
      expect(callCount).toBeGreaterThan(90);
      expect(counts.old).toBeGreaterThan(70);
      expect(counts.new).toBeGreaterThan(25);
    });
  }

  test("because the disk is full leaves the old contents", async () => {
    const site = await prepareRestore();
    for (let freeBytes = 0; freeBytes < 20_000; freeBytes += 997) {
      const folder = copyFolder(site.folder);
      const disk = new FaultyDisk();
      disk.bytesLeft = freeBytes;
      expect([freeBytes, await tryRestore(site, folder, disk)]).toEqual([freeBytes, false]);
      expect([freeBytes, await checkOldOrNew(site, folder)]).toEqual([freeBytes, "old"]);
    }
  });

  test("is finished by a later start, even when another start was interrupted at any call", async () => {
    const site = await prepareRestore();
    let interruptedTwice = 0;
    await forEachCall(site, failFromCall, async (folder, callNumber) => {
      if (!listRestoreLeftovers(folder).some((name) => name !== "restore.new")) return;
      for (let next = 1 + (callNumber % 3); ; next += 3) {
        const copy = copyFolder(folder);
        const disk = new FaultyDisk();
        disk.hasRealSync = false;
        failFromCall(disk, next);
        const started = await openAndCloseFolder(copy, { disk }).then(
          () => true,
          () => false,
        );
        expect([callNumber, next, await checkOldOrNew(site, copy)]).toEqual([
          callNumber,
          next,
          "new",
        ]);
        if (started) break;
        interruptedTwice += 1;
      }
    });
    expect(interruptedTwice).toBeGreaterThan(150);
  });

  test("can be repeated, and the second restore removes the leftovers", async () => {
    const site = await prepareRestore();
    await forEachCall(site, failFromCall, async (folder, callNumber) => {
      const replacedFolder = listRestoreLeftovers(folder).some((name) => name !== "restore.new");
      if (replacedFolder || callNumber % 5 > 0) return;
      expect(await tryRestore(site, folder, new FaultyDisk())).toBe(true);
      expect([callNumber, listRestoreLeftovers(folder)]).toEqual([callNumber, []]);
    });
  });

  test("is never backed up as a mixture of old and new files", async () => {
    const site = await prepareRestore();
    const counts = { old: 0, refused: 0, new: 0 };
    await forEachCall(site, failFromCall, async (folder, callNumber) => {
      const out = newBackupPath();
      const before = contentsOf(folder);
      const report = await makeBackup(realDisk, folder, out, site.old.state.latestEventAt, {
        identity: checkIdentity,
      }).catch(() => null);
      expect([callNumber, contentsOf(folder)]).toEqual([callNumber, before]);
      const hasTakenEffect = listRestoreLeftovers(folder).some((name) => name !== "restore.new");
      if (report === null) {
        expect([callNumber, hasTakenEffect]).toEqual([callNumber, true]);
        counts.refused += 1;
        return;
      }
      expect([callNumber, hasTakenEffect]).toEqual([callNumber, false]);
      const { state, seq } = await readBackupState(out);
      if (seq === site.old.seq) {
        expect(state).toEqual(site.old.state);
        counts.old += 1;
      } else {
        expect(withoutRestores(state)).toEqual(site.backedUp.state);
        counts.new += 1;
      }
    });
    expect(counts.refused).toBeGreaterThan(20);
  });
});

describe("restore that fails", () => {
  for (const [what, injectFault] of [
    ["from some call on", failFromCall],
    ["at one call", (disk: FaultyDisk, callNumber: number) => failCallAt(disk, callNumber, "EIO")],
  ] as const) {
    test(`${what} reports that it took effect exactly when the next start finds the backup`, async () => {
      const site = await prepareRestore();
      const counts = { old: 0, new: 0 };
      for (let callNumber = 1; ; callNumber += 1) {
        const folder = copyFolder(site.folder);
        const disk = new FaultyDisk();
        disk.hasRealSync = false;
        injectFault(disk, callNumber);
        const error = await restoreTo(folder, site.file, { disk, acceptLoss: true }).then(
          () => null,
          (failure: unknown) => failure,
        );
        if (error === null) break;
        const version = await checkOldOrNew(site, folder);
        counts[version] += 1;
        expect([callNumber, error instanceof RestoreUnfinished]).toEqual([
          callNumber,
          version === "new",
        ]);
        if (!(error instanceof RestoreUnfinished)) continue;
        expect(error.message).toBe(
          `the restore took effect, but not all files are in place in ${folder}: EIO: injected fault`,
        );
        expect(error.hint).toBe("start the server: it finishes the restore");
      }
      expect(counts.old).toBeGreaterThan(70);
      expect(counts.new).toBeGreaterThan(25);
    });
  }

  test("during a move adds the hint not to cancel the move on the old host", async () => {
    const { folder: old, store } = await openSiteWithHistory();
    await transactOrThrow(store, { type: "MoveAway", move: "m1", peer: "cli" });
    const file = await backUpFolder(old);
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name, path }) => {
      if (name === "rename" && path.endsWith("identity.jwk")) throw makeDiskError("EIO");
    };
    const folder = join(tempFolder(), "data");
    const error: unknown = await restoreTo(folder, file, { disk, isMove: true }).catch(
      (failure: unknown) => failure,
    );
    expect(error).toBeInstanceOf(RestoreUnfinished);
    expect(error).toMatchObject({
      message: `the move took effect, but not all files are in place in ${folder}: EIO: injected fault`,
      hint: expect.stringMatching(
        /^start the server here: it finishes the move; do not cancel the move on the old host/,
      ),
    });
    const { notes, state } = await openAndCloseFolder(folder);
    expect(notes).toEqual(["an interrupted restore was finished"]);
    expect(state.restores).toMatchObject([{ moved: true }]);
  });

  test("again during the next start reports again that it took effect", async () => {
    const site = await prepareRestore();
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name, path }) => {
      if (name === "rename" && path.endsWith("identity.jwk")) throw makeDiskError("EIO");
    };
    expect(await tryRestore(site, site.folder, disk)).toBe(false);
    const error: unknown = await openAndCloseFolder(site.folder, { disk }).catch(
      (failure: unknown) => failure,
    );
    expect(error).toBeInstanceOf(RestoreUnfinished);
    expect(error).toMatchObject({ message: expect.stringContaining("EIO: injected fault") });
    disk.clearFaults();
    expect(await checkOldOrNew(site, site.folder)).toBe("new");
  });
});

describe("restore into a new folder that is interrupted", () => {
  test("at any disk call leaves an unused folder or the complete backup", async () => {
    const { file, backedUp } = await prepareRestore();
    const counts = { nothing: 0, backup: 0 };
    for (let callNumber = 1; ; callNumber += 1) {
      const folder = join(tempFolder(), "data");
      const disk = new FaultyDisk();
      disk.hasRealSync = false;
      failFromCall(disk, callNumber);
      const hasSucceeded = await restoreTo(folder, file, { disk }).then(
        () => true,
        () => false,
      );
      const { seq, state, notes } = await openAndCloseFolder(folder);
      if (seq === 1) counts.nothing += 1;
      else {
        expect({ seq, state: withoutRestores(state) }).toEqual({
          seq: backedUp.seq + 1,
          state: backedUp.state,
        });
        expect(findReplacedFolder(folder)).toBeNull();
        if (notes.length > 0) expect(notes).toEqual(["an interrupted restore was finished"]);
        await verifyFolder(folder);
        counts.backup += 1;
      }
      if (hasSucceeded) break;
    }
    expect(counts.nothing).toBeGreaterThan(60);
    expect(counts.backup).toBeGreaterThan(12);
  });
});
