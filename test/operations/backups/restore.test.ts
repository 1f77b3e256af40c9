import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../../../src/domain/model/limits.ts";
import {
  backUpFolder,
  openSiteWithKey,
  readBackupState,
  checkpointKeepingMonths,
  openSiteWithHistory,
  catchRefusal,
  findReplacedFolder,
  restoreTo,
  readFolderState,
  readStoreFiles,
  listRestoreLeftovers,
  verifyFolder,
} from "../../support/backup-site.ts";
import {
  transactOrThrow,
  transactInOneBatch,
  readJournal,
  openSite,
  openAndCloseFolder,
  readState,
} from "../../support/licensed-store.ts";
import { consume, MONDAY, register, utc } from "../../support/scenario.ts";
import { contentsOf, copyFolder, modeOf, tempFolder } from "../../support/temp-folder.ts";

const RESTORE_TIME = utc("2026-06-01T12:34:56.789Z");

/** A backup, and the folder it was made from, which has three more lines since then. */
async function prepareOlderBackup() {
  const { folder, store } = await openSiteWithHistory();
  const file = await backUpFolder(folder);
  const backedUp = await readBackupState(file);
  await transactOrThrow(store, register("dua"));
  await transactInOneBatch(store, register("eve"), register("fay"));
  return { folder: copyFolder(folder), file, backedUp, store };
}

const newFolder = (): string => join(tempFolder(), "data");

describe("restore into a new folder", () => {
  test("restores the state of the backup and writes a Restored event to the audit log", async () => {
    const { file, backedUp } = await prepareOlderBackup();
    const folder = newFolder();
    const { manifest, lineage, replacedFolder, lostLines } = await restoreTo(folder, file, {
      now: RESTORE_TIME,
    });
    expect({ replacedFolder, lostLines }).toEqual({ replacedFolder: null, lostLines: 0 });
    expect(manifest.seq).toBe(backedUp.seq);
    expect(lineage).toMatch(/^[0-9a-f]{32}$/);
    const restore = { lineage, at: RESTORE_TIME, seq: backedUp.seq, replaced: null };
    expect(await openAndCloseFolder(folder)).toEqual({
      state: { ...backedUp.state, latestEventAt: RESTORE_TIME, restores: [restore] },
      seq: backedUp.seq + 1,
      notes: [],
    });
    const { line } = readJournal(folder).at(-1) ?? {};
    expect(line).toMatchObject({
      seq: backedUp.seq + 1,
      from: backedUp.seq + 1,
      at: RESTORE_TIME,
      audit_seq: manifest.audit_seq + 1,
      events: [{ type: "Restored", at: RESTORE_TIME, restore }],
    });
    expect(await verifyFolder(folder)).toMatchObject({
      head: { seq: backedUp.seq + 1, auditSeq: manifest.audit_seq + 1 },
      generations: [5],
      tornBytes: 0,
    });
    expect([listRestoreLeftovers(folder), findReplacedFolder(folder)]).toEqual([[], null]);
  });

  test("makes all files accessible only to their owner", async () => {
    const { file } = await prepareOlderBackup();
    const folder = newFolder();
    await restoreTo(folder, file);
    for (const name of Object.keys(contentsOf(folder))) {
      const mode = name === "." || name === "history" ? "700" : "600";
      expect([name, modeOf(join(folder, name))]).toEqual([name, mode]);
    }
  });

  test("leaves a folder that a server can use and whose older checkpoint can be restored", async () => {
    const { file, backedUp } = await prepareOlderBackup();
    const folder = newFolder();
    await restoreTo(folder, file);
    const site = await openSite({ folder });
    site.clock.now = backedUp.state.latestEventAt;
    await transactOrThrow(site.store, register("gil"));
    await site.store.checkpoint();
    expect(site.store.status().checkpointError).toBeNull();
    const state = await readState(site.store);
    expect(state.restores).toHaveLength(1);
    await site.stop();
    expect((await openAndCloseFolder(folder)).state).toEqual(state);
    expect((await verifyFolder(folder)).generations).toHaveLength(1);
    writeFileSync(join(folder, "state.json"), "");
    expect((await catchRefusal(verifyFolder(folder))).hint).toStartWith("cp -p ");
  });

  test("keeps an older state to fall back to from the start", async () => {
    const { file } = await prepareOlderBackup();
    const folder = newFolder();
    await restoreTo(folder, file);
    const state = await readFolderState(folder);
    writeFileSync(join(folder, "state.json"), "");
    const { hint } = await catchRefusal(readFolderState(folder));
    expect(Bun.spawnSync(["sh", "-c", hint]).exitCode).toBe(0);
    expect(await readFolderState(folder)).toEqual(state);
  });

  test("is never dated before the latest event of the backup", async () => {
    const { file, backedUp } = await prepareOlderBackup();
    const folder = newFolder();
    expect(backedUp.state.latestEventAt).toBeGreaterThan(MONDAY);
    await restoreTo(folder, file, { now: MONDAY });
    const { state } = await readFolderState(folder);
    expect(state.restores[0]?.at).toBe(backedUp.state.latestEventAt);
    expect(state.latestEventAt).toBe(backedUp.state.latestEventAt);
  });

  test("accepts a folder with only the leftovers of an interrupted restore", async () => {
    const { file, backedUp } = await prepareOlderBackup();
    const folder = newFolder();
    mkdirSync(join(folder, "restore.new", "history"), { recursive: true, mode: 0o700 });
    for (const name of ["state.json", "history/2020-01.jsonl", "history/2026-03.jsonl"]) {
      writeFileSync(join(folder, "restore.new", name), "half");
    }
    await restoreTo(folder, file);
    expect((await readFolderState(folder)).seq).toBe(backedUp.seq + 1);
    expect(Object.keys(readStoreFiles(folder))).not.toContain("history/2020-01.jsonl");
    await verifyFolder(folder);
  });
});

