import { describe, expect, test } from "bun:test";
import { err } from "../../src/domain/result.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import type { StorageFault } from "../../src/store/group-commit.ts";
import { diskError, failAt, FaultyDisk, isWaiting, until } from "../support/faulty-disk.ts";
import { asked, done, licensedSite, startIn, stateOf } from "../support/licensed-store.ts";
import { register } from "../support/scenario.ts";
import { copyOf } from "../support/temp-folder.ts";

const FAILED = err<StorageFault>({ code: "storage_failed" });

const throwing = (): never => {
  throw new Error("a bug");
};

describe("a disk that fails", () => {
  for (const [name, call, code] of [
    ["a sync that fails", "syncData", "EIO"],
    ["a sync that fails for want of room", "syncData", "ENOSPC"],
    ["a write that fails with EIO", "write", "EIO"],
  ] as const) {
    test(`${name} is storage_failed for all who wait, fatal, and never retried`, async () => {
      const disk = new FaultyDisk();
      const { store, fatal } = await licensedSite({ disk });
      // Once only: a second try would find nothing wrong.
      failAt(disk, 1, code, call);
      const waiting = [
        asked(store, register("ada")),
        asked(store, register("bob")),
        asked(store, register("bob", { product: "nothing" })),
        store.read((state) => state.nextSlot),
      ];
      for (const answer of waiting) expect(await answer).toEqual(FAILED);
      expect(fatal.map(({ message }) => message)).toEqual(["storage_failed"]);
      expect(String(fatal[0]?.cause)).toContain(code);
      disk.heal();
      const before = disk.calls.length;
      expect(await asked(store, register("cem"))).toEqual(FAILED);
      expect(await store.read((state) => state.nextSlot)).toEqual(FAILED);
      await store.checkpoint();
      // A probe, if there was one, would have come by now.
      await Bun.sleep(call === "syncData" && code === "ENOSPC" ? 1_200 : 10);
      expect(disk.calls).toHaveLength(before);
      expect(store.health().fault).toEqual({ code: "storage_failed" });
      expect(fatal).toHaveLength(1);
    });
  }

  test("fails those who gathered while the sync was under way as well", async () => {
    const disk = new FaultyDisk();
    const { store, fatal, folder } = await licensedSite({ disk });
    const state = await stateOf(store);
    const syncs = disk.hold("syncData");
    const first = asked(store, register("ada"));
    await until(() => syncs.waiting === 1);
    const second = asked(store, register("bob"));
    const read = store.read((seen) => seen.nextSlot);
    const writes = disk.log("write").length;
    await syncs.letOne(diskError("EIO"));
    for (const answer of [first, second, read]) expect(await answer).toEqual(FAILED);
    expect(disk.log("write")).toHaveLength(writes);
    expect(fatal).toHaveLength(1);
    // What the kernel still has of it may come back; what was never written may not.
    const { state: found } = await startIn(copyOf(folder));
    expect(found.nextSlot).toBe(state.nextSlot + 1);
  });

  test("stops the store without another write, and the folder starts", async () => {
    const disk = new FaultyDisk();
    const { store, stop, folder } = await licensedSite({ disk });
    disk.rule = ({ name }) => {
      if (name === "write") throw diskError("EIO");
    };
    expect(await asked(store, register("ada"))).toEqual(FAILED);
    disk.heal();
    const before = disk.log("write", "sync", "syncData", "rename").length;
    await stop();
    expect(disk.log("write", "sync", "syncData", "rename")).toHaveLength(before);
    expect((await startIn(folder)).seq).toBe(2);
  });
});

describe("a bug in the middle of a command", () => {
  test("is thrown to its caller, and the store goes on with what is on disk", async () => {
    const { store, folder, fatal } = await licensedSite();
    await done(store, register("ada"));
    expect(store.transact(register("bob"), throwing)).rejects.toThrow("a bug");
    const read = await stateOf(store);
    expect((await startIn(copyOf(folder))).state).toEqual(read);
    await until(() => store.health().fault === null);
    await done(store, register("cem"));
    expect((await startIn(copyOf(folder))).state).toEqual(await stateOf(store));
    expect(fatal).toEqual([]);
  });

  test("changes nothing for those who wait already", async () => {
    const disk = new FaultyDisk();
    const { store } = await licensedSite({ disk });
    const syncs = disk.hold("syncData");
    const pending = asked(store, register("ada"));
    await until(() => syncs.waiting === 1);
    expect(store.transact(register("bob"), throwing)).rejects.toThrow("a bug");
    const read = store.read((state) => state.nextSlot);
    expect(await asked(store, register("cem"))).toEqual(FAILED);
    expect(await isWaiting(pending)).toBe(true);
    expect(await isWaiting(read)).toBe(true);
    syncs.end();
    expect((await pending).ok).toBe(true);
    expect(await read).toEqual({ ok: true, value: 3 });
  });

  test("does not make a sync that fails meanwhile any less fatal", async () => {
    const disk = new FaultyDisk();
    const { store, fatal } = await licensedSite({ disk });
    const syncs = disk.hold("syncData");
    const pending = asked(store, register("ada"));
    await until(() => syncs.waiting === 1);
    expect(store.transact(register("bob"), throwing)).rejects.toThrow("a bug");
    const read = store.read((state) => state.nextSlot);
    await syncs.letOne(diskError("EIO"));
    expect(await pending).toEqual(FAILED);
    disk.heal();
    expect(await read).toEqual(FAILED);
    expect(await asked(store, register("cem"))).toEqual(FAILED);
    expect(await store.read((state) => state.nextSlot)).toEqual(FAILED);
    expect(fatal).toHaveLength(1);
  });

  test("is fatal when the disk cannot be read back, and nothing is answered from memory", async () => {
    const disk = new FaultyDisk();
    const { store, fatal } = await licensedSite({ disk });
    disk.rule = ({ name, path }) => {
      if (name === "read" && path.endsWith("state.json")) throw diskError("EIO");
    };
    expect(store.transact(register("bob"), throwing)).rejects.toThrow("a bug");
    await until(() => fatal.length > 0);
    disk.heal();
    expect(await asked(store, register("cem"))).toEqual(FAILED);
    expect(await store.read((state) => state.nextSlot)).toEqual(FAILED);
    expect(fatal).toHaveLength(1);
  });

  test("while the journal moves to a new segment leaves one that can be written", async () => {
    const disk = new FaultyDisk();
    const { store, folder, fatal } = await licensedSite({
      disk,
      checkpoint: (path, open) => checkpoint(realDisk, path, open),
    });
    const folders = disk.hold("syncFolder");
    const rotating = store.checkpoint();
    await until(() => folders.waiting === 1);
    expect(store.transact({ type: "CountRefusals", refusals: [] }, throwing)).rejects.toThrow(
      "a bug",
    );
    await isWaiting(store.read(() => null));
    folders.end();
    await rotating;
    await until(() => store.health().fault === null);
    expect((await asked(store, register("cem"))).ok).toBe(true);
    expect((await startIn(copyOf(folder))).state).toEqual(await stateOf(store));
    expect(fatal).toEqual([]);
  });
});
