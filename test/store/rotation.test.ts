import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { errorCode, isOpenFailure, realDisk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { StateFile } from "../../src/store/state-file.ts";
import { makeDiskError, FaultyDisk, isPending, waitUntil } from "../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  openLicensedSite,
  readLines,
  openSite,
  listSegmentNames,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import { install, register } from "../support/scenario.ts";
import { tellNoSlowSyncs } from "../support/slow-syncs.ts";
import { copyFolder, tempFolder } from "../support/temp-folder.ts";

tellNoSlowSyncs();

const coveredBy = async (folder: string): Promise<number | undefined> =>
  (await new StateFile(realDisk, folder).read())?.covers.seq;

describe("the journal", () => {
  test("has the new segment's name on disk before the first answer out of it", async () => {
    const disk = new FaultyDisk();
    const { store, folder } = await openLicensedSite({ disk });
    const folders = disk.block("syncFolder");
    const rotating = store.checkpoint();
    await waitUntil(() => folders.count === 1);
    const answer = transactCommand(store, register("ada"));
    expect(await isPending(answer)).toBe(true);
    expect(listSegmentNames(folder)).toEqual(["journal-1.jsonl", "journal-3.jsonl"]);
    folders.releaseAll();
    expect((await answer).ok).toBe(true);
    await rotating;
    expect(readLines(join(folder, "journal-3.jsonl")).map(({ line }) => line.seq)).toEqual([3]);
  });

  test("moves on between two batches, and the new segment is named by the first line in it", async () => {
    const disk = new FaultyDisk();
    const { store, folder } = await openLicensedSite({ disk });
    const syncs = disk.block("syncData");
    const first = transactCommand(store, register("ada"));
    await waitUntil(() => syncs.count === 1);
    const second = [
      transactCommand(store, register("bob")),
      transactCommand(store, register("cem")),
    ];
    const rotating = store.checkpoint();
    syncs.releaseAll();
    await Promise.all([first, ...second, rotating]);
    expect(store.health().checkpointError).toBeNull();
    expect(listSegmentNames(folder)).toEqual(["journal-1.jsonl", "journal-4.jsonl"]);
    expect(readLines(join(folder, "journal-4.jsonl")).map(({ line }) => line.seq)).toEqual([4, 5]);
    expect(await coveredBy(folder)).toBe(3);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
  });

  test("is moved on by itself when it has grown large", async () => {
    const { store, folder } = await openSite();
    await transactOrThrow(store, install(1, { metadata: "x".repeat(8 * 1024 * 1024) }));
    await waitUntil(() => listSegmentNames(folder).includes("journal-3.jsonl"));
    await waitUntil(async () => (await coveredBy(folder)) === 2);
    expect(store.health().checkpointError).toBeNull();
  });

  test("that cannot move on stays good, also for the next start", async () => {
    for (const call of ["open", "syncFolder"] as const) {
      const disk = new FaultyDisk();
      const { store, folder, fatalErrors } = await openLicensedSite({ disk });
      disk.beforeCall = ({ name }) => {
        if (name === call) throw makeDiskError(call === "open" ? "ENOSPC" : "EIO");
      };
      await store.checkpoint();
      disk.clearFaults();
      // A failed sync may end the server; if it does not, what it answers must be found again.
      const answer = await transactCommand(store, register("ada"));
      expect(answer.ok || fatalErrors.length === 1).toBe(true);
      expect((await openAndCloseFolder(copyFolder(folder))).seq).toBe(answer.ok ? 3 : 2);
    }
  });

  test("that cannot move on answers nothing that the next start would not find", async () => {
    const disk = new FaultyDisk();
    const { store, folder, fatalErrors } = await openLicensedSite({ disk });
    const folders = disk.block("syncFolder");
    const rotating = store.checkpoint();
    await waitUntil(() => folders.count === 1);
    const answer = transactCommand(store, register("ada"));
    await folders.releaseOne(makeDiskError("EIO"));
    await rotating;
    const { ok } = await answer;
    expect(ok || fatalErrors.length === 1).toBe(true);
    expect(store.health().checkpointError).not.toBeNull();
    expect((await openAndCloseFolder(copyFolder(folder))).seq).toBe(ok ? 3 : 2);
  });
});

/** As the kernel says that a file or folder cannot be opened. */
const openError = (code: string): Error => Object.assign(makeDiskError(code), { syscall: "open" });

describe("a rotation that cannot open its files", () => {
  for (const code of ["EMFILE", "ENFILE", "ENOMEM", "EACCES"]) {
    for (const call of ["open", "syncFolder"] as const) {
      test(`for ${code} at ${call} is only a warning: the old segment goes on, and it is tried again`, async () => {
        const disk = new FaultyDisk();
        const { store, folder, fatalErrors } = await openLicensedSite({ disk });
        disk.beforeCall = ({ name }) => {
          if (name === call) throw openError(code);
        };
        const answers = [transactCommand(store, register("ada"))];
        const rotating = store.checkpoint();
        answers.push(transactCommand(store, register("bob")));
        await rotating;
        expect(store.condition().warnings).toMatchObject([
          { code: "checkpoint_failing", message: expect.stringContaining(code) },
        ]);
        for (const answer of answers) expect((await answer).ok).toBe(true);
        await transactOrThrow(store, register("cem"));
        expect(listSegmentNames(folder)).toEqual(["journal-1.jsonl"]);
        expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({ seq: 5, notes: [] });
        disk.clearFaults();
        await store.checkpoint();
        expect(store.health()).toMatchObject({ checkpointError: null, fault: null });
        expect(await coveredBy(folder)).toBe(5);
        await transactOrThrow(store, register("dua"));
        expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(
          await readState(store),
        );
        expect(fatalErrors).toEqual([]);
      });
    }
  }

  test("from an empty segment leaves that one in place", async () => {
    const disk = new FaultyDisk();
    const { store, folder, fatalErrors } = await openLicensedSite({ disk });
    await store.checkpoint();
    disk.beforeCall = ({ name }) => {
      if (name === "syncFolder") throw openError("EMFILE");
    };
    await store.checkpoint();
    disk.clearFaults();
    await transactOrThrow(store, register("ada"));
    expect(listSegmentNames(folder)).toContain("journal-3.jsonl");
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    expect(fatalErrors).toEqual([]);
  });

  test("and cannot take the new segment's name back either ends the server", async () => {
    const disk = new FaultyDisk();
    const { store, folder, fatalErrors } = await openLicensedSite({ disk });
    disk.beforeCall = ({ name }) => {
      if (name === "syncFolder") throw openError("EMFILE");
      if (name === "remove") throw makeDiskError("EIO");
    };
    await store.checkpoint();
    disk.clearFaults();
    expect(await transactCommand(store, register("ada"))).toMatchObject({
      fault: { code: "storage_failed" },
    });
    expect(fatalErrors).toHaveLength(1);
    expect((await openAndCloseFolder(copyFolder(folder))).seq).toBe(2);
  });
});

test("a folder that cannot be opened is told from one that cannot be synced", async () => {
  const absent = join(tempFolder(), "absent");
  const error = await realDisk.syncFolder(absent).catch((reason: unknown) => reason);
  expect([errorCode(error), isOpenFailure(error)]).toEqual(["ENOENT", true]);
  expect(isOpenFailure(makeDiskError("EIO"))).toBe(false);
  expect(isOpenFailure(Object.assign(makeDiskError("ENOMEM"), { syscall: "fsync" }))).toBe(false);
});

describe("requests", () => {
  test("go on while a checkpoint is made, however long it takes", async () => {
    const { promise: signal, resolve: finish } = Promise.withResolvers<void>();
    const { store, folder } = await openLicensedSite({
      checkpoint: async (path, open) => {
        await signal;
        await checkpoint(realDisk, path, open);
      },
    });
    const making = store.checkpoint();
    expect(store.checkpoint()).toBe(making);
    for (const user of ["ada", "bob"]) await transactOrThrow(store, register(user));
    expect((await readState(store)).nextSlot).toBe(3);
    expect(await isPending(making)).toBe(true);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    finish();
    await making;
    expect(await coveredBy(folder)).toBe(2);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
  });
});
