import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/files/disk.ts";
import { checkpoint } from "../../src/store/checkpoint/checkpoint.ts";
import type { ChainHead } from "../../src/store/journal/journal.ts";
import { StateFile } from "../../src/store/state/state-file.ts";
import { FaultyDisk, isPending } from "../support/faulty-disk.ts";
import {
  transactCommand,
  transactOrThrow,
  INSTALL_CAD,
  readJournal,
  openLicensedSite,
  openSite,
  listSegmentNames,
  openAndCloseFolder,
  readState,
} from "../support/licensed-store.ts";
import { install, minutesLater, MONDAY, register, unregister } from "../support/scenario.ts";
import { copyFolder } from "../support/temp-folder.ts";
import { waitUntil } from "../support/wait-until.ts";

const UNKNOWN_PRODUCT = register("ada", { product: "nothing" });

describe("store", () => {
  test("answers a grant only after its sync", async () => {
    const disk = new FaultyDisk();
    const { store, folder } = await openLicensedSite({ disk });
    const syncs = disk.block("syncData");
    const grant = transactCommand(store, register("ada"));
    await waitUntil(() => syncs.count === 1);
    expect(await isPending(grant)).toBe(true);
    await syncs.releaseOne();
    expect(await grant).toMatchObject({ ok: true, value: { user: "ada" } });
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
  });

  test("answers refusals and reads only after the changes they could have seen are synced", async () => {
    const disk = new FaultyDisk();
    const { store } = await openLicensedSite({ disk });
    const syncs = disk.block("syncData");
    const grant = transactCommand(store, register("ada"));
    const refusal = transactCommand(store, UNKNOWN_PRODUCT);
    const read = store.read((state) => state.nextSlot);
    const unchanged = transactCommand(store, { type: "CountRefusals", refusals: [] });
    await waitUntil(() => syncs.count === 1);
    for (const answer of [grant, refusal, read, unchanged])
      expect(await isPending(answer)).toBe(true);
    const laterCalls = [
      transactCommand(store, UNKNOWN_PRODUCT),
      store.read((state) => state.nextSlot),
    ];
    for (const answer of laterCalls) expect(await isPending(answer)).toBe(true);
    await syncs.releaseOne();
    expect(await refusal).toEqual({ ok: false, fault: { code: "unknown_product" } });
    expect(await read).toEqual({ ok: true, value: 2 });
    expect(await unchanged).toEqual({ ok: true, value: null });
    await Promise.all(laterCalls);
    expect(syncs.count).toBe(0);
  });

  test("answers a read between two batches only after the second, which it saw", async () => {
    const disk = new FaultyDisk();
    const { store } = await openLicensedSite({ disk });
    const syncs = disk.block("syncData");
    const first = transactCommand(store, register("ada"));
    const firstRead = store.read((state) => state.nextSlot);
    await waitUntil(() => syncs.count === 1);
    const second = transactCommand(store, register("bob"));
    const read = store.read((state) => state.nextSlot);
    await syncs.releaseOne();
    await Promise.all([first, firstRead]);
    await waitUntil(() => syncs.count === 1);
    expect(await isPending(read)).toBe(true);
    expect(await isPending(second)).toBe(true);
    await syncs.releaseOne();
    expect(await read).toEqual({ ok: true, value: 3 });
  });

  test("answers at once and writes nothing when no change is pending", async () => {
    const disk = new FaultyDisk();
    const { store } = await openLicensedSite({ disk });
    disk.block("syncData");
    const before = disk.calls.length;
    expect(await store.read((state) => state.nextSlot)).toEqual({ ok: true, value: 1 });
    expect((await transactCommand(store, UNKNOWN_PRODUCT)).ok).toBe(false);
    expect(await transactCommand(store, { type: "CountRefusals", refusals: [] })).toMatchObject({
      ok: true,
    });
    expect(disk.calls).toHaveLength(before);
  });

  test("syncs once for 40 concurrent changes", async () => {
    const disk = new FaultyDisk();
    const { store, folder } = await openLicensedSite({ disk });
    const before = disk.listCalls("syncData").length;
    const users = Array.from({ length: 40 }, (_, index) => `user ${index}`);
    const answers = await Promise.all(users.map((user) => transactCommand(store, register(user))));
    expect(answers.every(({ ok }) => ok)).toBe(true);
    expect(disk.listCalls("syncData")).toHaveLength(before + 1);
    const lines = readJournal(folder).slice(2);
    expect(lines.map(({ line }) => line.seq)).toEqual(users.map((_, index) => index + 3));
    expect(lines.map(({ line }) => line.from)).toEqual(users.map(() => 3));
  });

  test("writes the number of the first line of its batch into every line", async () => {
    const { store, folder } = await openLicensedSite();
    await Promise.all([
      transactOrThrow(store, register("ada")),
      transactOrThrow(store, register("bob")),
    ]);
    await transactOrThrow(store, register("cem"));
    expect(readJournal(folder).map(({ line }) => line.from)).toEqual([1, 2, 3, 3, 5]);
  });

  test("writes the heartbeats of a batch to one line, and other commands to their own", async () => {
    const { store, folder } = await openLicensedSite();
    for (const user of ["ada", "bob"]) await transactOrThrow(store, register(user));
    const before = store.status().seq;
    const users = ["ada", "bob", "cem", "ada", "bob"];
    const answers = users.map((user) => transactOrThrow(store, register(user)));
    expect(store.status().seq).toBe(before + 3);
    await Promise.all(answers);
    const lines = readJournal(folder).slice(before);
    const usersOf = (events: readonly object[]) =>
      events.map((event) => ("user" in event ? event.user : null));
    expect(lines.map(({ line: { seq, events } }) => [seq, usersOf(events)])).toEqual([
      [before + 1, ["ada", "bob"]],
      [before + 2, ["cem"]],
      [before + 3, ["ada", "bob"]],
    ]);
    expect(lines.map(({ line }) => line.from)).toEqual([before + 1, before + 1, before + 1]);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
  });

  test("divides more heartbeats of a batch than one line may contain", async () => {
    const { store, folder } = await openLicensedSite();
    await transactOrThrow(store, register("ada"));
    const before = store.status().seq;
    await Promise.all(Array.from({ length: 300 }, () => transactOrThrow(store, register("ada"))));
    const lines = readJournal(folder).slice(before);
    expect(lines.map(({ line }) => line.events.length)).toEqual([128, 128, 44]);
  });

  test("gives a command the chain position after the heartbeats before it", async () => {
    const { store, folder } = await openLicensedSite();
    await transactOrThrow(store, register("ada"));
    const heartbeat = transactOrThrow(store, register("ada"));
    let head: ChainHead | null = null;
    const grant = store.transact(
      (position) => {
        head = position;
        return register("bob");
      },
      () => null,
    );
    await Promise.all([heartbeat, grant]);
    const line = readJournal(folder).at(-2)?.line;
    expect(head).toMatchObject({ seq: line?.seq, sum: line?.sum });
  });

  test("never grants the last slot twice", async () => {
    const { store } = await openSite();
    await transactOrThrow(store, install(1, { slots: 1 }));
    const answers = await Promise.all(
      ["ada", "bob", "cem"].map((user) => transactCommand(store, register(user))),
    );
    expect(answers.map(({ ok }) => ok)).toEqual([true, false, false]);
  });

  test("passes the state after its own change, and no later one, to the view", async () => {
    const { store } = await openLicensedSite();
    const answers = ["ada", "bob"].map((user) =>
      store.transact(register(user), (state, outcome, { at }) => [
        state.nextSlot,
        outcome.user,
        at,
      ]),
    );
    expect(await Promise.all(answers)).toEqual([
      { ok: true, value: [2, "ada", MONDAY] },
      { ok: true, value: [3, "bob", MONDAY] },
    ]);
  });
});

