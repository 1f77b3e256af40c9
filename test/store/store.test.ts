import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { StateFile } from "../../src/store/state-file.ts";
import { FaultyDisk, isWaiting, until } from "../support/faulty-disk.ts";
import {
  asked,
  done,
  INSTALL_CAD,
  journalOf,
  licensedSite,
  openSite,
  segmentNames,
  startIn,
  stateOf,
} from "../support/licensed-store.ts";
import { install, minutes, MONDAY, register, unregister } from "../support/scenario.ts";
import { copyOf } from "../support/temp-folder.ts";

const UNKNOWN = register("ada", { product: "nothing" });

describe("not durable, not answered", () => {
  test("a grant waits for its own sync", async () => {
    const disk = new FaultyDisk();
    const { store, folder } = await licensedSite({ disk });
    const syncs = disk.hold("syncData");
    const grant = asked(store, register("ada"));
    await until(() => syncs.waiting === 1);
    expect(await isWaiting(grant)).toBe(true);
    await syncs.letOne();
    expect(await grant).toMatchObject({ ok: true, value: { user: "ada" } });
    expect((await startIn(copyOf(folder))).state).toEqual(await stateOf(store));
  });

  test("a refusal and a read wait for what they could have seen", async () => {
    const disk = new FaultyDisk();
    const { store } = await licensedSite({ disk });
    const syncs = disk.hold("syncData");
    const grant = asked(store, register("ada"));
    const refusal = asked(store, UNKNOWN);
    const read = store.read((state) => state.nextSlot);
    const unchanged = asked(store, { type: "CountRefusals", refusals: [] });
    await until(() => syncs.waiting === 1);
    for (const answer of [grant, refusal, read, unchanged])
      expect(await isWaiting(answer)).toBe(true);
    const late = [asked(store, UNKNOWN), store.read((state) => state.nextSlot)];
    for (const answer of late) expect(await isWaiting(answer)).toBe(true);
    await syncs.letOne();
    expect(await refusal).toEqual({ ok: false, fault: { code: "unknown_product" } });
    expect(await read).toEqual({ ok: true, value: 2 });
    expect(await unchanged).toEqual({ ok: true, value: null });
    await Promise.all(late);
    expect(syncs.waiting).toBe(0);
  });

  test("a read between two batches waits for the second, which it saw", async () => {
    const disk = new FaultyDisk();
    const { store } = await licensedSite({ disk });
    const syncs = disk.hold("syncData");
    const first = asked(store, register("ada"));
    const early = store.read((state) => state.nextSlot);
    await until(() => syncs.waiting === 1);
    const second = asked(store, register("bob"));
    const read = store.read((state) => state.nextSlot);
    await syncs.letOne();
    await Promise.all([first, early]);
    await until(() => syncs.waiting === 1);
    expect(await isWaiting(read)).toBe(true);
    expect(await isWaiting(second)).toBe(true);
    await syncs.letOne();
    expect(await read).toEqual({ ok: true, value: 3 });
  });

  test("with nothing pending nobody waits, and nothing is written", async () => {
    const disk = new FaultyDisk();
    const { store } = await licensedSite({ disk });
    disk.hold("syncData");
    const before = disk.calls.length;
    expect(await store.read((state) => state.nextSlot)).toEqual({ ok: true, value: 1 });
    expect((await asked(store, UNKNOWN)).ok).toBe(false);
    expect(await asked(store, { type: "CountRefusals", refusals: [] })).toMatchObject({ ok: true });
    expect(disk.calls).toHaveLength(before);
  });

  test("one sync serves many", async () => {
    const disk = new FaultyDisk();
    const { store, folder } = await licensedSite({ disk });
    const before = disk.log("syncData").length;
    const users = Array.from({ length: 40 }, (_, place) => `user ${place}`);
    const answers = await Promise.all(users.map((user) => asked(store, register(user))));
    expect(answers.every(({ ok }) => ok)).toBe(true);
    expect(disk.log("syncData")).toHaveLength(before + 1);
    const lines = journalOf(folder).slice(2);
    expect(lines.map(({ line }) => line.seq)).toEqual(users.map((_, place) => place + 3));
    expect(lines.map(({ line }) => line.from)).toEqual(users.map(() => 3));
  });

  test("a batch says where it began, and the next one begins anew", async () => {
    const { store, folder } = await licensedSite();
    await Promise.all([done(store, register("ada")), done(store, register("bob"))]);
    await done(store, register("cem"));
    expect(journalOf(folder).map(({ line }) => line.from)).toEqual([1, 2, 3, 3, 5]);
  });

  test("the last slot is never granted twice", async () => {
    const { store } = await openSite();
    await done(store, install(1, { slots: 1 }));
    const answers = await Promise.all(
      ["ada", "bob", "cem"].map((user) => asked(store, register(user))),
    );
    expect(answers.map(({ ok }) => ok)).toEqual([true, false, false]);
  });

  test("the view sees the change and nothing after it", async () => {
    const { store } = await licensedSite();
    const seen = ["ada", "bob"].map((user) =>
      store.transact(register(user), (state, outcome, at) => [state.nextSlot, outcome.user, at]),
    );
    expect(await Promise.all(seen)).toEqual([
      { ok: true, value: [2, "ada", MONDAY] },
      { ok: true, value: [3, "bob", MONDAY] },
    ]);
  });
});

