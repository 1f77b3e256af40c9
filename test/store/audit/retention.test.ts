// Removal of old months of the audit log: the rest can be verified from its anchor, and nothing is
// removed that the older state needs.
import { describe, expect, test } from "bun:test";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { GENESIS } from "../../../src/platform/crypto/hash.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { listGenerations } from "../../../src/store/folder/files.ts";
import {
  openSiteWithKey,
  checkpointKeepingMonths,
  readFolderState,
  verifyFolder,
} from "../../support/backup-site.ts";
import {
  readAuditAnchor,
  readMonthEnd,
  listAuditMonths,
  writeMonths,
} from "../../support/audit-months.ts";
import { failCallAt, FaultyDisk } from "../../support/faulty-disk.ts";
import {
  transactOrThrow,
  openSite,
  openAndCloseFolder,
  readState,
} from "../../support/licensed-store.ts";
import { consume, utc } from "../../support/scenario.ts";
import { contentsOf, copyFolder } from "../../support/temp-folder.ts";

describe("audit log retention", () => {
  test("keeps all months by default", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(0) });
    await writeMonths(site, "04", "06", "12");
    expect(listAuditMonths(site.folder)).toEqual(["03", "04", "06", "12"]);
    expect(await readAuditAnchor(site.folder)).toEqual({ seq: 0, sum: GENESIS });
  });

  test("moves the anchor in one checkpoint and removes the file in the next", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    await writeMonths(site, "03", "04");
    expect([listAuditMonths(site.folder), (await readAuditAnchor(site.folder))?.seq]).toEqual([
      ["03", "04"],
      0,
    ]);
    const march = readMonthEnd(site.folder, "03");
    await writeMonths(site, "05");
    expect(listAuditMonths(site.folder)).toEqual(["03", "04", "05"]);
    expect(await readAuditAnchor(site.folder)).toEqual(march);
    const april = readMonthEnd(site.folder, "04");
    await writeMonths(site, "06");
    expect(listAuditMonths(site.folder)).toEqual(["04", "05", "06"]);
    expect(await readAuditAnchor(site.folder)).toEqual(april);
    await writeMonths(site, "06");
    expect(listAuditMonths(site.folder)).toEqual(["05", "06"]);
    expect(await readAuditAnchor(site.folder)).toEqual(april);
    expect((await verifyFolder(site.folder)).auditLog).toEqual({
      from: april.seq + 1,
      to: april.seq + 6,
      files: 2,
      lines: 6,
      leftover: 0,
    });
  });

  test("counts months back from the newest event, across the end of a year", async () => {
    for (const [keepMonths, expectedMonths] of [
      [1, ["2026-12", "2027-01"]],
      [2, ["2026-11", "2026-12", "2027-01"]],
      [12, ["2026-03", "2026-10", "2026-11", "2026-12", "2027-01"]],
    ] as const) {
      const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(keepMonths) });
      await writeMonths(site, "10", "11", "12");
      site.clock.now = utc("2027-01-01T00:00:00Z");
      for (let times = 0; times < 2; times += 1) {
        await transactOrThrow(site.store, consume(1));
        await site.store.checkpoint();
      }
      const names = readdirSync(join(site.folder, "history")).toSorted();
      expect([keepMonths, names]).toEqual([
        keepMonths,
        expectedMonths.map((month) => `${month}.jsonl`),
      ]);
      await verifyFolder(site.folder);
    }
  });

  test("never removes the month that is being written, however old it is", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    await writeMonths(site, "04");
    site.clock.now = utc("2026-12-31T23:59:59Z");
    for (let times = 0; times < 3; times += 1) {
      // A line that is not in the audit log: the last file is still the one of April.
      await transactOrThrow(site.store, { type: "MarkClock" });
      await site.store.checkpoint();
    }
    expect(listAuditMonths(site.folder)).toEqual(["04"]);
    expect((await verifyFolder(site.folder)).auditLog).toMatchObject({ files: 1, lines: 2 });
    site.clock.now = utc("2026-12-31T23:59:59Z");
    await transactOrThrow(site.store, consume(1));
    await site.store.checkpoint();
    await transactOrThrow(site.store, consume(1));
    await site.store.checkpoint();
    expect(listAuditMonths(site.folder)).toEqual(["12"]);
    await verifyFolder(site.folder);
  });

  test("does not move the anchor back when retention is switched off", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    await writeMonths(site, "04", "05", "06", "07");
    const anchor = await readAuditAnchor(site.folder);
    const before = listAuditMonths(site.folder);
    await site.stop();
    await addLineAndCheckpoint(site.folder, 0);
    expect(await readAuditAnchor(site.folder)).toEqual(anchor);
    expect(listAuditMonths(site.folder)).toEqual(before.slice(1));
    await addLineAndCheckpoint(site.folder, 9);
    expect(await readAuditAnchor(site.folder)).toEqual(anchor);
    await verifyFolder(site.folder);
  });

  test("does not move the anchor back when more months are kept, though their files still exist", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    await writeMonths(site, "04", "07");
    const anchor = await readAuditAnchor(site.folder);
    expect(anchor).toEqual(readMonthEnd(site.folder, "04"));
    expect(listAuditMonths(site.folder)).toEqual(["03", "04", "07"]);
    const copy = copyFolder(site.folder);
    await addLineAndCheckpoint(copy, 3);
    expect(await readAuditAnchor(copy)).toEqual(anchor);
    expect(listAuditMonths(copy)).toEqual(["07"]);
    await verifyFolder(copy);
  });

  test("does not influence the state", async () => {
    const states = [];
    for (const keepMonths of [0, 1, 3]) {
      const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(keepMonths) });
      await writeMonths(site, "04", "05", "06", "07");
      states.push(await readState(site.store));
      expect((await openAndCloseFolder(copyFolder(site.folder))).state).toEqual(
        await readState(site.store),
      );
    }
    expect(states[1]).toEqual(states[0] as (typeof states)[0]);
    expect(states[2]).toEqual(states[0] as (typeof states)[0]);
  });
});

