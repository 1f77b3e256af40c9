// A restore that was killed, or met a bad disk, anywhere: what was there or what should be there is
// found by the next start, never something of both, and nothing is lost.
import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { makeBackup } from "../../src/store/backup.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { RestoreUnfinished } from "../../src/store/refusal.ts";
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
} from "../support/backup-site.ts";
import { makeDiskError, failCallAt, FaultyDisk } from "../support/faulty-disk.ts";
import { transactOrThrow, openAndCloseFolder, type StateDump } from "../support/licensed-store.ts";
import { register } from "../support/scenario.ts";
import { contentsOf, copyFolder, tempFolder } from "../support/temp-folder.ts";

interface Prepared {
  readonly folder: string;
  readonly file: string;
  readonly old: { readonly state: StateDump; readonly seq: number };
  readonly held: { readonly state: StateDump; readonly seq: number };
  /** The old files, byte for byte. */
  readonly files: Record<string, string>;
}

/** A backup with two segments, and the folder it is to replace, which has more, and credentials. */
async function prepared(): Promise<Prepared> {
  let fold = true;
  const { folder, store } = await openSiteWithHistory({
    checkpoint: async (path, open) => {
      if (fold) await checkpoint(realDisk, path, open);
    },
  });
  fold = false;
  await store.checkpoint();
  await transactOrThrow(store, register("dua"));
  const file = await backUpFolder(folder);
  const held = await readBackupState(file);
  await transactOrThrow(store, register("eve"));
  await transactOrThrow(store, register("fay"));
  const copy = copyFolder(folder);
  const { state, seq } = await openAndCloseFolder(copy);
  await Bun.write(join(copy, "credentials.sealed"), "sealed");
  await Bun.write(join(copy, "sealing.key"), "key");
  return { folder: copy, file, held, old: { state, seq }, files: readStoreFiles(copy) };
}

/** From this call on nothing reaches the disk any more. */
function dieAt(disk: FaultyDisk, place: number): void {
  let count = 0;
  disk.beforeCall = () => {
    count += 1;
    if (count >= place) throw makeDiskError("EIO");
  };
}

const restoring = (site: Prepared, folder: string, disk: FaultyDisk): Promise<boolean> =>
  restoreTo(folder, site.file, { disk, acceptLoss: true }).then(
    () => true,
    () => false,
  );

/** A state without the restores that led to it. */
const beforeIt = (state: StateDump): StateDump => ({ ...state, restores: [] });

/** What the next start finds is all of the old or all of the new, with the old kept beside it. */
async function isOneOrTheOther(site: Prepared, folder: string): Promise<"old" | "new"> {
  const { state, seq, notes } = await openAndCloseFolder(folder);
  await verifyFolder(folder);
  for (const name of ["credentials.sealed", "sealing.key"]) {
    expect(existsSync(join(folder, name))).toBe(true);
  }
  const kept = findReplacedFolder(folder);
  if (kept === null) {
    expect({ state, seq, notes }).toEqual({ ...site.old, notes: [] });
    expect(readStoreFiles(folder)).toEqual(site.files);
    expect(listRestoreLeftovers(folder).filter((name) => name !== "restore.new")).toEqual([]);
    return "old";
  }
  expect(beforeIt(state)).toEqual(site.held.state);
  expect(state.restores).toMatchObject([{ seq: site.held.seq, replaced: site.old.seq }]);
  expect(seq).toBe(site.held.seq + 1);
  expect(readStoreFiles(kept)).toEqual(site.files);
  expect(listRestoreLeftovers(folder)).toEqual([]);
  if (notes.length > 0) {
    expect(notes).toEqual([
      `an interrupted restore was finished; the previous contents are in ${kept}`,
    ]);
  }
  return "new";
}

async function everyPlace(
  site: Prepared,
  harm: (disk: FaultyDisk, place: number) => void,
  each: (folder: string, place: number) => Promise<void>,
): Promise<number> {
  for (let place = 1; ; place += 1) {
    const folder = copyFolder(site.folder);
    const disk = new FaultyDisk();
    disk.hasRealSync = false;
    harm(disk, place);
    const made = await restoring(site, folder, disk);
    await each(folder, place);
    if (made) return place - 1;
  }
}

