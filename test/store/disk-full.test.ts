import { describe, expect, onTestFinished, spyOn, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { err, type Result } from "../../src/domain/result.ts";
import type { StorageFault } from "../../src/store/group-commit.ts";
import { diskError, FaultyDisk, until } from "../support/faulty-disk.ts";
import {
  asked,
  done,
  doneTogether,
  journalOf,
  licensedSite,
  openSite,
  startIn,
  stateOf,
} from "../support/licensed-store.ts";
import { consume, register } from "../support/scenario.ts";
import { copyOf } from "../support/temp-folder.ts";

const FULL = err<StorageFault>({ code: "storage_full" });

/** Ada has a slot; from here on this many bytes fit. */
async function almostFull(room: number) {
  const disk = new FaultyDisk();
  const site = await licensedSite({ disk });
  await done(site.store, register("ada"));
  const before = {
    state: await stateOf(site.store),
    health: site.store.health(),
    journal: readFileSync(join(site.folder, "journal-1.jsonl")),
  };
  disk.room = room;
  return { ...site, disk, before };
}

/** Room again: a change goes through. */
async function works(change: () => Promise<Result<unknown, unknown>>): Promise<void> {
  await until(async () => (await change()).ok);
}

describe("a disk that is full", () => {
  test("fails all who wait and goes back to what is on disk, whatever was written", async () => {
    // Not a byte, half of the first line, all of it and half of the second.
    for (const room of [0, 200, 600]) {
      const { store, folder, before, fatal } = await almostFull(room);
      const waiting = [
        asked(store, register("bob")),
        asked(store, register("cem")),
        asked(store, register("dua", { product: "nothing" })),
        store.read((state) => state.nextSlot),
      ];
      for (const answer of waiting) expect(await answer).toEqual(FULL);
      expect(await stateOf(store)).toEqual(before.state);
      expect(store.health()).toEqual({ ...before.health, fault: { code: "storage_full" } });
      expect(readFileSync(join(folder, "journal-1.jsonl"))).toEqual(before.journal);
      const copy = await startIn(copyOf(folder));
      expect(copy).toMatchObject({ state: before.state, notes: [] });
      expect(fatal).toEqual([]);
    }
  });

  test("serves reads and refuses changes, even those that would fit or change nothing", async () => {
    const { store, disk, before } = await almostFull(0);
    expect(await asked(store, register("bob"))).toEqual(FULL);
    const read = store.read((state) => state.nextSlot);
    disk.room = 10_000;
    expect(await asked(store, register("bob"))).toEqual(FULL);
    expect(await asked(store, register("bob", { product: "nothing" }))).toEqual(FULL);
    expect(await read).toEqual({ ok: true, value: 2 });
    expect(await stateOf(store)).toEqual(before.state);
  });

  test("lets nobody see what was refused, not even while the state is being read again", async () => {
    const { store, before } = await almostFull(100);
    const refused = asked(store, register("bob"));
    const reads: Promise<unknown>[] = [];
    void refused.then(() => reads.push(stateOf(store)));
    expect(await refused).toEqual(FULL);
    reads.push(stateOf(store));
    expect(reads).toHaveLength(2);
    for (const read of reads) expect(await read).toEqual(before.state);
  });

  test("is good again by a look each second once there is room, and nothing was lost or added", async () => {
    const timers = spyOn(globalThis, "setInterval");
    onTestFinished(() => timers.mockRestore());
    const { store, disk, folder, before, fatal } = await almostFull(300);
    expect(timers.mock.calls.map(([, every]) => every)).toEqual([1_000]);
    const refused = await Promise.all(["bob", "cem"].map((user) => asked(store, register(user))));
    expect(refused).toEqual([FULL, FULL]);
    // Room for the probe's first bytes only: not enough to go on.
    disk.room = 1_000;
    await until(() => disk.log("remove").includes("remove probe"));
    expect(store.health().fault).toEqual({ code: "storage_full" });
    disk.room = Infinity;
    await works(() => asked(store, register("dua")));
    expect(store.health().fault).toBeNull();
    await doneTogether(store, register("eve"), consume(2));
    const state = await stateOf(store);
    expect(state.nextSlot).toBe(before.state.nextSlot + 2);
    expect(journalOf(folder).map(({ line }) => line.seq)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(await startIn(copyOf(folder))).toMatchObject({ state, notes: [] });
    expect(existsSync(join(folder, "probe"))).toBe(false);
    expect(disk.log("sync").filter((call) => call === "sync probe")).toHaveLength(1);
    expect(fatal).toEqual([]);
  });

  test("can fill up again", async () => {
    const { store, disk, folder } = await almostFull(0);
    expect(await asked(store, register("bob"))).toEqual(FULL);
    disk.room = Infinity;
    await works(() => asked(store, register("cem")));
    const state = await stateOf(store);
    disk.room = 9;
    expect(await asked(store, register("dua"))).toEqual(FULL);
    expect(await stateOf(store)).toEqual(state);
    expect((await startIn(copyOf(folder))).state).toEqual(state);
  });

  test("is stopped cleanly, and starts", async () => {
    const { store, stop, folder, before } = await almostFull(50);
    expect(await asked(store, register("bob"))).toEqual(FULL);
    await stop();
    expect(await startIn(folder)).toMatchObject({ state: before.state, notes: [] });
  });

  test("that cannot be read back is given up on", async () => {
    const { store, disk, fatal } = await almostFull(0);
    disk.rule = ({ name, path }) => {
      if (name === "read" && path.endsWith("state.json")) throw diskError("EIO");
    };
    expect(await asked(store, register("bob"))).toEqual(FULL);
    await until(() => fatal.length > 0);
    disk.heal();
    expect((await store.read(() => null)).ok).toBe(false);
    expect(await asked(store, register("bob"))).toEqual({
      ok: false,
      fault: { code: "storage_failed" },
    });
    expect(fatal).toHaveLength(1);
  });
});

describe("a disk that takes little at a time", () => {
  test("gets all of every line", async () => {
    const disk = new FaultyDisk();
    disk.longestWrite = 7;
    const { store, folder } = await licensedSite({ disk });
    await doneTogether(store, register("ada"), register("bob"));
    await store.checkpoint();
    await done(store, register("cem"));
    expect((await startIn(copyOf(folder))).state).toEqual(await stateOf(store));
  });

  test("is no reason to give up on a first start", async () => {
    const disk = new FaultyDisk();
    disk.longestWrite = 1;
    const { store, folder } = await openSite({ disk });
    expect(await startIn(copyOf(folder))).toMatchObject({ seq: 1, notes: [] });
    expect((await stateOf(store)).kind).toBe("site");
  });
});
