import { describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { limits } from "../../src/domain/limits.ts";
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
} from "../support/backup-site.ts";
import {
  transactOrThrow,
  transactInOneBatch,
  readJournal,
  openSite,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import { consume, MONDAY, register, utc } from "../support/scenario.ts";
import { contentsOf, copyFolder, modeOf, tempFolder } from "../support/temp-folder.ts";

const LATE = utc("2026-06-01T12:34:56.789Z");

/** A backup, and the folder it was taken from three lines later. */
async function older() {
  const { folder, store } = await openSiteWithHistory();
  const file = await backUpFolder(folder);
  const held = await readBackupState(file);
  await transactOrThrow(store, register("dua"));
  await transactInOneBatch(store, register("eve"), register("fay"));
  return { folder: copyFolder(folder), file, held, store };
}

const newFolder = (): string => join(tempFolder(), "data");

describe("a restore into a new folder", () => {
  test("brings back the state of the backup, and says so in the record", async () => {
    const { file, held } = await older();
    const folder = newFolder();
    const { manifest, lineage, replacedFolder, lostLines } = await restoreTo(folder, file, {
      now: LATE,
    });
    expect({ replaced: replacedFolder, lost: lostLines }).toEqual({ replaced: null, lost: 0 });
    expect(manifest.seq).toBe(held.seq);
    expect(lineage).toMatch(/^[0-9a-f]{32}$/);
    const restore = { lineage, at: LATE, seq: held.seq, replaced: null };
    expect(await openAndCloseFolder(folder)).toEqual({
      state: { ...held.state, latestEventAt: LATE, restores: [restore] },
      seq: held.seq + 1,
      notes: [],
    });
    const { line } = readJournal(folder).at(-1) ?? {};
    expect(line).toMatchObject({
      seq: held.seq + 1,
      from: held.seq + 1,
      at: LATE,
      audit_seq: manifest.audit_seq + 1,
      events: [{ type: "Restored", at: LATE, restore }],
    });
    expect(await verifyFolder(folder)).toMatchObject({
      head: { seq: held.seq + 1, auditSeq: manifest.audit_seq + 1 },
      generations: [5],
      torn: 0,
    });
    expect([listRestoreLeftovers(folder), findReplacedFolder(folder)]).toEqual([[], null]);
  });

  test("leaves everything for its owner alone", async () => {
    const { file } = await older();
    const folder = newFolder();
    await restoreTo(folder, file);
    for (const name of Object.keys(contentsOf(folder))) {
      const mode = name === "." || name === "history" ? "700" : "600";
      expect([name, modeOf(join(folder, name))]).toEqual([name, mode]);
    }
  });

  test("can be served, and leads back to its own checkpoint like any other", async () => {
    const { file, held } = await older();
    const folder = newFolder();
    await restoreTo(folder, file);
    const site = await openSite({ folder });
    site.clock.now = held.state.latestEventAt;
    await transactOrThrow(site.store, register("gil"));
    await site.store.checkpoint();
    expect(site.store.health().checkpointError).toBeNull();
    const state = await readState(site.store);
    expect(state.restores).toHaveLength(1);
    await site.stop();
    expect((await openAndCloseFolder(folder)).state).toEqual(state);
    expect((await verifyFolder(folder)).generations).toHaveLength(1);
    writeFileSync(join(folder, "state.json"), "");
    expect((await catchRefusal(verifyFolder(folder))).hint).toStartWith("cp -p ");
  });

  test("has a way back from the first moment on", async () => {
    const { file } = await older();
    const folder = newFolder();
    await restoreTo(folder, file);
    const state = await readFolderState(folder);
    writeFileSync(join(folder, "state.json"), "");
    const { hint } = await catchRefusal(readFolderState(folder));
    expect(Bun.spawnSync(["sh", "-c", hint]).exitCode).toBe(0);
    expect(await readFolderState(folder)).toEqual(state);
  });

  test("never happens before what the backup already knew", async () => {
    const { file, held } = await older();
    const folder = newFolder();
    expect(held.state.latestEventAt).toBeGreaterThan(MONDAY);
    await restoreTo(folder, file, { now: MONDAY });
    const { state } = await readFolderState(folder);
    expect(state.restores[0]?.at).toBe(held.state.latestEventAt);
    expect(state.latestEventAt).toBe(held.state.latestEventAt);
  });

  test("takes a folder that is there and empty, or holds what an interrupted one left", async () => {
    const { file, held } = await older();
    const folder = newFolder();
    mkdirSync(join(folder, "restore.new", "history"), { recursive: true, mode: 0o700 });
    for (const name of ["state.json", "history/2020-01.jsonl", "history/2026-03.jsonl"]) {
      writeFileSync(join(folder, "restore.new", name), "half");
    }
    await restoreTo(folder, file);
    expect((await readFolderState(folder)).seq).toBe(held.seq + 1);
    expect(Object.keys(readStoreFiles(folder))).not.toContain("history/2020-01.jsonl");
    await verifyFolder(folder);
  });
});

test("a restore takes a folder in which nothing but an earlier restore's keepings are left", async () => {
  const { folder, file, held } = await older();
  const { replacedFolder } = await restoreTo(folder, file, { acceptLoss: true });
  for (const name of Object.keys(readStoreFiles(folder))) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
  const before = contentsOf(replacedFolder ?? "");
  expect((await restoreTo(folder, file)).replacedFolder).toBeNull();
  expect((await readFolderState(folder)).seq).toBe(held.seq + 1);
  expect(contentsOf(replacedFolder ?? "")).toEqual(before);
});

describe("a restore over an older folder of the same line", () => {
  test("loses nothing, and needs nobody's leave", async () => {
    const { folder, store } = await openSiteWithHistory();
    const behind = copyFolder(folder);
    const before = readStoreFiles(behind);
    const { seq } = store.health();
    await transactOrThrow(store, register("dua"));
    const file = await backUpFolder(folder);
    const { replacedFolder, lostLines } = await restoreTo(behind, file);
    expect(lostLines).toBe(0);
    expect(replacedFolder).toBe(findReplacedFolder(behind));
    expect(readStoreFiles(replacedFolder ?? "")).toEqual(before);
    const { state } = await readFolderState(behind);
    expect(state.restores).toEqual([
      { lineage: expect.any(String), at: expect.any(Number), seq: seq + 1, replaced: seq },
    ]);
  });

  test("needs none either when the backup is of this very moment", async () => {
    const { folder } = await openSiteWithHistory();
    const copy = copyFolder(folder);
    expect((await restoreTo(copy, await backUpFolder(copy))).lostLines).toBe(0);
  });

  test("needs none when the folder ends in lines that the record does not have", async () => {
    const { folder, store } = await openSiteWithHistory();
    await transactOrThrow(store, register("cem"));
    const copy = copyFolder(folder);
    await transactOrThrow(store, register("dua"));
    expect((await restoreTo(copy, await backUpFolder(folder))).lostLines).toBe(0);
  });

  test("needs none when its last line is the last one the backup let go of", async () => {
    const { folder, store, clock } = await openSiteWithKey({
      checkpoint: checkpointKeepingMonths(1),
    });
    const behind = copyFolder(folder);
    for (const month of ["04", "05"]) {
      clock.now = utc(`2026-${month}-01T00:00:00Z`);
      await transactOrThrow(store, consume(1));
      await store.checkpoint();
    }
    const file = await backUpFolder(folder);
    expect((await verifyFolder(folder)).auditLog.from).toBe(3);
    expect(await restoreTo(behind, file)).toMatchObject({ lost: 0 });
  });
});

describe("what is replaced is kept", () => {
  test("byte for byte, and what is not of the backup's kind stays where it is", async () => {
    const { folder, file } = await older();
    const beside: Record<string, string> = {
      "credentials.sealed": "sealed",
      "sealing.key": "key",
      "notes.txt": "an operator's own",
    };
    for (const [name, text] of Object.entries(beside)) writeFileSync(join(folder, name), text);
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
    for (const [name, text] of Object.entries(beside)) {
      expect(readFileSync(join(folder, name), "utf8")).toBe(text);
    }
    expect(existsSync(join(folder, "journal-6.jsonl.77.torn"))).toBe(false);
    expect(modeOf(replacedFolder ?? "")).toBe("700");
  });

  test("under a name that tells when, and whose", async () => {
    const { folder, file } = await older();
    const { replacedFolder, lineage } = await restoreTo(folder, file, {
      acceptLoss: true,
      now: LATE,
    });
    expect(replacedFolder).toBe(join(folder, `replaced-20260601T123456Z-${lineage.slice(0, 8)}`));
  });

  test("each time, also twice within a second", async () => {
    const { folder, file } = await older();
    const first = await restoreTo(folder, file, { acceptLoss: true });
    const second = await restoreTo(folder, file, { acceptLoss: true });
    expect(first.lineage).not.toBe(second.lineage);
    const kept = readdirSync(folder).filter((name) => name.startsWith("replaced-"));
    expect(kept).toHaveLength(2);
    expect((await readFolderState(first.replacedFolder ?? "")).state.restores).toEqual([]);
    expect((await readFolderState(second.replacedFolder ?? "")).state.restores).toHaveLength(1);
  });

  test("and can be put back by hand", async () => {
    const { folder, file } = await older();
    const before = await readFolderState(folder);
    const { replacedFolder } = await restoreTo(folder, file, { acceptLoss: true });
    expect(await readFolderState(replacedFolder ?? "")).toEqual(before);
    await verifyFolder(replacedFolder ?? "");
  });
});

describe("restores are remembered", () => {
  test("after a checkpoint, and after a restore of a restored folder's backup", async () => {
    const { file } = await older();
    const folder = newFolder();
    const first = await restoreTo(folder, file);
    const site = await openSite({ folder });
    await site.stop();
    const second = await restoreTo(folder, await backUpFolder(folder));
    const { restores } = (await readFolderState(folder)).state;
    expect(restores.map(({ lineage }) => lineage)).toEqual([first.lineage, second.lineage]);
    await verifyFolder(folder);
  });

  test("up to a bound, the newest ones", async () => {
    const { file } = await older();
    const folder = newFolder();
    const lineages: string[] = [];
    let next = file;
    for (let count = 0; count < limits.restores + 2; count += 1) {
      lineages.push((await restoreTo(folder, next)).lineage);
      next = await backUpFolder(folder);
    }
    const { restores } = (await readFolderState(folder)).state;
    expect(restores.map(({ lineage }) => lineage)).toEqual(lineages.slice(-limits.restores));
  });
});
