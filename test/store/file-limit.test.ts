// A limit on the size of files (`ulimit -f`): the disk has room, and a segment of the journal cannot
// grow. Another segment can.
import { describe, expect, test } from "bun:test";
import { err } from "../../src/domain/result.ts";
import type { StorageFault } from "../../src/store/group-commit.ts";
import { FaultyDisk, waitUntil } from "../support/faulty-disk.ts";
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

tellNoSlowSyncs();

const LIMITED = err<StorageFault>({ code: "storage_full", isFileLimit: true });

/** Ada has a slot; a file can grow by so many bytes beyond what the journal has now. */
async function limited(more: number) {
  const disk = new FaultyDisk();
  const site = await openLicensedSite({ disk });
  await transactOrThrow(site.store, register("ada"));
  disk.maxFileSize = site.store.health().journalBytes + more;
  return { ...site, disk };
}

describe("a journal that reached the limit on the size of files", () => {
  test("refuses what did not fit, and goes on in a new segment at once", async () => {
    for (const more of [0, 200, 600]) {
      const { store, folder, fatalErrors } = await limited(more);
      const refused = [
        transactCommand(store, register("bob")),
        transactCommand(store, register("cem")),
      ];
      for (const answer of refused) expect(await answer).toEqual(LIMITED);
      // The read waits for the store to be back at what the disk says.
      expect((await readState(store)).nextSlot).toBe(2);
      expect(store.health().fault).toBeNull();
      await transactOrThrow(store, register("bob"));
      await transactOrThrow(store, register("cem"));
      expect(listSegmentNames(folder)).toEqual(["journal-1.jsonl", "journal-4.jsonl"]);
      expect(readJournal(folder).map(({ line }) => line.seq)).toEqual([1, 2, 3, 4, 5]);
      const state = await readState(store);
      expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({ state, notes: [] });
      expect(fatalErrors).toEqual([]);
    }
  });

  test("is told by health, and rotates before it gets there again", async () => {
    const { store, folder, disk, fatalErrors } = await limited(0);
    expect(await transactCommand(store, register("bob"))).toEqual(LIMITED);
    await waitUntil(() => store.health().fault === null);
    expect(store.condition().warnings).toEqual([
      { code: "file_size_limit", message: expect.stringContaining("ulimit -f") },
    ]);
    for (let user = 1; store.health().journalBytes < disk.maxFileSize - 500; user += 1) {
      await transactOrThrow(store, register(`user ${user}`));
    }
    await waitUntil(() => store.health().journalBytes === 0);
    const last = store.health().seq + 1;
    expect(listSegmentNames(folder)).toContain(`journal-${last}.jsonl`);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    expect(fatalErrors).toEqual([]);
  });

  test("stays refused where not even one line fits, names the limit, and goes on without it", async () => {
    const { store, disk, folder, fatalErrors } = await limited(0);
    disk.maxFileSize = 100;
    for (const user of ["bob", "cem"]) {
      await waitUntil(
        async () => store.health().fault === null || (await readState(store)).nextSlot > 0,
      );
      expect(await transactCommand(store, register(user))).toEqual(LIMITED);
    }
    await readState(store);
    expect(store.health().fault).toEqual({ code: "storage_full", isFileLimit: true });
    expect(store.condition().warnings).toMatchObject([{ code: "file_size_limit" }]);
    expect((await readState(store)).nextSlot).toBe(2);
    disk.maxFileSize = Infinity;
    await waitUntil(async () => (await transactCommand(store, register("bob"))).ok);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    expect(fatalErrors).toEqual([]);
  });

  test("goes on in the old segment where no other can be opened, and tries again", async () => {
    // Long enough for a look at the disk, which writes more than a line.
    const disk = new FaultyDisk();
    const { store, folder, fatalErrors } = await openLicensedSite({ disk });
    await transactOrThrow(store, install(2, { product: "cam", metadata: "x".repeat(300_000) }));
    disk.maxFileSize = store.health().journalBytes;
    let blocked = true;
    disk.beforeCall = ({ name, path }) => {
      if (blocked && name === "open" && path.endsWith("journal-4.jsonl")) throw openError();
    };
    expect(await transactCommand(store, register("bob"))).toEqual(LIMITED);
    await readState(store);
    expect(store.health().fault).toMatchObject({ code: "storage_full" });
    blocked = false;
    await waitUntil(async () => (await transactCommand(store, register("bob"))).ok);
    expect(listSegmentNames(folder)).toEqual(["journal-1.jsonl", "journal-4.jsonl"]);
    expect(fatalErrors).toEqual([]);
  });

  test("ends the server when the new segment's name cannot be synced", async () => {
    const { store, disk, fatalErrors, folder } = await limited(0);
    disk.beforeCall = ({ name }) => {
      if (name === "syncFolder") throw Object.assign(new Error("told to"), { code: "EIO" });
    };
    expect(await transactCommand(store, register("bob"))).toEqual(LIMITED);
    await waitUntil(() => fatalErrors.length > 0);
    expect(store.health().fault).toEqual({ code: "storage_failed" });
    disk.clearFaults();
    expect((await openAndCloseFolder(copyFolder(folder))).seq).toBe(3);
  });
});

const openError = (): Error =>
  Object.assign(new Error("EMFILE: told to"), { code: "EMFILE", syscall: "open" });

test("a limit that the journal stays below is not noticed", async () => {
  const { store, disk } = await limited(1_000_000);
  await transactOrThrow(store, register("bob"));
  expect(store.condition().warnings).toEqual([]);
  expect(disk.misuses).toEqual([]);
});
