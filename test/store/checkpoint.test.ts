import { describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { lockCheckpoint } from "../../src/store/lock.ts";
import { StateFile } from "../../src/store/state-file.ts";
import { FaultyDisk } from "../support/faulty-disk.ts";
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
} from "../support/licensed-store.ts";
import { consume, minutesLater, register, unregister, utc } from "../support/scenario.ts";
import { copyFolder } from "../support/temp-folder.ts";

const coveredBy = async (folder: string, name?: string): Promise<number | undefined> =>
  (await new StateFile(realDisk, folder, name).read())?.covers.seq;

const historyOf = (folder: string) =>
  readdirSync(join(folder, "history"))
    .toSorted()
    .map((name) => ({ name, lines: readLines(join(folder, "history", name)) }));

describe("a checkpoint", () => {
  test("holds the state that was serving, and what comes after it is replayed", async () => {
    const { store, folder } = await openLicensedSite();
    await transactInOneBatch(store, register("ada"), register("constructor"), consume(3));
    const state = await readState(store);
    await store.checkpoint();
    expect(store.health()).toMatchObject({ checkpointError: null, journalBytes: 0, seq: 5 });
    expect(await coveredBy(folder)).toBe(5);
    expect(await readState(store)).toEqual(state);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(state);
    await transactOrThrow(store, register("__proto__"));
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
  });

  test("can follow on another any number of times", async () => {
    const { store, folder } = await openLicensedSite();
    for (const user of ["ada", "bob", "cem", "dua", "eve"]) {
      await transactOrThrow(store, register(user));
      await transactOrThrow(store, register("ada"));
      await store.checkpoint();
      expect(store.health().checkpointError).toBeNull();
      expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({
        state: await readState(store),
        notes: [],
      });
    }
  });

  test("keeps the generation before it and the journal since, and no more", async () => {
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
    expect(await coveredBy(folder)).toBe(5);
    expect(await coveredBy(folder, "state-4.json")).toBe(4);
    expect(readJournal(folder).map(({ line }) => line.seq)).toEqual([5, 6]);
  });

  test("of nothing new leaves the way back there", async () => {
    const { store, folder } = await openLicensedSite();
    await store.checkpoint();
    await transactOrThrow(store, register("ada"));
    await store.checkpoint();
    await store.checkpoint();
    expect(await coveredBy(folder)).toBe(3);
    expect(await coveredBy(folder, "state-2.json")).toBe(2);
    const copy = copyFolder(folder);
    await Bun.write(join(copy, "state.json"), "");
    expect((await catchFolderRefusal(copy)).hint).toStartWith("cp ");
  });

  test("takes the place of state.json only after the record and the new file are on disk", async () => {
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

describe("the record", () => {
  test("has every audited line, byte for byte, by month, in a chain of its own", async () => {
    const { store, clock, folder } = await openLicensedSite();
    const written = new Map<number, Buffer>();
    const moments = [
      "2026-03-30T08:00:00Z",
      "2026-03-31T23:59:59Z",
      "2026-04-01T00:00:00Z",
      "2026-05-07T08:00:00Z",
    ];
    for (const moment of moments) {
      clock.now = utc(moment);
      await transactInOneBatch(store, register("ada"), register("ada"), register("bob"));
      await transactInOneBatch(store, unregister("bob"), register("ada"), consume(1));
      for (const { line, raw } of readJournal(folder)) {
        if (line.audit_seq !== undefined) written.set(line.audit_seq, raw);
      }
      if (moment !== "2026-03-31T23:59:59Z") await store.checkpoint();
    }
    const files = historyOf(folder);
    expect(files.map(({ name }) => name)).toEqual([3, 4, 5].map((month) => `2026-0${month}.jsonl`));
    const lines = files.flatMap((file) => file.lines);
    expect(Buffer.concat(lines.map(({ raw }) => raw))).toEqual(
      Buffer.concat([...written.values()]),
    );
    expect(lines.map(({ line }) => line.audit_seq)).toEqual([...written.keys()]);
    expect(lines.length).toBe(store.health().auditSeq);
    for (const [place, { line }] of lines.entries()) {
      expect(line.audit_prev).toBe(lines[place - 1]?.line.sum ?? "0".repeat(64));
    }
    const types = lines.flatMap(({ line }) => line.events.map(({ type }) => type));
    expect(types).not.toContain("SlotRenewed");
    expect(types).toContain("SlotExpired");
    for (const { name, lines: inFile } of files) {
      for (const { line } of inFile) {
        expect(new Date(line.at).toISOString()).toStartWith(name.slice(0, 7));
      }
    }
  });

  test("takes nothing from segments full of renewals", async () => {
    const { store, clock, folder } = await openLicensedSite();
    await transactOrThrow(store, register("ada"));
    await store.checkpoint();
    const before = historyOf(folder);
    clock.now = minutesLater(5);
    await transactOrThrow(store, register("ada"));
    await store.checkpoint();
    expect(historyOf(folder)).toEqual(before);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
  });
});

const failing = (told: { fails: boolean }) => async (folder: string, open: number) => {
  if (told.fails) throw new Error("out of memory");
  await checkpoint(realDisk, folder, open);
};

describe("a checkpoint that fails", () => {
  test("is told by health, costs nothing, and is made up for by the next", async () => {
    const told = { fails: true };
    const { store, folder, fatalErrors } = await openSite({ checkpoint: failing(told) });
    await transactOrThrow(store, INSTALL_CAD);
    await store.checkpoint();
    expect(store.health()).toMatchObject({ checkpointError: "out of memory", fault: null });
    await transactOrThrow(store, register("ada"));
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    await store.checkpoint();
    await transactOrThrow(store, register("bob"));
    told.fails = false;
    await store.checkpoint();
    expect(store.health().checkpointError).toBeNull();
    expect(await coveredBy(folder)).toBe(4);
    expect(
      historyOf(folder)
        .flatMap(({ lines }) => lines)
        .map(({ line }) => line.seq),
    ).toEqual([1, 2, 3, 4]);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    expect(fatalErrors).toEqual([]);
  });

  test("because another one is under way touches nothing", async () => {
    const { store, folder } = await openLicensedSite();
    const lock = lockCheckpoint(realDisk, folder);
    await store.checkpoint();
    expect(store.health().checkpointError).toContain("another checkpoint is running");
    expect(await coveredBy(folder)).toBe(0);
    lock?.release();
    await store.checkpoint();
    expect(await coveredBy(folder)).toBe(2);
  });
});