describe("time", () => {
  test("never runs behind what is written, though the clock is set back", async () => {
    const { store, clock, folder } = await licensedSite();
    clock.now = minutes(10);
    await done(store, register("ada"));
    clock.now = minutes(-60);
    expect(await store.read((_state, at) => at)).toEqual({ ok: true, value: minutes(10) });
    await done(store, register("bob"));
    const times = journalOf(folder).map(({ line }) => line.at);
    expect(times).toEqual([MONDAY, MONDAY, minutes(10), minutes(10)]);
  });
});

describe("a command that writes off what ran out", () => {
  test("is one batch with a line for each", async () => {
    const { store, clock, folder } = await licensedSite();
    await Promise.all(["ada", "bob"].map((user) => done(store, register(user))));
    clock.now = minutes(31);
    await done(store, register("cem"));
    const lines = journalOf(folder).slice(4);
    expect(lines.map(({ line }) => line.from)).toEqual([5, 5, 5]);
    expect(lines.flatMap(({ line }) => line.events.map(({ type }) => type))).toEqual([
      "SlotExpired",
      "SlotExpired",
      "SlotTaken",
    ]);
    expect((await startIn(copyOf(folder))).state).toEqual(await stateOf(store));
  });
});

describe("a clean stop", () => {
  test("leaves everything in state.json", async () => {
    const site = await licensedSite();
    await done(site.store, register("ada"));
    await done(site.store, unregister("ada"));
    const state = await stateOf(site.store);
    const { seq } = site.store.health();
    await site.stop();
    expect(await new StateFile(realDisk, site.folder).read()).toMatchObject({ covers: { seq } });
    expect(await startIn(site.folder)).toMatchObject({ state, seq, notes: [] });
  });

  test("waits for what is on its way", async () => {
    const site = await licensedSite();
    const answer = asked(site.store, register("ada"));
    await site.stop();
    expect((await answer).ok).toBe(true);
    expect((await startIn(site.folder)).seq).toBe(3);
  });

  test("of a folder in which nothing happened writes nothing", async () => {
    const first = await licensedSite();
    await first.stop();
    const disk = new FaultyDisk();
    const second = await openSite({ folder: first.folder, disk });
    await stateOf(second.store);
    await second.stop();
    expect(disk.log("write", "rename", "remove")).toEqual([]);
  });

  test("leaves everything in state.json though the checkpoint before it failed", async () => {
    let fail = true;
    const site = await licensedSite({
      checkpoint: (folder, open) =>
        fail ? Promise.reject(new Error("no memory")) : checkpoint(realDisk, folder, open),
    });
    await site.store.checkpoint();
    fail = false;
    const { seq } = site.store.health();
    await site.stop();
    expect(await new StateFile(realDisk, site.folder).read()).toMatchObject({ covers: { seq } });
  });

  test("leaves everything in state.json though a kill left a segment unfolded", async () => {
    const first = await licensedSite({ checkpoint: async () => {} });
    await first.store.checkpoint();
    const folder = copyOf(first.folder);
    expect(segmentNames(folder)).toEqual(["journal-1.jsonl", "journal-3.jsonl"]);
    const second = await openSite({ folder });
    await second.stop();
    expect(await new StateFile(realDisk, folder).read()).toMatchObject({ covers: { seq: 2 } });
  });
});

describe("health", () => {
  test("says where the journal stands", async () => {
    const { store, folder } = await openSite();
    await done(store, INSTALL_CAD);
    await done(store, register("ada"));
    await done(store, register("ada"));
    expect(store.health()).toEqual({
      fault: null,
      folderChange: null,
      notes: [],
      checkpointError: null,
      seq: 4,
      auditSeq: 3,
      journalBytes: realDisk.stat(join(folder, "journal-1.jsonl"))?.size ?? 0,
    });
    expect(existsSync(join(folder, "probe"))).toBe(false);
  });
});