describe("time of the store", () => {
  test("never goes back behind the last written line when the system clock does", async () => {
    const { store, clock, folder } = await openLicensedSite();
    clock.now = minutesLater(10);
    await transactOrThrow(store, register("ada"));
    clock.now = minutesLater(-60);
    expect(await store.read((_state, { at }) => at)).toEqual({ ok: true, value: minutesLater(10) });
    await transactOrThrow(store, register("bob"));
    const times = readJournal(folder).map(({ line }) => line.at);
    expect(times).toEqual([MONDAY, MONDAY, minutesLater(10), minutesLater(10)]);
  });
});

describe("command that expires slots", () => {
  test("writes one batch with a line for each expired slot", async () => {
    const { store, clock, folder } = await openLicensedSite();
    await Promise.all(["ada", "bob"].map((user) => transactOrThrow(store, register(user))));
    clock.now = minutesLater(31);
    await transactOrThrow(store, register("cem"));
    const lines = readJournal(folder).slice(4);
    expect(lines.map(({ line }) => line.from)).toEqual([5, 5, 5]);
    expect(lines.flatMap(({ line }) => line.events.map(({ type }) => type))).toEqual([
      "SlotExpired",
      "SlotExpired",
      "SlotTaken",
    ]);
    expect((await openAndCloseFolder(copyFolder(folder))).state).toEqual(await readState(store));
  });
});

