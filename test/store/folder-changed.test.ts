// What a store does when somebody removes or replaces what it holds open.
import { describe, expect, onTestFinished, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { err } from "../../src/domain/result.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { FolderChanged } from "../../src/store/folder-changed.ts";
import type { StorageFault } from "../../src/store/group-commit.ts";
import { lockFolder } from "../../src/store/lock.ts";
import { makeDiskError, FaultyDisk, waitUntil } from "../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  openLicensedSite,
  listSegmentNames,
  openAndCloseFolder,
  readState,
  type OpenSite,
} from "../support/licensed-store.ts";
import { register } from "../support/scenario.ts";

const FAILED = err<StorageFault>({ code: "storage_failed" });

/** Waits for the store to give up, and says why it did. */
async function givenUp({ store, fatalErrors }: OpenSite): Promise<FolderChanged> {
  await waitUntil(() => fatalErrors.length > 0);
  const [error, ...more] = fatalErrors;
  expect(more).toEqual([]);
  if (!(error instanceof FolderChanged)) throw new Error(`it ended with ${String(error)}`);
  expect(store.health()).toMatchObject({ fault: { code: "storage_failed" }, changed: error });
  expect(await transactCommand(store, register("zoe"))).toEqual(FAILED);
  expect(await store.read((state) => state.nextSlot)).toEqual(FAILED);
  return error;
}

const segmentOf = (folder: string): string => join(folder, listSegmentNames(folder).at(-1) ?? "");

describe("a store whose folder is replaced", () => {
  const replace = (folder: string): string => {
    renameSync(folder, `${folder}-moved`);
    mkdirSync(folder, { mode: 0o700 });
    return `${folder}-moved`;
  };

  test("notices it before it rotates the journal, and writes nothing there", async () => {
    const site = await openLicensedSite();
    await transactOrThrow(site.store, register("ada"));
    const before = await readState(site.store);
    const moved = replace(site.folder);
    await site.store.checkpoint();
    expect(readdirSync(site.folder)).toEqual([]);
    const { message, hint } = await givenUp(site);
    expect(message).toBe(
      `${site.folder} was replaced by another folder while the server was running`,
    );
    expect(hint).toContain("put it back, then start");
    await site.stop();
    expect(readdirSync(site.folder)).toEqual([]);
    expect((await openAndCloseFolder(moved)).state).toEqual(before);
  });

  test("notices it by itself within a few seconds", async () => {
    const site = await openLicensedSite();
    replace(site.folder);
    expect((await givenUp(site)).message).toContain("was replaced by another folder");
  });

  test("notices it before it reads back what is on disk", async () => {
    const disk = new FaultyDisk();
    const site = await openLicensedSite({ disk });
    replace(site.folder);
    disk.bytesLeft = 0;
    expect(await transactCommand(site.store, register("ada"))).toMatchObject({ ok: false });
    expect((await givenUp(site)).message).toContain("was replaced by another folder");
    expect(readdirSync(site.folder)).toEqual([]);
  });

  test("by one that is gone says so", async () => {
    const site = await openLicensedSite();
    renameSync(site.folder, `${site.folder}-moved`);
    expect((await givenUp(site)).message).toBe(
      `${site.folder} was removed or renamed while the server was running`,
    );
    await site.stop();
    expect(existsSync(site.folder)).toBe(false);
  });
});

