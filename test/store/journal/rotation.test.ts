import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { errorCode, isOpenFailure } from "../../../src/platform/files/system-error.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import { makeDiskError, FaultyDisk, isPending } from "../../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  openLicensedSite,
  readLines,
  openSite,
  listSegmentNames,
  openAndCloseFolder,
  readState,
} from "../../support/licensed-store.ts";
import { install, register } from "../../support/scenario.ts";
import { tellNoSlowSyncs } from "../../support/slow-syncs.ts";
import { copyFolder, tempFolder } from "../../support/temp-folder.ts";
import { waitUntil } from "../../support/wait-until.ts";

tellNoSlowSyncs();

const readCoveredSeq = async (folder: string): Promise<number | undefined> =>
  (await new StateFile(realDisk, folder).read())?.covers.seq;

describe("journal", () => {
  test("syncs the name of a new segment before it answers from that segment", async () => {
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

  test("rotates between two batches and names the new segment by its first line", async () => {
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
    expect(store.status().checkpointError).toBeNull();
    expect(listSegmentNames(folder)).toEqual(["journal-1.jsonl", "journal-4.jsonl"]);
    expect(readLines(join(folder, "journal-4.jsonl")).map(({ line }) => line.seq)).toEqual([4, 5]);
    expect(await readCoveredSeq(folder)).toBe(3);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
  });

  test("rotates automatically when it has grown to 8 MiB", async () => {
    const { store, folder } = await openSite();
    await transactOrThrow(store, install(1, { metadata: "x".repeat(8 * 1024 * 1024) }));
    await waitUntil(() => listSegmentNames(folder).includes("journal-3.jsonl"));
    await waitUntil(async () => (await readCoveredSeq(folder)) === 2);
    expect(store.status().checkpointError).toBeNull();
  });

  test("stays valid for the next start when it cannot rotate", async () => {
    for (const call of ["open", "syncFolder"] as const) {
      const disk = new FaultyDisk();
      const { store, folder, fatalErrors } = await openLicensedSite({ disk });
      disk.beforeCall = ({ name }) => {
        if (name === call) throw makeDiskError(call === "open" ? "ENOSPC" : "EIO");
      };
      await store.checkpoint();
      disk.clearFaults();
      // A failed sync may stop the server; if not, the next start must find what it answered.
      const answer = await transactCommand(store, register("ada"));
      expect(answer.ok || fatalErrors.length === 1).toBe(true);
      expect((await openAndCloseFolder(copyFolder(folder))).seq).toBe(answer.ok ? 3 : 2);
    }
  });

  test("that cannot rotate answers only what the next start finds", async () => {
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
    expect(store.status().checkpointError).not.toBeNull();
    expect((await openAndCloseFolder(copyFolder(folder))).seq).toBe(ok ? 3 : 2);
  });
});

/** The error of the kernel when a file or folder cannot be opened. */
const openError = (code: string): Error => Object.assign(makeDiskError(code), { syscall: "open" });

describe("rotation that cannot open its files", () => {
  for (const code of ["EMFILE", "ENFILE", "ENOMEM", "EACCES"]) {
    for (const call of ["open", "syncFolder"] as const) {
      test(`because of ${code} at ${call} is a warning, keeps the old segment and is retried`, async () => {
        const disk = new FaultyDisk();
        const { store, folder, fatalErrors } = await openLicensedSite({ disk });
        disk.beforeCall = ({ name }) => {
          if (name === call) throw openError(code);
        };
        const answers = [transactCommand(store, register("ada"))];
        const rotating = store.checkpoint();
        answers.push(transactCommand(store, register("bob")));
        await rotating;
        expect(store.health().warnings).toMatchObject([
          { code: "checkpoint_failing", message: expect.stringContaining(code) },
        ]);
        for (const answer of answers) expect((await answer).ok).toBe(true);
        await transactOrThrow(store, register("cem"));
        expect(listSegmentNames(folder)).toEqual(["journal-1.jsonl"]);
        expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({ seq: 5, notes: [] });
        disk.clearFaults();
        await store.checkpoint();
        expect(store.status()).toMatchObject({ checkpointError: null, fault: null });
        expect(await readCoveredSeq(folder)).toBe(5);
        await transactOrThrow(store, register("dua"));
        expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(
          await readState(store),
        );
        expect(fatalErrors).toEqual([]);
      });
    }
  }

  test("keeps the current segment when that one is empty", async () => {
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

  test("and cannot remove the new segment either stops the server", async () => {
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

test("isOpenFailure distinguishes a folder that cannot be opened from one that cannot be synced", async () => {
  const absent = join(tempFolder(), "absent");
  const error = await realDisk.syncFolder(absent).catch((reason: unknown) => reason);
  expect([errorCode(error), isOpenFailure(error)]).toEqual(["ENOENT", true]);
  expect(isOpenFailure(makeDiskError("EIO"))).toBe(false);
  expect(isOpenFailure(Object.assign(makeDiskError("ENOMEM"), { syscall: "fsync" }))).toBe(false);
});

describe("requests during a checkpoint", () => {
  test("are answered, however long the checkpoint takes", async () => {
    const { promise: signal, resolve: finish } = Promise.withResolvers<void>();
    const { store, folder } = await openLicensedSite({
      checkpoint: async (path, open) => {
        await signal;
        await checkpoint(realDisk, path, open);
      },
    });
    const checkpointing = store.checkpoint();
    expect(store.checkpoint()).toBe(checkpointing);
    for (const user of ["ada", "bob"]) await transactOrThrow(store, register(user));
    expect((await readState(store)).nextSlot).toBe(3);
    expect(await isPending(checkpointing)).toBe(true);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    finish();
    await checkpointing;
    expect(await readCoveredSeq(folder)).toBe(2);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
  });
});
