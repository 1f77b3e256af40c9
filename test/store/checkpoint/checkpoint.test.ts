import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { lockCheckpoint } from "../../../src/store/folder/lock.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import { FaultyDisk } from "../../support/faulty-disk.ts";
import {
  transactOrThrow,
  transactInOneBatch,
  INSTALL_CAD,
  readJournal,
  openLicensedSite,
  readLines,
  openSite,
  catchFolderRefusal,
  listSegmentNames,
  openAndCloseFolder,
  readState,
} from "../../support/licensed-store.ts";
import { consume, minutesLater, register, unregister, utc } from "../../support/scenario.ts";
import { copyFolder } from "../../support/temp-folder.ts";

const readCoveredSeq = async (folder: string, name?: string): Promise<number | undefined> =>
  (await new StateFile(realDisk, folder, name).read())?.covers.seq;

const readAuditFiles = (folder: string) =>
  readdirSync(join(folder, "history"))
    .toSorted()
    .map((name) => ({ name, lines: readLines(join(folder, "history", name)) }));

describe("checkpoint", () => {
  test("contains the state that was served, and later lines are replayed onto it", async () => {
    const { store, folder } = await openLicensedSite();
    await transactInOneBatch(store, register("ada"), register("constructor"), consume(3));
    const state = await readState(store);
    await store.checkpoint();
    expect(store.status()).toMatchObject({ checkpointError: null, journalBytes: 0, seq: 5 });
    expect(await readCoveredSeq(folder)).toBe(5);
    expect(await readState(store)).toEqual(state);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(state);
    await transactOrThrow(store, register("__proto__"));
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
  });

  test("can be repeated any number of times", async () => {
    const { store, folder } = await openLicensedSite();
    for (const user of ["ada", "bob", "cem", "dua", "eve"]) {
      await transactOrThrow(store, register(user));
      await transactOrThrow(store, register("ada"));
      await store.checkpoint();
      expect(store.status().checkpointError).toBeNull();
      expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({
        state: await readState(store),
        notes: [],
      });
    }
  });

  test("keeps only the state before it and the journal since that state", async () => {
    const { store, folder } = await openLicensedSite();
    for (const user of ["ada", "bob", "cem"]) {
      await transactOrThrow(store, register(user));
      await store.checkpoint();
    }
    await transactOrThrow(store, register("dua"));
    expect(readdirSync(folder).toSorted()).toEqual([
      "checkpoint.lock",
      "history",
      "journal-5.jsonl",
      "journal-6.jsonl",
      "lock",
      "state-4.json",
      "state.json",
    ]);
    expect(await readCoveredSeq(folder)).toBe(5);
    expect(await readCoveredSeq(folder, "state-4.json")).toBe(4);
    expect(readJournal(folder).map(({ line }) => line.seq)).toEqual([5, 6]);
  });

  test("without new lines keeps the older state", async () => {
    const { store, folder } = await openLicensedSite();
    await store.checkpoint();
    await transactOrThrow(store, register("ada"));
    await store.checkpoint();
    await store.checkpoint();
    expect(await readCoveredSeq(folder)).toBe(3);
    expect(await readCoveredSeq(folder, "state-2.json")).toBe(2);
    const copy = copyFolder(folder);
    await Bun.write(join(copy, "state.json"), "");
    expect((await catchFolderRefusal(copy)).hint).toStartWith("cp ");
  });

  test("replaces state.json only after the audit log and the new file are synced", async () => {
    const disk = new FaultyDisk();
    const { store, folder } = await openLicensedSite({
      checkpoint: (path, open) => checkpoint(disk, path, open),
    });
    await store.checkpoint();
    const calls = disk.listCalls("sync", "link", "rename", "remove", "syncFolder");
    expect(calls).toEqual([
      "sync 2026-03.jsonl",
      "syncFolder history",
      "sync state.json.new",
      "link state-0.json",
      "rename state.json",
      "syncFolder data",
      "syncFolder data",
    ]);
    await transactOrThrow(store, register("ada"));
    await store.checkpoint();
    expect(disk.listCalls("rename", "remove", "syncFolder").slice(-5)).toEqual([
      "rename state.json",
      "syncFolder data",
      "remove state-0.json",
      "remove journal-1.jsonl",
      "syncFolder data",
    ]);
    expect(listSegmentNames(folder)).toEqual(["journal-3.jsonl", "journal-4.jsonl"]);
  });
});

