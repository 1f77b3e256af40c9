// A limit on the size of files (`ulimit -f`): the disk has free space, but a journal segment cannot
// grow. A new segment can.
import { describe, expect, test } from "bun:test";
import { err } from "../../src/domain/result.ts";
import type { StorageFault } from "../../src/store/journal/storage-fault.ts";
import { FaultyDisk } from "../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  readJournal,
  openLicensedSite,
  listSegmentNames,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import { install, register } from "../support/scenario.ts";
import { tellNoSlowSyncs } from "../support/slow-syncs.ts";
import { copyFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

tellNoSlowSyncs();

const LIMITED = err<StorageFault>({ code: "storage_full", isFileLimit: true });

/** A site in which ada has a slot; files can grow by this many bytes beyond the journal's size. */
async function openLimitedSite(extraBytes: number) {
  const disk = new FaultyDisk();
  const site = await openLicensedSite({ disk });
  await transactOrThrow(site.store, register("ada"));
  disk.maxFileSize = site.store.status().journalBytes + extraBytes;
  return { ...site, disk };
}

describe("journal at the file size limit", () => {
  test("refuses changes that did not fit, and continues in a new segment at once", async () => {
    for (const extraBytes of [0, 200, 600]) {
      const { store, folder, fatalErrors } = await openLimitedSite(extraBytes);
      const answers = [
        transactCommand(store, register("bob")),
        transactCommand(store, register("cem")),
      ];
      for (const answer of answers) expect(await answer).toEqual(LIMITED);
      // The read waits until the store has returned to the state on disk.
      expect((await readState(store)).nextSlot).toBe(2);
      expect(store.status().fault).toBeNull();
      await transactOrThrow(store, register("bob"));
      await transactOrThrow(store, register("cem"));
      expect(listSegmentNames(folder)).toEqual(["journal-1.jsonl", "journal-4.jsonl"]);
      expect(readJournal(folder).map(({ line }) => line.seq)).toEqual([1, 2, 3, 4, 5]);
      const state = await readState(store);
      expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({ state, notes: [] });
      expect(fatalErrors).toEqual([]);
    }
  });

  test("adds a warning, and rotates before it reaches the limit again", async () => {
    const { store, folder, disk, fatalErrors } = await openLimitedSite(0);
    expect(await transactCommand(store, register("bob"))).toEqual(LIMITED);
    await waitUntil(() => store.status().fault === null);
    expect(store.health().warnings).toEqual([
      { code: "file_size_limit", message: expect.stringContaining("ulimit -f") },
    ]);
    for (let user = 1; store.status().journalBytes < disk.maxFileSize - 500; user += 1) {
      await transactOrThrow(store, register(`user ${user}`));
    }
    await waitUntil(() => store.status().journalBytes === 0);
    const last = store.status().seq + 1;
    expect(listSegmentNames(folder)).toContain(`journal-${last}.jsonl`);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    expect(fatalErrors).toEqual([]);
  });

  test("refuses changes while not even one line fits, and recovers without the limit", async () => {
    const { store, disk, folder, fatalErrors } = await openLimitedSite(0);
    disk.maxFileSize = 100;
    for (const user of ["bob", "cem"]) {
      await waitUntil(
        async () => store.status().fault === null || (await readState(store)).nextSlot > 0,
      );
      expect(await transactCommand(store, register(user))).toEqual(LIMITED);
    }
    await readState(store);
    expect(store.status().fault).toEqual({ code: "storage_full", isFileLimit: true });
    expect(store.health().warnings).toMatchObject([{ code: "file_size_limit" }]);
    expect((await readState(store)).nextSlot).toBe(2);
    disk.maxFileSize = Infinity;
    await waitUntil(async () => (await transactCommand(store, register("bob"))).ok);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    expect(fatalErrors).toEqual([]);
  });

  test("continues in the old segment when no new one can be opened, and retries", async () => {
    // Large enough for the probe of the disk, which writes more than a line.
    const disk = new FaultyDisk();
    const { store, folder, fatalErrors } = await openLicensedSite({ disk });
    await transactOrThrow(store, install(2, { product: "cam", metadata: "x".repeat(300_000) }));
    disk.maxFileSize = store.status().journalBytes;
    let isBlocked = true;
    disk.beforeCall = ({ name, path }) => {
      if (isBlocked && name === "open" && path.endsWith("journal-4.jsonl")) throw openError();
    };
    expect(await transactCommand(store, register("bob"))).toEqual(LIMITED);
    await readState(store);
    expect(store.status().fault).toMatchObject({ code: "storage_full" });
    isBlocked = false;
    await waitUntil(async () => (await transactCommand(store, register("bob"))).ok);
    expect(listSegmentNames(folder)).toEqual(["journal-1.jsonl", "journal-4.jsonl"]);
    expect(fatalErrors).toEqual([]);
  });

  test("stops the server when the folder of the new segment cannot be synced", async () => {
    const { store, disk, fatalErrors, folder } = await openLimitedSite(0);
    disk.beforeCall = ({ name }) => {
      if (name === "syncFolder") throw Object.assign(new Error("told to"), { code: "EIO" });
    };
    expect(await transactCommand(store, register("bob"))).toEqual(LIMITED);
    await waitUntil(() => fatalErrors.length > 0);
    expect(store.status().fault).toEqual({ code: "storage_failed" });
    disk.clearFaults();
    expect((await openAndCloseFolder(copyFolder(folder))).seq).toBe(3);
  });
});

const openError = (): Error =>
  Object.assign(new Error("EMFILE: told to"), { code: "EMFILE", syscall: "open" });

test("journal below the file size limit adds no warning", async () => {
  const { store, disk } = await openLimitedSite(1_000_000);
  await transactOrThrow(store, register("bob"));
  expect(store.health().warnings).toEqual([]);
  expect(disk.misuses).toEqual([]);
});
