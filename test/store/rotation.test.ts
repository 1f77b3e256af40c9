import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import { errorCode, isOpenFailure, realDisk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { StateFile } from "../../src/store/state-file.ts";
import { diskError, FaultyDisk, isWaiting, until } from "../support/faulty-disk.ts";
import {
  asked,
  done,
  licensedSite,
  linesIn,
  openSite,
  segmentNames,
  startIn,
  stateOf,
} from "../support/licensed-store.ts";
import { install, register } from "../support/scenario.ts";
import { tellNoSlowSyncs } from "../support/slow-syncs.ts";
import { copyOf, tempFolder } from "../support/temp-folder.ts";

tellNoSlowSyncs();

const coveredBy = async (folder: string): Promise<number | undefined> =>
  (await new StateFile(realDisk, folder).read())?.covers.seq;

describe("the journal", () => {
  test("has the new segment's name on disk before the first answer out of it", async () => {
    const disk = new FaultyDisk();
    const { store, folder } = await licensedSite({ disk });
    const folders = disk.hold("syncFolder");
    const rotating = store.checkpoint();
    await until(() => folders.waiting === 1);
    const answer = asked(store, register("ada"));
    expect(await isWaiting(answer)).toBe(true);
    expect(segmentNames(folder)).toEqual(["journal-1.jsonl", "journal-3.jsonl"]);
    folders.end();
    expect((await answer).ok).toBe(true);
    await rotating;
    expect(linesIn(join(folder, "journal-3.jsonl")).map(({ line }) => line.seq)).toEqual([3]);
  });

  test("moves on between two batches, and the new segment is named by the first line in it", async () => {
    const disk = new FaultyDisk();
    const { store, folder } = await licensedSite({ disk });
    const syncs = disk.hold("syncData");
    const first = asked(store, register("ada"));
    await until(() => syncs.waiting === 1);
    const second = [asked(store, register("bob")), asked(store, register("cem"))];
    const rotating = store.checkpoint();
    syncs.end();
    await Promise.all([first, ...second, rotating]);
    expect(store.health().checkpointError).toBeNull();
    expect(segmentNames(folder)).toEqual(["journal-1.jsonl", "journal-4.jsonl"]);
    expect(linesIn(join(folder, "journal-4.jsonl")).map(({ line }) => line.seq)).toEqual([4, 5]);
    expect(await coveredBy(folder)).toBe(3);
    expect((await startIn(copyOf(folder))).state).toEqual(await stateOf(store));
  });

  test("is moved on by itself when it has grown large", async () => {
    const { store, folder } = await openSite();
    await done(store, install(1, { metadata: "x".repeat(8 * 1024 * 1024) }));
    await until(() => segmentNames(folder).includes("journal-3.jsonl"));
    await until(async () => (await coveredBy(folder)) === 2);
    expect(store.health().checkpointError).toBeNull();
  });

  test("that cannot move on stays good, also for the next start", async () => {
    for (const call of ["open", "syncFolder"] as const) {
      const disk = new FaultyDisk();
      const { store, folder, fatal } = await licensedSite({ disk });
      disk.rule = ({ name }) => {
        if (name === call) throw diskError(call === "open" ? "ENOSPC" : "EIO");
      };
      await store.checkpoint();
      disk.heal();
      // A failed sync may end the server; if it does not, what it answers must be found again.
      const answer = await asked(store, register("ada"));
      expect(answer.ok || fatal.length === 1).toBe(true);
      expect((await startIn(copyOf(folder))).seq).toBe(answer.ok ? 3 : 2);
    }
  });

  test("that cannot move on answers nothing that the next start would not find", async () => {
    const disk = new FaultyDisk();
    const { store, folder, fatal } = await licensedSite({ disk });
    const folders = disk.hold("syncFolder");
    const rotating = store.checkpoint();
    await until(() => folders.waiting === 1);
    const answer = asked(store, register("ada"));
    await folders.letOne(diskError("EIO"));
    await rotating;
    const { ok } = await answer;
    expect(ok || fatal.length === 1).toBe(true);
    expect(store.health().checkpointError).not.toBeNull();
    expect((await startIn(copyOf(folder))).seq).toBe(ok ? 3 : 2);
  });
});

/** As the kernel says that a file or folder cannot be opened. */
const openError = (code: string): Error => Object.assign(diskError(code), { syscall: "open" });

describe("a rotation that cannot open its files", () => {
  for (const code of ["EMFILE", "ENFILE", "ENOMEM", "EACCES"]) {
    for (const call of ["open", "syncFolder"] as const) {
      test(`for ${code} at ${call} is only a warning: the old segment goes on, and it is tried again`, async () => {
        const disk = new FaultyDisk();
        const { store, folder, fatal } = await licensedSite({ disk });
        disk.rule = ({ name }) => {
          if (name === call) throw openError(code);
        };
        const answers = [asked(store, register("ada"))];
        const rotating = store.checkpoint();
        answers.push(asked(store, register("bob")));
        await rotating;
        expect(store.condition().warnings).toMatchObject([
          { code: "checkpoint_failing", message: expect.stringContaining(code) },
        ]);
        for (const answer of answers) expect((await answer).ok).toBe(true);
        await done(store, register("cem"));
        expect(segmentNames(folder)).toEqual(["journal-1.jsonl"]);
        expect(await startIn(copyOf(folder))).toMatchObject({ seq: 5, notes: [] });
        disk.heal();
        await store.checkpoint();
        expect(store.health()).toMatchObject({ checkpointError: null, fault: null });
        expect(await coveredBy(folder)).toBe(5);
        await done(store, register("dua"));
        expect((await startIn(copyOf(folder))).state).toEqual(await stateOf(store));
        expect(fatal).toEqual([]);
      });
    }
  }

  test("from an empty segment leaves that one in place", async () => {
    const disk = new FaultyDisk();
    const { store, folder, fatal } = await licensedSite({ disk });
    await store.checkpoint();
    disk.rule = ({ name }) => {
      if (name === "syncFolder") throw openError("EMFILE");
    };
    await store.checkpoint();
    disk.heal();
    await done(store, register("ada"));
    expect(segmentNames(folder)).toContain("journal-3.jsonl");
    expect((await startIn(copyOf(folder))).state).toEqual(await stateOf(store));
    expect(fatal).toEqual([]);
  });

  test("and cannot take the new segment's name back either ends the server", async () => {
    const disk = new FaultyDisk();
    const { store, folder, fatal } = await licensedSite({ disk });
    disk.rule = ({ name }) => {
      if (name === "syncFolder") throw openError("EMFILE");
      if (name === "remove") throw diskError("EIO");
    };
    await store.checkpoint();
    disk.heal();
    expect(await asked(store, register("ada"))).toMatchObject({
      fault: { code: "storage_failed" },
    });
    expect(fatal).toHaveLength(1);
    expect((await startIn(copyOf(folder))).seq).toBe(2);
  });
});

test("a folder that cannot be opened is told from one that cannot be synced", async () => {
  const absent = join(tempFolder(), "absent");
  const error = await realDisk.syncFolder(absent).catch((reason: unknown) => reason);
  expect([errorCode(error), isOpenFailure(error)]).toEqual(["ENOENT", true]);
  expect(isOpenFailure(diskError("EIO"))).toBe(false);
  expect(isOpenFailure(Object.assign(diskError("ENOMEM"), { syscall: "fsync" }))).toBe(false);
});

describe("requests", () => {
  test("go on while a checkpoint is made, however long it takes", async () => {
    const { promise: signal, resolve: finish } = Promise.withResolvers<void>();
    const { store, folder } = await licensedSite({
      checkpoint: async (path, open) => {
        await signal;
        await checkpoint(realDisk, path, open);
      },
    });
    const making = store.checkpoint();
    expect(store.checkpoint()).toBe(making);
    for (const user of ["ada", "bob"]) await done(store, register(user));
    expect((await stateOf(store)).nextSlot).toBe(3);
    expect(await isWaiting(making)).toBe(true);
    expect((await startIn(copyOf(folder))).state).toEqual(await stateOf(store));
    finish();
    await making;
    expect(await coveredBy(folder)).toBe(2);
    expect((await startIn(copyOf(folder))).state).toEqual(await stateOf(store));
  });
});