test("restore accepts a folder that contains only what an earlier restore replaced", async () => {
  const { folder, file, backedUp } = await prepareOlderBackup();
  const { replacedFolder } = await restoreTo(folder, file, { acceptLoss: true });
  for (const name of Object.keys(readStoreFiles(folder))) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
  const before = contentsOf(replacedFolder ?? "");
  expect((await restoreTo(folder, file)).replacedFolder).toBeNull();
  expect((await readFolderState(folder)).seq).toBe(backedUp.seq + 1);
  expect(contentsOf(replacedFolder ?? "")).toEqual(before);
});

describe("restore over an older folder of the same appliance", () => {
  test("loses nothing and does not need --accept-loss", async () => {
    const { folder, store } = await openSiteWithHistory();
    const olderFolder = copyFolder(folder);
    const before = readStoreFiles(olderFolder);
    const { seq } = store.status();
    await transactOrThrow(store, register("dua"));
    const file = await backUpFolder(folder);
    const { replacedFolder, lostLines } = await restoreTo(olderFolder, file);
    expect(lostLines).toBe(0);
    expect(replacedFolder).toBe(findReplacedFolder(olderFolder));
    expect(readStoreFiles(replacedFolder ?? "")).toEqual(before);
    const { state } = await readFolderState(olderFolder);
    expect(state.restores).toEqual([
      { lineage: expect.any(String), at: expect.any(Number), seq: seq + 1, replaced: seq },
    ]);
  });

  test("does not need --accept-loss when the backup is exactly as new as the folder", async () => {
    const { folder } = await openSiteWithHistory();
    const copy = copyFolder(folder);
    expect((await restoreTo(copy, await backUpFolder(copy))).lostLines).toBe(0);
  });

  test("does not need --accept-loss when the folder ends in lines outside the audit log", async () => {
    const { folder, store } = await openSiteWithHistory();
    await transactOrThrow(store, register("cem"));
    const copy = copyFolder(folder);
    await transactOrThrow(store, register("dua"));
    expect((await restoreTo(copy, await backUpFolder(folder))).lostLines).toBe(0);
  });

  test("does not need --accept-loss when the folder ends at the line before the backup's audit log", async () => {
    const { folder, store, clock } = await openSiteWithKey({
      checkpoint: checkpointKeepingMonths(1),
    });
    const olderFolder = copyFolder(folder);
    for (const month of ["04", "05"]) {
      clock.now = utc(`2026-${month}-01T00:00:00Z`);
      await transactOrThrow(store, consume(1));
      await store.checkpoint();
    }
    const file = await backUpFolder(folder);
    expect((await verifyFolder(folder)).auditLog.from).toBe(3);
    expect(await restoreTo(olderFolder, file)).toMatchObject({ lostLines: 0 });
  });
});