/** Writes one more line, and makes a checkpoint that keeps this many months. */
async function addLineAndCheckpoint(folder: string, keepMonths: number): Promise<void> {
  const { store, stop, clock } = await openSite({
    folder,
    checkpoint: checkpointKeepingMonths(keepMonths),
  });
  clock.now = utc("2026-07-20T00:00:00Z");
  await transactOrThrow(store, consume(1));
  await stop();
}

/** A folder just before a checkpoint that both moves the anchor and removes a file. */
async function prepareBeforeRemoval() {
  let isCheckpointEnabled = true;
  const site = await openSiteWithKey({
    checkpoint: async (path, open) => {
      if (isCheckpointEnabled) await checkpoint(realDisk, path, open, { keepMonths: 1 });
    },
  });
  await writeMonths(site, "04", "05");
  isCheckpointEnabled = false;
  await writeMonths(site, "06");
  const open = site.store.status().seq + 1;
  await transactOrThrow(site.store, consume(3));
  return { folder: copyFolder(site.folder), open, state: await readState(site.store) };
}

const readAuditFiles = (folder: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(contentsOf(folder)).filter(([name]) => name.startsWith("history")),
  );

describe("checkpoint that removes a month and is interrupted", () => {
  test("at any disk call leaves a valid folder, and the next checkpoint completes it", async () => {
    const { folder: before, open, state } = await prepareBeforeRemoval();
    const uninterrupted = copyFolder(before);
    await checkpoint(realDisk, uninterrupted, open, { keepMonths: 1 });
    expect(listAuditMonths(before)).toEqual(["03", "04", "05"]);
    expect(listAuditMonths(uninterrupted)).toEqual(["04", "05", "06"]);
    let interrupted = 0;
    for (let callNumber = 1; ; callNumber += 1) {
      const folder = copyFolder(before);
      const disk = new FaultyDisk();
      disk.hasRealSync = false;
      failCallAt(disk, callNumber, "EIO");
      const hasSucceeded = await checkpoint(disk, folder, open, { keepMonths: 1 }).then(
        () => true,
        () => false,
      );
      expect((await readFolderState(folder)).state).toEqual(state);
      await verifyFolder(folder);
      await checkOlderStates(folder);
      await checkpoint(realDisk, folder, open, { keepMonths: 1 });
      expect(await readAuditAnchor(folder)).toEqual(await readAuditAnchor(uninterrupted));
      // A file whose removal failed stays until a later checkpoint that has new lines.
      const { ["history/2026-03.jsonl"]: _march, ...auditFiles } = readAuditFiles(folder);
      expect([callNumber, auditFiles]).toEqual([callNumber, readAuditFiles(uninterrupted)]);
      await verifyFolder(folder);
      await checkOlderStates(folder);
      if (hasSucceeded && disk.calls.length < callNumber) break;
      interrupted += 1;
    }
    expect(interrupted).toBeGreaterThan(35);
  });

  test("leaves the file to be removed by the next checkpoint", async () => {
    const { folder, open } = await prepareBeforeRemoval();
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name, path }) => {
      if (name === "remove" && path.includes("history")) throw new Error("told to");
    };
    expect(checkpoint(disk, folder, open, { keepMonths: 1 })).rejects.toThrow("told to");
    expect(listAuditMonths(folder)).toEqual(["03", "04", "05", "06"]);
    await addLineAndCheckpoint(folder, 1);
    expect(listAuditMonths(folder)).not.toContain("03");
    await verifyFolder(folder);
  });
});

/** Checks that each older state, put in place of the state, opens with nothing missing. */
async function checkOlderStates(folder: string): Promise<void> {
  const { state } = await readFolderState(folder);
  const olderStates = listGenerations(realDisk, folder);
  expect(olderStates.length).toBeGreaterThan(0);
  for (const { path } of olderStates) {
    const copy = copyFolder(folder);
    copyFileSync(path, join(copy, "state.json"));
    expect((await readFolderState(copy)).state).toEqual(state);
    await verifyFolder(copy);
  }
}

describe("going back to the older state", () => {
  test("finds no gap in the audit log after any checkpoint, and continues from there", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    for (const month of ["04", "05", "06", "07", "08"]) {
      await writeMonths(site, month);
      await checkOlderStates(site.folder);
      const copy = copyFolder(site.folder);
      const [olderState] = listGenerations(realDisk, copy);
      copyFileSync(olderState?.path ?? "", join(copy, "state.json"));
      const { seq } = await readFolderState(copy);
      await checkpoint(realDisk, copy, seq + 1, { keepMonths: 1 });
      expect(await verifyFolder(copy)).toMatchObject({ head: { seq }, coveredSeq: seq });
      expect(readFileSync(join(copy, "state.json"))).toEqual(
        readFileSync(join(site.folder, "state.json")),
      );
    }
  });
});

test("checkpoint syncs the new state before it removes a month of the audit log", async () => {
  const { folder, open } = await prepareBeforeRemoval();
  const disk = new FaultyDisk();
  await checkpoint(disk, folder, open, { keepMonths: 1 });
  expect(disk.listCalls("rename", "remove", "syncFolder").slice(-7)).toEqual([
    "rename state.json",
    "syncFolder data",
    expect.stringMatching(/^remove state-\d+\.json$/),
    expect.stringMatching(/^remove journal-\d+\.jsonl$/),
    "syncFolder data",
    "remove 2026-03.jsonl",
    "syncFolder history",
  ]);
});
