// What a store does when its folder or one of its open files is removed or replaced.
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
import { err } from "../../../src/domain/result.ts";
import { verify } from "../../../src/operations/folder/verify.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { FolderChanged } from "../../../src/store/folder/folder-changed.ts";
import type { StorageFault } from "../../../src/store/journal/storage-fault.ts";
import { lockFolder } from "../../../src/store/folder/lock.ts";
import { makeDiskError, FaultyDisk } from "../../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  openLicensedSite,
  listSegmentNames,
  openAndCloseFolder,
  readState,
  type OpenSite,
} from "../../support/licensed-store.ts";
import { register } from "../../support/scenario.ts";
import { copyFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";

const FAILED = err<StorageFault>({ code: "storage_failed" });

/** Waits until the store stops itself, and returns the reason. */
async function waitForFolderChange({ store, fatalErrors }: OpenSite): Promise<FolderChanged> {
  await waitUntil(() => fatalErrors.length > 0);
  const [error, ...more] = fatalErrors;
  expect(more).toEqual([]);
  if (!(error instanceof FolderChanged)) throw new Error(`the store stopped with ${String(error)}`);
  expect(store.status()).toMatchObject({ fault: { code: "storage_failed" }, folderChange: error });
  expect(await transactCommand(store, register("zoe"))).toEqual(FAILED);
  expect(await store.read((state) => state.nextSlot)).toEqual(FAILED);
  return error;
}

const newestSegment = (folder: string): string =>
  join(folder, listSegmentNames(folder).at(-1) ?? "");

describe("store whose folder is replaced", () => {
  const replace = (folder: string): string => {
    renameSync(folder, `${folder}-moved`);
    mkdirSync(folder, { mode: 0o700 });
    return `${folder}-moved`;
  };

  test("detects it before it rotates the journal, and writes nothing into the new folder", async () => {
    const site = await openLicensedSite();
    await transactOrThrow(site.store, register("ada"));
    const before = await readState(site.store);
    const moved = replace(site.folder);
    await site.store.checkpoint();
    expect(readdirSync(site.folder)).toEqual([]);
    const { message, hint } = await waitForFolderChange(site);
    expect(message).toBe(
      `${site.folder} was replaced by another folder while the server was running`,
    );
    expect(hint).toContain("put it back, then start");
    await site.stop();
    expect(readdirSync(site.folder)).toEqual([]);
    expect((await openAndCloseFolder(moved)).state).toEqual(before);
  });

  test("detects it without any request within a few seconds", async () => {
    const site = await openLicensedSite();
    replace(site.folder);
    expect((await waitForFolderChange(site)).message).toContain("was replaced by another folder");
  });

  test("detects it before it reads the state back from disk", async () => {
    const disk = new FaultyDisk();
    const site = await openLicensedSite({ disk });
    replace(site.folder);
    disk.bytesLeft = 0;
    expect(await transactCommand(site.store, register("ada"))).toMatchObject({ ok: false });
    expect((await waitForFolderChange(site)).message).toContain("was replaced by another folder");
    expect(readdirSync(site.folder)).toEqual([]);
  });

  test("reports a folder that was removed with all files, and names the backup as the remedy", async () => {
    const site = await openLicensedSite();
    rmSync(site.folder, { recursive: true });
    const { message, hint } = await waitForFolderChange(site);
    expect(message).toBe(`${site.folder} was removed while the server was running`);
    expect(hint).toStartWith("restore a backup with berth restore FILE");
  });

  test("reports a folder that was renamed, and says that it has all changes", async () => {
    const site = await openLicensedSite();
    renameSync(site.folder, `${site.folder}-moved`);
    const { message, hint } = await waitForFolderChange(site);
    expect(message).toBe(`${site.folder} was removed or renamed while the server was running`);
    expect(hint).toStartWith("all acknowledged changes are in the original folder");
    await site.stop();
    expect(existsSync(site.folder)).toBe(false);
  });
});

describe("store whose journal is removed", () => {
  test("writes it again, and the next start finds all acknowledged changes", async () => {
    const site = await openLicensedSite();
    await site.store.checkpoint();
    await transactOrThrow(site.store, register("ada"));
    const before = await readState(site.store);
    const path = newestSegment(site.folder);
    const bytes = readFileSync(path);
    rmSync(path);
    const { message, hint } = await waitForFolderChange(site);
    expect(message).toBe(`${path} was removed while the server was running; it was written again`);
    expect(hint).toStartWith("start the server again: no acknowledged change is lost; ");
    expect(readFileSync(path)).toEqual(bytes);
    await site.stop();
    expect((await openAndCloseFolder(site.folder)).state).toEqual(before);
  });

  test("answers storage_failed to callers whose line is not in the journal", async () => {
    const disk = new FaultyDisk();
    const site = await openLicensedSite({ disk });
    await transactOrThrow(site.store, register("ada"));
    rmSync(newestSegment(site.folder));
    const syncs = disk.block("syncData");
    const first = transactCommand(site.store, register("bob"));
    await waitUntil(() => syncs.count === 1);
    const second = transactCommand(site.store, register("cem"));
    await waitUntil(() => site.store.status().fault !== null);
    syncs.releaseAll();
    expect((await first).ok).toBe(true);
    expect(await second).toEqual(FAILED);
    await waitForFolderChange(site);
    await site.stop();
    const licenses = [...(await openAndCloseFolder(site.folder)).state.licenses].map(
      ([, license]) => license,
    );
    expect(JSON.stringify(licenses)).toContain("bob");
    expect(JSON.stringify(licenses)).not.toContain("cem");
  });

  test("reports which changes are lost when it cannot be written again", async () => {
    const disk = new FaultyDisk();
    const site = await openLicensedSite({ disk });
    await site.store.checkpoint();
    await transactOrThrow(site.store, register("ada"));
    const path = newestSegment(site.folder);
    rmSync(path);
    disk.bytesLeft = 10;
    const { message, hint } = await waitForFolderChange(site);
    expect(message).toBe(
      `${path} was removed while the server was running and cannot be written again (ENOSPC: injected fault): changes acknowledged after line 2 are lost`,
    );
    expect(hint).toStartWith("restore a backup with berth restore FILE; ");
    expect(readdirSync(site.folder).filter((name) => name.endsWith(".new"))).toEqual([]);
  });

  test("reports the loss on a full disk too, and creates no empty journal", async () => {
    const disk = new FaultyDisk();
    const site = await openLicensedSite({ disk });
    const path = newestSegment(site.folder);
    rmSync(path);
    disk.bytesLeft = 0;
    expect(await transactCommand(site.store, register("ada"))).toMatchObject({ ok: false });
    expect((await waitForFolderChange(site)).message).toContain("are lost");
    expect(existsSync(path)).toBe(false);
  });

  test("does not claim that nothing is lost when removed segments are not covered by a checkpoint", async () => {
    const site = await openLicensedSite({
      checkpoint: () => Promise.reject(new Error("no checkpoint today")),
    });
    await site.store.checkpoint();
    await transactOrThrow(site.store, register("ada"));
    for (const name of listSegmentNames(site.folder)) rmSync(join(site.folder, name));
    expect((await waitForFolderChange(site)).hint).toStartWith(
      "start the server again: check the rest of the journal with berth verify; ",
    );
  });

  test("detects it while it closes", async () => {
    const site = await openLicensedSite();
    await transactOrThrow(site.store, register("ada"));
    const before = await readState(site.store);
    rmSync(newestSegment(site.folder));
    await site.stop();
    expect((await waitForFolderChange(site)).message).toContain(
      "was removed while the server was running",
    );
    expect((await openAndCloseFolder(site.folder)).state).toEqual(before);
  });
});

test("store whose journal is replaced keeps the replacement and writes its own journal again", async () => {
  const site = await openLicensedSite();
  await transactOrThrow(site.store, register("ada"));
  const before = await readState(site.store);
  const path = newestSegment(site.folder);
  copyFileSync(path, `${path}~`);
  writeFileSync(`${path}~`, "edited\n");
  renameSync(`${path}~`, path);
  const { message } = await waitForFolderChange(site);
  expect(message).toBe(
    `${path} was replaced while the server was running; it was written again, and the replacement is kept as ${path}.replaced`,
  );
  expect(readFileSync(`${path}.replaced`, "utf8")).toBe("edited\n");
  await site.stop();
  expect((await openAndCloseFolder(site.folder)).state).toEqual(before);
});

describe("store whose state.json is removed", () => {
  test("makes it again from the older state and the journal, and adds a note", async () => {
    const { store, folder, stop } = await openLicensedSite();
    await store.checkpoint();
    await transactOrThrow(store, register("ada"));
    await store.checkpoint();
    await transactOrThrow(store, register("bob"));
    const path = join(folder, "state.json");
    rmSync(path);
    const before = await readState(store);
    await waitUntil(() => store.status().notes.length > 0);
    expect(existsSync(path)).toBe(true);
    expect(store.status().notes).toEqual([
      `${path} was removed, and was made again from ${folder}/state-2.json and the journal`,
    ]);
    expect(store.health().warnings.map(({ code }) => code)).not.toContain("state_missing");
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(before);
    // Up to date again, and the audit log has each line once.
    await waitUntil(() => store.status().coveredSeq === store.status().seq);
    await stop();
    const { auditLog, head } = await verify(realDisk, folder, { identity() {} });
    expect(auditLog.to).toBe(head.auditSeq);
    expect((await openAndCloseFolder(folder)).state).toEqual(before);
  });

  test("makes it again when it stops", async () => {
    const { store, folder, stop } = await openLicensedSite();
    await transactOrThrow(store, register("ada"));
    const before = await readState(store);
    rmSync(join(folder, "state.json"));
    await stop();
    expect((await openAndCloseFolder(folder)).state).toEqual(before);
  });

  test("reports it if no older state is left, until the file is back", async () => {
    const { store, folder } = await openLicensedSite();
    await transactOrThrow(store, register("ada"));
    const codes = (): string[] => store.health().warnings.map(({ code }) => code);
    const path = join(folder, "state.json");
    renameSync(path, `${folder}.kept`);
    rmSync(join(folder, "state-0.json"));
    await waitUntil(() => codes().includes("state_missing"));
    await store.checkpoint();
    expect(store.status()).toMatchObject({ isStateMissing: true });
    expect(store.status().checkpointError).toBe(`${path} was removed`);
    await transactOrThrow(store, register("bob"));
    renameSync(`${folder}.kept`, path);
    await waitUntil(() => !codes().includes("state_missing"));
  });
});

describe("store whose lock file is removed", () => {
  test("keeps its folder locked, creates the file again and adds a note", async () => {
    const { store, folder, fatalErrors } = await openLicensedSite();
    const path = join(folder, "lock");
    rmSync(path);
    expect(realDisk.lockFolder(folder)).toBeNull();
    await waitUntil(() => store.status().notes.length > 0);
    expect(store.status().notes).toEqual([
      `${path} was removed or replaced, and was created again`,
    ]);
    expect(readFileSync(path, "utf8")).toBe(String(process.pid));
    expect(lockFolder(realDisk, folder)).rejects.toThrow(`is in use by process ${process.pid} (`);
    await transactOrThrow(store, register("ada"));
    expect(fatalErrors).toEqual([]);
  });

  test("creates it again before a checkpoint, which reads the server's pid from it", async () => {
    const { store, folder } = await openLicensedSite();
    rmSync(join(folder, "lock"));
    await store.checkpoint();
    expect(store.status().checkpointError).toBeNull();
    expect(readFileSync(join(folder, "lock"), "utf8")).toBe(String(process.pid));
  });

  test("stops when another process has locked the new file", async () => {
    const site = await openLicensedSite();
    const path = join(site.folder, "lock");
    rmSync(path);
    // As an older version does, which locks only the file.
    const other = realDisk.lock(path);
    onTestFinished(() => other?.release());
    other?.note(String(process.pid));
    const { message } = await waitForFolderChange(site);
    expect(message).toStartWith(`${path} was removed or replaced, and process ${process.pid} (`);
    expect(message).toEndWith(") now uses the folder too");
  });
});

test("store does not report a changed folder when stat fails with EIO", async () => {
  const disk = new FaultyDisk();
  const { store, fatalErrors } = await openLicensedSite({ disk });
  let statCalls = 0;
  disk.beforeCall = ({ name }) => {
    if (name !== "stat") return;
    statCalls += 1;
    throw makeDiskError("EIO");
  };
  await waitUntil(() => statCalls > 1);
  expect((await transactCommand(store, register("ada"))).ok).toBe(true);
  expect(fatalErrors).toEqual([]);
});