describe("contents that a restore replaces", () => {
  test("are kept byte for byte, while files that are not in backups stay in place", async () => {
    const { folder, file } = await prepareOlderBackup();
    const otherFiles: Record<string, string> = {
      "credentials.sealed": "sealed",
      "sealing.key": "key",
      "notes.txt": "an operator's own",
    };
    for (const [name, text] of Object.entries(otherFiles)) writeFileSync(join(folder, name), text);
    writeFileSync(join(folder, "journal-6.jsonl.77.torn"), "torn");
    writeFileSync(join(folder, "state.json.new"), "half");
    const before = readStoreFiles(folder);
    expect(Object.keys(before)).toContainValues([
      "journal-6.jsonl.77.torn",
      "state.json.new",
      "identity.jwk",
      "history/2026-03.jsonl",
    ]);
    const { replacedFolder } = await restoreTo(folder, file, { acceptLoss: true });
    expect(readStoreFiles(replacedFolder ?? "")).toEqual(before);
    expect(Object.keys(contentsOf(replacedFolder ?? "")).length).toBe(
      Object.keys(before).length + 1,
    );
    for (const [name, text] of Object.entries(otherFiles)) {
      expect(readFileSync(join(folder, name), "utf8")).toBe(text);
    }
    expect(existsSync(join(folder, "journal-6.jsonl.77.torn"))).toBe(false);
    expect(modeOf(replacedFolder ?? "")).toBe("700");
  });

  test("are kept in a folder named by the time and the lineage of the restore", async () => {
    const { folder, file } = await prepareOlderBackup();
    const { replacedFolder, lineage } = await restoreTo(folder, file, {
      acceptLoss: true,
      now: RESTORE_TIME,
    });
    expect(replacedFolder).toBe(join(folder, `replaced-20260601T123456Z-${lineage.slice(0, 8)}`));
  });

  test("are kept each time, even for two restores within one second", async () => {
    const { folder, file } = await prepareOlderBackup();
    const first = await restoreTo(folder, file, { acceptLoss: true });
    const second = await restoreTo(folder, file, { acceptLoss: true });
    expect(first.lineage).not.toBe(second.lineage);
    const replacedFolders = readdirSync(folder).filter((name) => name.startsWith("replaced-"));
    expect(replacedFolders).toHaveLength(2);
    expect((await readFolderState(first.replacedFolder ?? "")).state.restores).toEqual([]);
    expect((await readFolderState(second.replacedFolder ?? "")).state.restores).toHaveLength(1);
  });

  test("are a complete data folder that can be put back by hand", async () => {
    const { folder, file } = await prepareOlderBackup();
    const before = await readFolderState(folder);
    const { replacedFolder } = await restoreTo(folder, file, { acceptLoss: true });
    expect(await readFolderState(replacedFolder ?? "")).toEqual(before);
    await verifyFolder(replacedFolder ?? "");
  });
});

describe("the list of restores in the state", () => {
  test("survives a checkpoint and a restore from a restored folder's backup", async () => {
    const { file } = await prepareOlderBackup();
    const folder = newFolder();
    const first = await restoreTo(folder, file);
    const site = await openSite({ folder });
    await site.stop();
    const second = await restoreTo(folder, await backUpFolder(folder));
    const { restores } = (await readFolderState(folder)).state;
    expect(restores.map(({ lineage }) => lineage)).toEqual([first.lineage, second.lineage]);
    await verifyFolder(folder);
  });

  test("is bounded and keeps the newest restores", async () => {
    const { file } = await prepareOlderBackup();
    const folder = newFolder();
    const lineages: string[] = [];
    let latestBackup = file;
    for (let count = 0; count < limits.restores + 2; count += 1) {
      lineages.push((await restoreTo(folder, latestBackup)).lineage);
      latestBackup = await backUpFolder(folder);
    }
    const { restores } = (await readFolderState(folder)).state;
    expect(restores.map(({ lineage }) => lineage)).toEqual(lineages.slice(-limits.restores));
  });
});
