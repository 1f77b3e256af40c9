import { describe, expect, test } from "bun:test";
import { err } from "../../src/domain/result.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import type { StorageFault } from "../../src/store/group-commit.ts";
import {
  makeDiskError,
  failCallAt,
  FaultyDisk,
  isPending,
  waitUntil,
} from "../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  openLicensedSite,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import { register } from "../support/scenario.ts";
import { copyFolder } from "../support/temp-folder.ts";

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
      const { store, fatalErrors } = await openLicensedSite({ disk });
      // Once only: a second try would find nothing wrong.
      failCallAt(disk, 1, code, call);
      const waiting = [
        transactCommand(store, register("ada")),
        transactCommand(store, register("bob")),
        transactCommand(store, register("bob", { product: "nothing" })),
        store.read((state) => state.nextSlot),
      ];
      for (const answer of waiting) expect(await answer).toEqual(FAILED);
      expect(fatalErrors.map(({ message }) => message)).toEqual(["storage_failed"]);
      expect(String(fatalErrors[0]?.cause)).toContain(code);
      disk.clearFaults();
      const before = disk.calls.length;
      expect(await transactCommand(store, register("cem"))).toEqual(FAILED);
      expect(await store.read((state) => state.nextSlot)).toEqual(FAILED);
      await store.checkpoint();
      // A probe, if there was one, would have come by now.
      await Bun.sleep(call === "syncData" && code === "ENOSPC" ? 1_200 : 10);
      expect(disk.calls).toHaveLength(before);
      expect(store.health().fault).toEqual({ code: "storage_failed" });
      expect(fatalErrors).toHaveLength(1);
    });
  }

  test("fails those who gathered while the sync was under way as well", async () => {
    const disk = new FaultyDisk();
    const { store, fatalErrors, folder } = await openLicensedSite({ disk });
    const state = await readState(store);
    const syncs = disk.block("syncData");
    const first = transactCommand(store, register("ada"));
    await waitUntil(() => syncs.count === 1);
    const second = transactCommand(store, register("bob"));
    const read = store.read((seen) => seen.nextSlot);
    const writes = disk.listCalls("write").length;
    await syncs.releaseOne(makeDiskError("EIO"));
    for (const answer of [first, second, read]) expect(await answer).toEqual(FAILED);
    expect(disk.listCalls("write")).toHaveLength(writes);
    expect(fatalErrors).toHaveLength(1);
    // What the kernel still has of it may come back; what was never written may not.
    const { state: found } = await openAndCloseFolder(copyFolder(folder));
    expect(found.nextSlot).toBe(state.nextSlot + 1);
  });

  test("stops the store without another write, and the folder starts", async () => {
    const disk = new FaultyDisk();
    const { store, stop, folder } = await openLicensedSite({ disk });
    disk.beforeCall = ({ name }) => {
      if (name === "write") throw makeDiskError("EIO");
    };
    expect(await transactCommand(store, register("ada"))).toEqual(FAILED);
    disk.clearFaults();
    const before = disk.listCalls("write", "sync", "syncData", "rename").length;
    await stop();
    expect(disk.listCalls("write", "sync", "syncData", "rename")).toHaveLength(before);
    expect((await openAndCloseFolder(folder)).seq).toBe(2);
  });
});

describe("a bug in the middle of a command", () => {
  test("is thrown to its caller, and the store goes on with what is on disk", async () => {
    const { store, folder, fatalErrors } = await openLicensedSite();
    await transactOrThrow(store, register("ada"));
    expect(store.transact(register("bob"), throwing)).rejects.toThrow("a bug");
    const read = await readState(store);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(read);
    await waitUntil(() => store.health().fault === null);
    await transactOrThrow(store, register("cem"));
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    expect(fatalErrors).toEqual([]);
  });

  test("changes nothing for those who wait already", async () => {
    const disk = new FaultyDisk();
    const { store } = await openLicensedSite({ disk });
    const syncs = disk.block("syncData");
    const pending = transactCommand(store, register("ada"));
    await waitUntil(() => syncs.count === 1);
    expect(store.transact(register("bob"), throwing)).rejects.toThrow("a bug");
    const read = store.read((state) => state.nextSlot);
    expect(await transactCommand(store, register("cem"))).toEqual(FAILED);
    expect(await isPending(pending)).toBe(true);
    expect(await isPending(read)).toBe(true);
    syncs.releaseAll();
    expect((await pending).ok).toBe(true);
    expect(await read).toEqual({ ok: true, value: 3 });
  });

  test("does not make a sync that fails meanwhile any less fatal", async () => {
    const disk = new FaultyDisk();
    const { store, fatalErrors } = await openLicensedSite({ disk });
    const syncs = disk.block("syncData");
    const pending = transactCommand(store, register("ada"));
    await waitUntil(() => syncs.count === 1);
    expect(store.transact(register("bob"), throwing)).rejects.toThrow("a bug");
    const read = store.read((state) => state.nextSlot);
    await syncs.releaseOne(makeDiskError("EIO"));
    expect(await pending).toEqual(FAILED);
    disk.clearFaults();
    expect(await read).toEqual(FAILED);
    expect(await transactCommand(store, register("cem"))).toEqual(FAILED);
    expect(await store.read((state) => state.nextSlot)).toEqual(FAILED);
    expect(fatalErrors).toHaveLength(1);
  });

  test("is fatal when the disk cannot be read back, and nothing is answered from memory", async () => {
    const disk = new FaultyDisk();
    const { store, fatalErrors } = await openLicensedSite({ disk });
    disk.beforeCall = ({ name, path }) => {
      if (name === "read" && path.endsWith("state.json")) throw makeDiskError("EIO");
    };
    expect(store.transact(register("bob"), throwing)).rejects.toThrow("a bug");
    await waitUntil(() => fatalErrors.length > 0);
    disk.clearFaults();
    expect(await transactCommand(store, register("cem"))).toEqual(FAILED);
    expect(await store.read((state) => state.nextSlot)).toEqual(FAILED);
    expect(fatalErrors).toHaveLength(1);
  });

  test("while the journal moves to a new segment leaves one that can be written", async () => {
    const disk = new FaultyDisk();
    const { store, folder, fatalErrors } = await openLicensedSite({
      disk,
      checkpoint: (path, open) => checkpoint(realDisk, path, open),
    });
    const folders = disk.block("syncFolder");
    const rotating = store.checkpoint();
    await waitUntil(() => folders.count === 1);
    expect(store.transact({ type: "CountRefusals", refusals: [] }, throwing)).rejects.toThrow(
      "a bug",
    );
    await isPending(store.read(() => null));
    folders.releaseAll();
    await rotating;
    await waitUntil(() => store.health().fault === null);
    expect((await transactCommand(store, register("cem"))).ok).toBe(true);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    expect(fatalErrors).toEqual([]);
  });
});
