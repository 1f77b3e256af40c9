import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { err, type Result } from "../../src/domain/result.ts";
import type { StorageFault } from "../../src/store/journal/storage-fault.ts";
import { makeDiskError, FaultyDisk } from "../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  transactInOneBatch,
  readJournal,
  openLicensedSite,
  openSite,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import { consume, register } from "../support/scenario.ts";
import { copyFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

const FULL = err<StorageFault>({ code: "storage_full" });

/** A site in which ada has a slot, on a disk with this many free bytes. */
async function openAlmostFullSite(bytesLeft: number) {
  const disk = new FaultyDisk();
  const site = await openLicensedSite({ disk });
  await transactOrThrow(site.store, register("ada"));
  const before = {
    state: await readState(site.store),
    health: site.store.status(),
    journal: readFileSync(join(site.folder, "journal-1.jsonl")),
  };
  disk.bytesLeft = bytesLeft;
  return { ...site, disk, before };
}

/** Waits until a change succeeds again. */
async function waitForSuccess(change: () => Promise<Result<unknown, unknown>>): Promise<void> {
  await waitUntil(async () => (await change()).ok);
}

describe("store on a full disk", () => {
  test("fails all waiting calls and returns to the state on disk, whatever was written", async () => {
    // Space for nothing, for half of the first line, and for one and a half lines.
    for (const bytesLeft of [0, 200, 600]) {
      const { store, folder, before, fatalErrors } = await openAlmostFullSite(bytesLeft);
      const answers = [
        transactCommand(store, register("bob")),
        transactCommand(store, register("cem")),
        transactCommand(store, register("dua", { product: "nothing" })),
        store.read((state) => state.nextSlot),
      ];
      for (const answer of answers) expect(await answer).toEqual(FULL);
      expect(await readState(store)).toEqual(before.state);
      expect(store.status()).toEqual({ ...before.health, fault: { code: "storage_full" } });
      expect(readFileSync(join(folder, "journal-1.jsonl"))).toEqual(before.journal);
      const copy = await openAndCloseFolder(copyFolder(folder));
      expect(copy).toMatchObject({ state: before.state, notes: [] });
      expect(fatalErrors).toEqual([]);
    }
  });

  test("answers reads and refuses changes, even those that would fit or change nothing", async () => {
    const { store, disk, before } = await openAlmostFullSite(0);
    expect(await transactCommand(store, register("bob"))).toEqual(FULL);
    const read = store.read((state) => state.nextSlot);
    disk.bytesLeft = 10_000;
    expect(await transactCommand(store, register("bob"))).toEqual(FULL);
    expect(await transactCommand(store, register("bob", { product: "nothing" }))).toEqual(FULL);
    expect(await read).toEqual({ ok: true, value: 2 });
    expect(await readState(store)).toEqual(before.state);
  });

  test("never shows a refused change to a read, not even while the state is read back", async () => {
    const { store, before } = await openAlmostFullSite(100);
    const refused = transactCommand(store, register("bob"));
    const reads: Promise<unknown>[] = [];
    void refused.then(() => reads.push(readState(store)));
    expect(await refused).toEqual(FULL);
    reads.push(readState(store));
    expect(reads).toHaveLength(2);
    for (const read of reads) expect(await read).toEqual(before.state);
  });

  test("checks every second for free space, then continues with nothing lost or added", async () => {
    const timers = spyOn(globalThis, "setInterval");
    onTestFinished(() => timers.mockRestore());
    const { store, disk, folder, before, fatalErrors } = await openAlmostFullSite(300);
    expect(timers.mock.calls.map(([, interval]) => interval)).toEqual([1_000]);
    const refused = await Promise.all(
      ["bob", "cem"].map((user) => transactCommand(store, register(user))),
    );
    expect(refused).toEqual([FULL, FULL]);
    // Space for only the first bytes of the probe is not enough to continue.
    disk.bytesLeft = 1_000;
    await waitUntil(() => disk.listCalls("remove").includes("remove probe"));
    expect(store.status().fault).toEqual({ code: "storage_full" });
    disk.bytesLeft = Infinity;
    await waitForSuccess(() => transactCommand(store, register("dua")));
    expect(store.status().fault).toBeNull();
    await transactInOneBatch(store, register("eve"), consume(2));
    const state = await readState(store);
    expect(state.nextSlot).toBe(before.state.nextSlot + 2);
    expect(readJournal(folder).map(({ line }) => line.seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({ state, notes: [] });
    expect(existsSync(join(folder, "probe"))).toBe(false);
    expect(disk.listCalls("sync").filter((call) => call === "sync probe")).toHaveLength(1);
    expect(fatalErrors).toEqual([]);
  });

  test("recovers, and handles a disk that fills up a second time", async () => {
    const { store, disk, folder } = await openAlmostFullSite(0);
    expect(await transactCommand(store, register("bob"))).toEqual(FULL);
    disk.bytesLeft = Infinity;
    await waitForSuccess(() => transactCommand(store, register("cem")));
    const state = await readState(store);
    disk.bytesLeft = 9;
    expect(await transactCommand(store, register("dua"))).toEqual(FULL);
    expect(await readState(store)).toEqual(state);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(state);
  });

  test("stops cleanly, and its folder can be opened again", async () => {
    const { store, stop, folder, before } = await openAlmostFullSite(50);
    expect(await transactCommand(store, register("bob"))).toEqual(FULL);
    await stop();
    expect(await openAndCloseFolder(folder)).toMatchObject({ state: before.state, notes: [] });
  });

  test("stops with a fatal error when the state cannot be read back", async () => {
    const { store, disk, fatalErrors } = await openAlmostFullSite(0);
    disk.beforeCall = ({ name, path }) => {
      if (name === "read" && path.endsWith("state.json")) throw makeDiskError("EIO");
    };
    expect(await transactCommand(store, register("bob"))).toEqual(FULL);
    await waitUntil(() => fatalErrors.length > 0);
    disk.clearFaults();
    expect((await store.read(() => null)).ok).toBe(false);
    expect(await transactCommand(store, register("bob"))).toEqual({
      ok: false,
      fault: { code: "storage_failed" },
    });
    expect(fatalErrors).toHaveLength(1);
  });
});

describe("store on a disk that accepts few bytes per write", () => {
  test("writes every line completely", async () => {
    const disk = new FaultyDisk();
    disk.maxWriteSize = 7;
    const { store, folder } = await openLicensedSite({ disk });
    await transactInOneBatch(store, register("ada"), register("bob"));
    await store.checkpoint();
    await transactOrThrow(store, register("cem"));
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
  });

  test("completes a first start", async () => {
    const disk = new FaultyDisk();
    disk.maxWriteSize = 1;
    const { store, folder } = await openSite({ disk });
    expect(await openAndCloseFolder(copyFolder(folder))).toMatchObject({ seq: 1, notes: [] });
    expect((await readState(store)).kind).toBe("site");
  });
});