describe("clean stop", () => {
  test("writes everything to state.json", async () => {
    const site = await openLicensedSite();
    await transactOrThrow(site.store, register("ada"));
    await transactOrThrow(site.store, unregister("ada"));
    const state = await readState(site.store);
    const { seq } = site.store.status();
    await site.stop();
    expect(await new StateFile(realDisk, site.folder).read()).toMatchObject({ covers: { seq } });
    expect(await openAndCloseFolder(site.folder)).toMatchObject({ state, seq, notes: [] });
  });

  test("waits for pending changes", async () => {
    const site = await openLicensedSite();
    const answer = transactCommand(site.store, register("ada"));
    await site.stop();
    expect((await answer).ok).toBe(true);
    expect((await openAndCloseFolder(site.folder)).seq).toBe(3);
  });

  test("writes nothing when nothing changed", async () => {
    const first = await openLicensedSite();
    await first.stop();
    const disk = new FaultyDisk();
    const second = await openSite({ folder: first.folder, disk });
    await readState(second.store);
    await second.stop();
    expect(disk.listCalls("write", "rename", "remove")).toEqual([]);
  });

  test("writes everything to state.json after a failed checkpoint", async () => {
    let shouldFail = true;
    const site = await openLicensedSite({
      checkpoint: (folder, open) =>
        shouldFail ? Promise.reject(new Error("no memory")) : checkpoint(realDisk, folder, open),
    });
    await site.store.checkpoint();
    shouldFail = false;
    const { seq } = site.store.status();
    await site.stop();
    expect(await new StateFile(realDisk, site.folder).read()).toMatchObject({ covers: { seq } });
  });

  test("writes everything to state.json after a kill left a segment without a checkpoint", async () => {
    const first = await openLicensedSite({ checkpoint: async () => {} });
    await first.store.checkpoint();
    const folder = copyFolder(first.folder);
    expect(listSegmentNames(folder)).toEqual(["journal-1.jsonl", "journal-3.jsonl"]);
    const second = await openSite({ folder });
    await second.stop();
    expect(await new StateFile(realDisk, folder).read()).toMatchObject({ covers: { seq: 2 } });
  });
});

describe("store health", () => {
  test("reports the sequence numbers and the size of the journal", async () => {
    const { store, folder } = await openSite();
    await transactOrThrow(store, INSTALL_CAD);
    await transactOrThrow(store, register("ada"));
    await transactOrThrow(store, register("ada"));
    const lastLine = readJournal(folder).at(-1)?.line;
    expect(store.status()).toEqual({
      fault: null,
      folderChange: null,
      notes: [],
      checkpointError: null,
      isStateMissing: false,
      followProblem: null,
      appendError: null,
      seq: 4,
      head: { seq: 4, sum: lastLine?.sum ?? "" },
      coveredSeq: 0,
      auditSeq: 3,
      journalBytes: realDisk.stat(join(folder, "journal-1.jsonl"))?.size ?? 0,
    });
    expect(existsSync(join(folder, "probe"))).toBe(false);
  });
});