describe("audit log written by checkpoints", () => {
  test("has every audited line unchanged, by month, in one chain", async () => {
    const { store, clock, folder } = await openLicensedSite();
    const written = new Map<number, Buffer>();
    const times = [
      "2026-03-30T08:00:00Z",
      "2026-03-31T23:59:59Z",
      "2026-04-01T00:00:00Z",
      "2026-05-07T08:00:00Z",
    ];
    for (const time of times) {
      clock.now = utc(time);
      await transactInOneBatch(store, register("ada"), register("ada"), register("bob"));
      await transactInOneBatch(store, unregister("bob"), register("ada"), consume(1));
      for (const { line, raw } of readJournal(folder)) {
        if (line.audit_seq !== undefined) written.set(line.audit_seq, raw);
      }
      if (time !== "2026-03-31T23:59:59Z") await store.checkpoint();
    }
    const files = readAuditFiles(folder);
    expect(files.map(({ name }) => name)).toEqual([3, 4, 5].map((month) => `2026-0${month}.jsonl`));
    const lines = files.flatMap((file) => file.lines);
    expect(Buffer.concat(lines.map(({ raw }) => raw))).toEqual(
      Buffer.concat([...written.values()]),
    );
    expect(lines.map(({ line }) => line.audit_seq)).toEqual([...written.keys()]);
    expect(lines.length).toBe(store.status().auditSeq);
    for (const [index, { line }] of lines.entries()) {
      expect(line.audit_prev).toBe(lines[index - 1]?.line.sum ?? "0".repeat(64));
    }
    const types = lines.flatMap(({ line }) => line.events.map(({ type }) => type));
    expect(types).not.toContain("SlotRenewed");
    expect(types).toContain("SlotExpired");
    for (const { name, lines: fileLines } of files) {
      for (const { line } of fileLines) {
        expect(new Date(line.at).toISOString()).toStartWith(name.slice(0, 7));
      }
    }
  });

  test("gets no lines from segments that contain only renewals", async () => {
    const { store, clock, folder } = await openLicensedSite();
    await transactOrThrow(store, register("ada"));
    await store.checkpoint();
    const before = readAuditFiles(folder);
    clock.now = minutesLater(5);
    await transactOrThrow(store, register("ada"));
    await store.checkpoint();
    expect(readAuditFiles(folder)).toEqual(before);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
  });
});

const makeFailingCheckpoint =
  (fault: { fails: boolean }) => async (folder: string, open: number) => {
    if (fault.fails) throw new Error("out of memory");
    await checkpoint(realDisk, folder, open);
  };

describe("checkpoint that fails", () => {
  test("is reported by health, loses nothing, and is completed by the next checkpoint", async () => {
    const fault = { fails: true };
    const { store, folder, fatalErrors } = await openSite({
      checkpoint: makeFailingCheckpoint(fault),
    });
    await transactOrThrow(store, INSTALL_CAD);
    await store.checkpoint();
    expect(store.status()).toMatchObject({ checkpointError: "out of memory", fault: null });
    await transactOrThrow(store, register("ada"));
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    await store.checkpoint();
    await transactOrThrow(store, register("bob"));
    fault.fails = false;
    await store.checkpoint();
    expect(store.status().checkpointError).toBeNull();
    expect(await readCoveredSeq(folder)).toBe(4);
    expect(
      readAuditFiles(folder)
        .flatMap(({ lines }) => lines)
        .map(({ line }) => line.seq),
    ).toEqual([1, 2, 3, 4]);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    expect(fatalErrors).toEqual([]);
  });

  test("because another checkpoint is running changes nothing", async () => {
    const { store, folder } = await openLicensedSite();
    const lock = lockCheckpoint(realDisk, folder);
    await store.checkpoint();
    expect(store.status().checkpointError).toContain("another checkpoint is running");
    expect(await readCoveredSeq(folder)).toBe(0);
    lock?.release();
    await store.checkpoint();
    expect(await readCoveredSeq(folder)).toBe(2);
  });
});