describe("a restore that is interrupted", () => {
  for (const [what, harm] of [
    ["by a kill", dieAt],
    ["by one bad call", (disk: FaultyDisk, place: number) => failCallAt(disk, place, "EIO")],
  ] as const) {
    test(`${what} at any call at all leaves the old folder or the new one`, async () => {
      const site = await prepared();
      const found = { old: 0, new: 0 };
      const places = await everyPlace(site, harm, async (folder, place) => {
        const which = await isOneOrTheOther(site, folder);
        expect([place, which === "old" && found.new > 0]).toEqual([place, false]);
        found[which] += 1;
        // And it stays that way.
        expect([place, await isOneOrTheOther(site, folder)]).toEqual([place, which]);
      });
      expect(places).toBeGreaterThan(90);
      expect(found.old).toBeGreaterThan(70);
      expect(found.new).toBeGreaterThan(25);
    });
  }

  test("for want of room leaves the old folder", async () => {
    const site = await prepared();
    for (let room = 0; room < 20_000; room += 997) {
      const folder = copyFolder(site.folder);
      const disk = new FaultyDisk();
      disk.bytesLeft = room;
      expect([room, await restoring(site, folder, disk)]).toEqual([room, false]);
      expect([room, await isOneOrTheOther(site, folder)]).toEqual([room, "old"]);
    }
  });

  test("and interrupted again while a start finishes it, at any two calls, is no worse", async () => {
    const site = await prepared();
    let twice = 0;
    await everyPlace(site, dieAt, async (folder, place) => {
      if (!listRestoreLeftovers(folder).some((name) => name !== "restore.new")) return;
      for (let next = 1 + (place % 3); ; next += 3) {
        const copy = copyFolder(folder);
        const disk = new FaultyDisk();
        disk.hasRealSync = false;
        dieAt(disk, next);
        const started = await openAndCloseFolder(copy, { disk }).then(
          () => true,
          () => false,
        );
        expect([place, next, await isOneOrTheOther(site, copy)]).toEqual([place, next, "new"]);
        if (started) break;
        twice += 1;
      }
    });
    expect(twice).toBeGreaterThan(150);
  });

  test("is made up for by the next one", async () => {
    const site = await prepared();
    await everyPlace(site, dieAt, async (folder, place) => {
      const kept = listRestoreLeftovers(folder).some((name) => name !== "restore.new");
      if (kept || place % 5 > 0) return;
      expect(await restoring(site, folder, new FaultyDisk())).toBe(true);
      expect([place, listRestoreLeftovers(folder)]).toEqual([place, []]);
    });
  });

  test("is not taken for a folder: no backup of something of both is made", async () => {
    const site = await prepared();
    const seen = { old: 0, refused: 0, new: 0 };
    await everyPlace(site, dieAt, async (folder, place) => {
      const out = newBackupPath();
      const before = contentsOf(folder);
      const made = await makeBackup(realDisk, folder, out, site.old.state.latestEventAt, {
        identity: checkIdentity,
      }).catch(() => null);
      expect([place, contentsOf(folder)]).toEqual([place, before]);
      const decided = listRestoreLeftovers(folder).some((name) => name !== "restore.new");
      if (made === null) {
        expect([place, decided]).toEqual([place, true]);
        seen.refused += 1;
        return;
      }
      expect([place, decided]).toEqual([place, false]);
      const { state, seq } = await readBackupState(out);
      if (seq === site.old.seq) {
        expect(state).toEqual(site.old.state);
        seen.old += 1;
      } else {
        expect(beforeIt(state)).toEqual(site.held.state);
        seen.new += 1;
      }
    });
    expect(seen.refused).toBeGreaterThan(20);
  });
});

describe("a restore that fails", () => {
  for (const [what, harm] of [
    ["from some call on", dieAt],
    ["at one call", (disk: FaultyDisk, place: number) => failCallAt(disk, place, "EIO")],
  ] as const) {
    test(`${what} says that it counts exactly when the next start finds the backup`, async () => {
      const site = await prepared();
      const found = { old: 0, new: 0 };
      for (let place = 1; ; place += 1) {
        const folder = copyFolder(site.folder);
        const disk = new FaultyDisk();
        disk.hasRealSync = false;
        harm(disk, place);
        const error = await restoreTo(folder, site.file, { disk, acceptLoss: true }).then(
          () => null,
          (failure: unknown) => failure,
        );
        if (error === null) break;
        const which = await isOneOrTheOther(site, folder);
        found[which] += 1;
        expect([place, error instanceof RestoreUnfinished]).toEqual([place, which === "new"]);
        if (!(error instanceof RestoreUnfinished)) continue;
        expect(error.message).toBe(
          `the restore took effect, but not all files are in place in ${folder}: EIO: told to`,
        );
        expect(error.hint).toBe("start the server: it finishes the restore");
      }
      expect(found.old).toBeGreaterThan(70);
      expect(found.new).toBeGreaterThan(25);
    });
  }

  test("as a move says besides not to call the move off on the old host", async () => {
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
      message: `the move took effect, but not all files are in place in ${folder}: EIO: told to`,
      hint: expect.stringMatching(
        /^start the server here: it finishes the move; do not cancel the move on the old host/,
      ),
    });
    const { notes, state } = await openAndCloseFolder(folder);
    expect(notes).toEqual(["an interrupted restore was finished"]);
    expect(state.restores).toMatchObject([{ moved: true }]);
  });

  test("again while a start finishes it says that it still counts", async () => {
    const site = await prepared();
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name, path }) => {
      if (name === "rename" && path.endsWith("identity.jwk")) throw makeDiskError("EIO");
    };
    expect(await restoring(site, site.folder, disk)).toBe(false);
    const error: unknown = await openAndCloseFolder(site.folder, { disk }).catch(
      (failure: unknown) => failure,
    );
    expect(error).toBeInstanceOf(RestoreUnfinished);
    expect(error).toMatchObject({ message: expect.stringContaining("EIO: told to") });
    disk.clearFaults();
    expect(await isOneOrTheOther(site, site.folder)).toBe("new");
  });
});

describe("a restore into a new folder that is interrupted", () => {
  test("at any call leaves nothing that counts, or the backup", async () => {
    const { file, held } = await prepared();
    const found = { nothing: 0, backup: 0 };
    for (let place = 1; ; place += 1) {
      const folder = join(tempFolder(), "data");
      const disk = new FaultyDisk();
      disk.hasRealSync = false;
      dieAt(disk, place);
      const made = await restoreTo(folder, file, { disk }).then(
        () => true,
        () => false,
      );
      const { seq, state, notes } = await openAndCloseFolder(folder);
      if (seq === 1) found.nothing += 1;
      else {
        expect({ seq, state: beforeIt(state) }).toEqual({
          seq: held.seq + 1,
          state: held.state,
        });
        expect(findReplacedFolder(folder)).toBeNull();
        if (notes.length > 0) expect(notes).toEqual(["an interrupted restore was finished"]);
        await verifyFolder(folder);
        found.backup += 1;
      }
      if (made) break;
    }
    expect(found.nothing).toBeGreaterThan(60);
    expect(found.backup).toBeGreaterThan(12);
  });
});