describe("a store whose journal is removed", () => {
  test("writes it again: the next start has all that was answered", async () => {
    const site = await openLicensedSite();
    await site.store.checkpoint();
    await transactOrThrow(site.store, register("ada"));
    const before = await readState(site.store);
    const path = segmentOf(site.folder);
    const bytes = readFileSync(path);
    rmSync(path);
    const { message, hint } = await givenUp(site);
    expect(message).toBe(`${path} was removed while the server was running; it was written again`);
    expect(hint).toStartWith("start the server again: no acknowledged change is lost; ");
    expect(readFileSync(path)).toEqual(bytes);
    await site.stop();
    expect((await openAndCloseFolder(site.folder)).state).toEqual(before);
  });

  test("answers those whose line is not in it with storage_failed", async () => {
    const disk = new FaultyDisk();
    const site = await openLicensedSite({ disk });
    await transactOrThrow(site.store, register("ada"));
    rmSync(segmentOf(site.folder));
    const syncs = disk.block("syncData");
    const first = transactCommand(site.store, register("bob"));
    await waitUntil(() => syncs.count === 1);
    const second = transactCommand(site.store, register("cem"));
    await waitUntil(() => site.store.health().fault !== null);
    syncs.releaseAll();
    expect((await first).ok).toBe(true);
    expect(await second).toEqual(FAILED);
    await givenUp(site);
    await site.stop();
    const users = [...(await openAndCloseFolder(site.folder)).state.licenses].map(([, one]) => one);
    expect(JSON.stringify(users)).toContain("bob");
    expect(JSON.stringify(users)).not.toContain("cem");
  });

  test("and cannot be written again says what is lost", async () => {
    const disk = new FaultyDisk();
    const site = await openLicensedSite({ disk });
    await site.store.checkpoint();
    await transactOrThrow(site.store, register("ada"));
    const path = segmentOf(site.folder);
    rmSync(path);
    disk.bytesLeft = 10;
    const { message, hint } = await givenUp(site);
    expect(message).toBe(
      `${path} was removed while the server was running and cannot be written again (ENOSPC: told to): changes acknowledged after line 2 are lost`,
    );
    expect(hint).toStartWith("restore a backup with berth restore FILE; ");
    expect(readdirSync(site.folder).filter((name) => name.endsWith(".new"))).toEqual([]);
  });

  test("says so on a full disk as well, and does not make an empty one instead", async () => {
    const disk = new FaultyDisk();
    const site = await openLicensedSite({ disk });
    const path = segmentOf(site.folder);
    rmSync(path);
    disk.bytesLeft = 0;
    expect(await transactCommand(site.store, register("ada"))).toMatchObject({ ok: false });
    expect((await givenUp(site)).message).toContain("are lost");
    expect(existsSync(path)).toBe(false);
  });

  test("beside segments that no checkpoint covers does not say that nothing is lost", async () => {
    const site = await openLicensedSite({
      checkpoint: () => Promise.reject(new Error("no checkpoint today")),
    });
    await site.store.checkpoint();
    await transactOrThrow(site.store, register("ada"));
    for (const name of listSegmentNames(site.folder)) rmSync(join(site.folder, name));
    expect((await givenUp(site)).hint).toStartWith(
      "start the server again: check the rest of the journal with berth verify; ",
    );
  });

  test("at the very end is noticed by the stop", async () => {
    const site = await openLicensedSite();
    await transactOrThrow(site.store, register("ada"));
    const before = await readState(site.store);
    rmSync(segmentOf(site.folder));
    await site.stop();
    expect((await givenUp(site)).message).toContain("was removed while the server was running");
    expect((await openAndCloseFolder(site.folder)).state).toEqual(before);
  });
});

test("a store whose journal is replaced keeps the other file and puts its own back", async () => {
  const site = await openLicensedSite();
  await transactOrThrow(site.store, register("ada"));
  const before = await readState(site.store);
  const path = segmentOf(site.folder);
  copyFileSync(path, `${path}~`);
  writeFileSync(`${path}~`, "edited\n");
  renameSync(`${path}~`, path);
  const { message } = await givenUp(site);
  expect(message).toBe(
    `${path} was replaced while the server was running; it was written again, and the replacement is kept as ${path}.replaced`,
  );
  expect(readFileSync(`${path}.replaced`, "utf8")).toBe("edited\n");
  await site.stop();
  expect((await openAndCloseFolder(site.folder)).state).toEqual(before);
});

describe("a store whose lock file is removed", () => {
  test("keeps its folder, makes the file again and says so", async () => {
    const { store, folder, fatalErrors } = await openLicensedSite();
    const path = join(folder, "lock");
    rmSync(path);
    expect(realDisk.lockFolder(folder)).toBeNull();
    await waitUntil(() => store.health().notes.length > 0);
    expect(store.health().notes).toEqual([
      `${path} was removed or replaced, and was created again`,
    ]);
    expect(readFileSync(path, "utf8")).toBe(String(process.pid));
    expect(lockFolder(realDisk, folder)).rejects.toThrow(`is in use by process ${process.pid} (`);
    await transactOrThrow(store, register("ada"));
    expect(fatalErrors).toEqual([]);
  });

  test("makes it again before a checkpoint, which looks for its server there", async () => {
    const { store, folder } = await openLicensedSite();
    rmSync(join(folder, "lock"));
    await store.checkpoint();
    expect(store.health().checkpointError).toBeNull();
    expect(readFileSync(join(folder, "lock"), "utf8")).toBe(String(process.pid));
  });

  test("gives up when another process has taken the new one", async () => {
    const site = await openLicensedSite();
    const path = join(site.folder, "lock");
    rmSync(path);
    // As a version does that locks the file alone.
    const other = realDisk.lock(path);
    onTestFinished(() => other?.release());
    other?.note(String(process.pid));
    const { message } = await givenUp(site);
    expect(message).toStartWith(`${path} was removed or replaced, and process ${process.pid} (`);
    expect(message).toEndWith(") now uses the folder too");
  });
});

test("a disk that does not say what it holds is not taken for one that was changed", async () => {
  const disk = new FaultyDisk();
  const { store, fatalErrors } = await openLicensedSite({ disk });
  let looked = 0;
  disk.beforeCall = ({ name }) => {
    if (name !== "stat") return;
    looked += 1;
    throw makeDiskError("EIO");
  };
  await waitUntil(() => looked > 1);
  expect((await transactCommand(store, register("ada"))).ok).toBe(true);
  expect(fatalErrors).toEqual([]);
});
