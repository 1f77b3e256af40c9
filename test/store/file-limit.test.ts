// A limit on the size of files (`ulimit -f`): the disk has room, and a segment of the journal cannot
// grow. Another segment can.
import { describe, expect, test } from "bun:test";
import { err } from "../../src/domain/result.ts";
import type { StorageFault } from "../../src/store/group-commit.ts";
import { FaultyDisk, until } from "../support/faulty-disk.ts";
import {
  asked,
  done,
  journalOf,
  licensedSite,
  segmentNames,
  startIn,
  stateOf,
} from "../support/licensed-store.ts";
import { install, register } from "../support/scenario.ts";
import { tellNoSlowSyncs } from "../support/slow-syncs.ts";
import { copyOf } from "../support/temp-folder.ts";

tellNoSlowSyncs();

const LIMITED = err<StorageFault>({ code: "storage_full", isFileLimit: true });

/** Ada has a slot; a file can grow by so many bytes beyond what the journal has now. */
async function limited(more: number) {
  const disk = new FaultyDisk();
  const site = await licensedSite({ disk });
  await done(site.store, register("ada"));
  disk.largestFile = site.store.health().journalBytes + more;
  return { ...site, disk };
}

describe("a journal that reached the limit on the size of files", () => {
  test("refuses what did not fit, and goes on in a new segment at once", async () => {
    for (const more of [0, 200, 600]) {
      const { store, folder, fatal } = await limited(more);
      const refused = [asked(store, register("bob")), asked(store, register("cem"))];
      for (const answer of refused) expect(await answer).toEqual(LIMITED);
      // The read waits for the store to be back at what the disk says.
      expect((await stateOf(store)).nextSlot).toBe(2);
      expect(store.health().fault).toBeNull();
      await done(store, register("bob"));
      await done(store, register("cem"));
      expect(segmentNames(folder)).toEqual(["journal-1.jsonl", "journal-4.jsonl"]);
      expect(journalOf(folder).map(({ line }) => line.seq)).toEqual([1, 2, 3, 4, 5]);
      const state = await stateOf(store);
      expect(await startIn(copyOf(folder))).toMatchObject({ state, notes: [] });
      expect(fatal).toEqual([]);
    }
  });

  test("is told by health, and rotates before it gets there again", async () => {
    const { store, folder, disk, fatal } = await limited(0);
    expect(await asked(store, register("bob"))).toEqual(LIMITED);
    await until(() => store.health().fault === null);
    expect(store.condition().warnings).toEqual([
      { code: "file_size_limit", message: expect.stringContaining("ulimit -f") },
    ]);
    for (let user = 1; store.health().journalBytes < disk.largestFile - 500; user += 1) {
      await done(store, register(`user ${user}`));
    }
    await until(() => store.health().journalBytes === 0);
    const last = store.health().seq + 1;
    expect(segmentNames(folder)).toContain(`journal-${last}.jsonl`);
    expect((await startIn(copyOf(folder))).state).toEqual(await stateOf(store));
    expect(fatal).toEqual([]);
  });

  test("stays refused where not even one line fits, names the limit, and goes on without it", async () => {
    const { store, disk, folder, fatal } = await limited(0);
    disk.largestFile = 100;
    for (const user of ["bob", "cem"]) {
      await until(async () => store.health().fault === null || (await stateOf(store)).nextSlot > 0);
      expect(await asked(store, register(user))).toEqual(LIMITED);
    }
    await stateOf(store);
    expect(store.health().fault).toEqual({ code: "storage_full", isFileLimit: true });
    expect(store.condition().warnings).toMatchObject([{ code: "file_size_limit" }]);
    expect((await stateOf(store)).nextSlot).toBe(2);
    disk.largestFile = Infinity;
    await until(async () => (await asked(store, register("bob"))).ok);
    expect((await startIn(copyOf(folder))).state).toEqual(await stateOf(store));
    expect(fatal).toEqual([]);
  });

  test("goes on in the old segment where no other can be opened, and tries again", async () => {
    // Long enough for a look at the disk, which writes more than a line.
    const disk = new FaultyDisk();
    const { store, folder, fatal } = await licensedSite({ disk });
    await done(store, install(2, { product: "cam", metadata: "x".repeat(300_000) }));
    disk.largestFile = store.health().journalBytes;
    let blocked = true;
    disk.rule = ({ name, path }) => {
      if (blocked && name === "open" && path.endsWith("journal-4.jsonl")) throw openError();
    };
    expect(await asked(store, register("bob"))).toEqual(LIMITED);
    await stateOf(store);
    expect(store.health().fault).toMatchObject({ code: "storage_full" });
    blocked = false;
    await until(async () => (await asked(store, register("bob"))).ok);
    expect(segmentNames(folder)).toEqual(["journal-1.jsonl", "journal-4.jsonl"]);
    expect(fatal).toEqual([]);
  });

  test("ends the server when the new segment's name cannot be synced", async () => {
    const { store, disk, fatal, folder } = await limited(0);
    disk.rule = ({ name }) => {
      if (name === "syncFolder") throw Object.assign(new Error("told to"), { code: "EIO" });
    };
    expect(await asked(store, register("bob"))).toEqual(LIMITED);
    await until(() => fatal.length > 0);
    expect(store.health().fault).toEqual({ code: "storage_failed" });
    disk.heal();
    expect((await startIn(copyOf(folder))).seq).toBe(3);
  });
});

const openError = (): Error =>
  Object.assign(new Error("EMFILE: told to"), { code: "EMFILE", syscall: "open" });

test("a limit that the journal stays below is not noticed", async () => {
  const { store, disk } = await limited(1_000_000);
  await done(store, register("bob"));
  expect(store.condition().warnings).toEqual([]);
  expect(disk.misused).toEqual([]);
});
