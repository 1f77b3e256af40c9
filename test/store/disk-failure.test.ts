import { describe, expect, test } from "bun:test";
import type { Event } from "../../src/domain/model/event.ts";
import { err } from "../../src/domain/result.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { checkpoint } from "../../src/store/checkpoint/checkpoint.ts";
import type { StorageFault } from "../../src/store/journal/storage-fault.ts";
import { makeDiskError, failCallAt, FaultyDisk, isPending } from "../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  openLicensedSite,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import { holdProcessClock } from "../support/process-clock.ts";
import { register } from "../support/scenario.ts";
import { copyFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

const FAILED = err<StorageFault>({ code: "storage_failed" });

const throwBug = (): never => {
  throw new Error("a bug");
};

describe("store on a failing disk", () => {
  for (const [name, call, code] of [
    ["a sync with EIO", "syncData", "EIO"],
    ["a sync with ENOSPC", "syncData", "ENOSPC"],
    ["a write with EIO", "write", "EIO"],
  ] as const) {
    test(`answers storage_failed to all waiting calls after ${name}, stops and never retries`, async () => {
      const disk = new FaultyDisk();
      const { store, fatalErrors } = await openLicensedSite({ disk });
      // The call fails only once: a second attempt would succeed.
      failCallAt(disk, 1, code, call);
      const answers = [
        transactCommand(store, register("ada")),
        transactCommand(store, register("bob")),
        transactCommand(store, register("bob", { product: "nothing" })),
        store.read((state) => state.nextSlot),
      ];
      for (const answer of answers) expect(await answer).toEqual(FAILED);
      expect(fatalErrors.map(({ message }) => message)).toEqual(["storage_failed"]);
      expect(String(fatalErrors[0]?.cause)).toContain(code);
      disk.clearFaults();
      const before = disk.calls.length;
      expect(await transactCommand(store, register("cem"))).toEqual(FAILED);
      expect(await store.read((state) => state.nextSlot)).toEqual(FAILED);
      await store.checkpoint();
      // A probe of the disk, if there were one, would have run by now.
      await Bun.sleep(call === "syncData" && code === "ENOSPC" ? 1_200 : 10);
      expect(disk.calls).toHaveLength(before);
      expect(store.status().fault).toEqual({ code: "storage_failed" });
      expect(fatalErrors).toHaveLength(1);
    });
  }

  test("also fails the calls that arrived during the failed sync", async () => {
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
    // The next start may find what was written but not synced, and nothing that was not written.
    const { state: found } = await openAndCloseFolder(copyFolder(folder));
    expect(found.nextSlot).toBe(state.nextSlot + 1);
  });

  test("stops without another write, and the folder can be opened again", async () => {
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

describe("store on a disk that does not answer", () => {
  const HANGS = err<StorageFault>({ code: "storage_failed", isHanging: true });

  test("answers its callers after 15 seconds, and its observer and its stop wait for the outcome", async () => {
    const disk = new FaultyDisk();
    const durable: string[] = [];
    const observer = {
      applied() {},
      durable: (events: readonly Event[]) => durable.push(...events.map(({ type }) => type)),
    };
    const { store, folder, stop } = await openLicensedSite({ disk, observer });
    durable.length = 0;
    const clock = holdProcessClock();
    const syncs = disk.block("syncData");
    const first = transactCommand(store, register("ada"));
    await waitUntil(() => syncs.count === 1);
    const second = transactCommand(store, register("bob"));
    const outcome = store.transact(register("cem"), () => "granted", null, "outcome");
    clock.ms += 15_001;
    for (const result of [first, second]) expect(await result).toEqual(HANGS);
    const stopping = stop();
    expect(await isPending(outcome)).toBe(true);
    expect(durable).toEqual([]);
    syncs.releaseAll();
    expect(await outcome).toEqual({ ok: true, value: "granted" });
    await stopping;
    expect(durable).toEqual(["SlotTaken", "SlotTaken", "SlotTaken"]);
    const { state } = await openAndCloseFolder(folder);
    expect(state.nextSlot).toBe(4);
  });

  test("counts a folder that is not synced for a new segment", async () => {
    const disk = new FaultyDisk();
    const { store } = await openLicensedSite({ disk });
    const clock = holdProcessClock();
    const syncs = disk.block("syncFolder");
    const rotating = store.checkpoint();
    await waitUntil(() => syncs.count === 1);
    clock.ms += 15_001;
    expect(store.status().fault).toEqual({ code: "storage_failed", isHanging: true });
    syncs.releaseAll();
    await rotating;
    expect(store.status().fault).toBeNull();
    await transactOrThrow(store, register("ada"));
  });
});

describe("exception in the middle of a command", () => {
  test("is thrown to its caller, and the store continues with the state on disk", async () => {
    const { store, folder, fatalErrors } = await openLicensedSite();
    await transactOrThrow(store, register("ada"));
    expect(store.transact(register("bob"), throwBug)).rejects.toThrow("a bug");
    const read = await readState(store);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(read);
    await waitUntil(() => store.status().fault === null);
    await transactOrThrow(store, register("cem"));
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    expect(fatalErrors).toEqual([]);
  });

  test("does not affect calls that are already waiting", async () => {
    const disk = new FaultyDisk();
    const { store } = await openLicensedSite({ disk });
    const syncs = disk.block("syncData");
    const pending = transactCommand(store, register("ada"));
    await waitUntil(() => syncs.count === 1);
    expect(store.transact(register("bob"), throwBug)).rejects.toThrow("a bug");
    const read = store.read((state) => state.nextSlot);
    expect(await transactCommand(store, register("cem"))).toEqual(FAILED);
    expect(await isPending(pending)).toBe(true);
    expect(await isPending(read)).toBe(true);
    syncs.releaseAll();
    expect((await pending).ok).toBe(true);
    expect(await read).toEqual({ ok: true, value: 3 });
  });

  test("does not hide that a sync fails at the same time", async () => {
    const disk = new FaultyDisk();
    const { store, fatalErrors } = await openLicensedSite({ disk });
    const syncs = disk.block("syncData");
    const pending = transactCommand(store, register("ada"));
    await waitUntil(() => syncs.count === 1);
    expect(store.transact(register("bob"), throwBug)).rejects.toThrow("a bug");
    const read = store.read((state) => state.nextSlot);
    await syncs.releaseOne(makeDiskError("EIO"));
    expect(await pending).toEqual(FAILED);
    disk.clearFaults();
    expect(await read).toEqual(FAILED);
    expect(await transactCommand(store, register("cem"))).toEqual(FAILED);
    expect(await store.read((state) => state.nextSlot)).toEqual(FAILED);
    expect(fatalErrors).toHaveLength(1);
  });

  test("is fatal when the state cannot be read back, and nothing is answered from memory", async () => {
    const disk = new FaultyDisk();
    const { store, fatalErrors } = await openLicensedSite({ disk });
    disk.beforeCall = ({ name, path }) => {
      if (name === "read" && path.endsWith("state.json")) throw makeDiskError("EIO");
    };
    expect(store.transact(register("bob"), throwBug)).rejects.toThrow("a bug");
    await waitUntil(() => fatalErrors.length > 0);
    disk.clearFaults();
    expect(await transactCommand(store, register("cem"))).toEqual(FAILED);
    expect(await store.read((state) => state.nextSlot)).toEqual(FAILED);
    expect(fatalErrors).toHaveLength(1);
  });

  test("during a rotation leaves a journal that can be written", async () => {
    const disk = new FaultyDisk();
    const { store, folder, fatalErrors } = await openLicensedSite({
      disk,
      checkpoint: (path, open) => checkpoint(realDisk, path, open),
    });
    const folders = disk.block("syncFolder");
    const rotating = store.checkpoint();
    await waitUntil(() => folders.count === 1);
    expect(store.transact({ type: "CountRefusals", refusals: [] }, throwBug)).rejects.toThrow(
      "a bug",
    );
    await isPending(store.read(() => null));
    folders.releaseAll();
    await rotating;
    await waitUntil(() => store.status().fault === null);
    expect((await transactCommand(store, register("cem"))).ok).toBe(true);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
    expect(fatalErrors).toEqual([]);
  });
});
