// Letting go of old months of the record: what is left can be verified from its anchor, and nothing
// goes that the way back needs.
import { describe, expect, test } from "bun:test";
import { copyFileSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/disk.ts";
import { GENESIS } from "../../../src/platform/hash.ts";
import { checkpoint } from "../../../src/store/checkpoint.ts";
import { listGenerations } from "../../../src/store/files.ts";
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

describe("months of the record that need not be kept", () => {
  test("are all kept unless somebody says otherwise", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(0) });
    await writeMonths(site, "04", "06", "12");
    expect(listAuditMonths(site.folder)).toEqual(["03", "04", "06", "12"]);
    expect(await readAuditAnchor(site.folder)).toEqual({ seq: 0, sum: GENESIS });
  });

  test("get an anchor with one checkpoint, and go with the next", async () => {
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

  test("are counted from the month of the newest instant, over the end of a year", async () => {
    for (const [keep, left] of [
      [1, ["2026-12", "2027-01"]],
      [2, ["2026-11", "2026-12", "2027-01"]],
      [12, ["2026-03", "2026-10", "2026-11", "2026-12", "2027-01"]],
    ] as const) {
      const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(keep) });
      await writeMonths(site, "10", "11", "12");
      site.clock.now = utc("2027-01-01T00:00:00Z");
      for (let times = 0; times < 2; times += 1) {
        await transactOrThrow(site.store, consume(1));
        await site.store.checkpoint();
      }
      const names = readdirSync(join(site.folder, "history")).toSorted();
      expect([keep, names]).toEqual([keep, left.map((month) => `${month}.jsonl`)]);
      await verifyFolder(site.folder);
    }
  });

  test("are never the month that is being written, however long ago it was", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    await writeMonths(site, "04");
    site.clock.now = utc("2026-12-31T23:59:59Z");
    for (let times = 0; times < 3; times += 1) {
      // A line that is in no record: the last file stays the one of April.
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

  test("stay let go of when the setting is taken back", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    await writeMonths(site, "04", "05", "06", "07");
    const anchor = await readAuditAnchor(site.folder);
    const before = listAuditMonths(site.folder);
    await site.stop();
    await checkpointed(site.folder, 0);
    expect(await readAuditAnchor(site.folder)).toEqual(anchor);
    expect(listAuditMonths(site.folder)).toEqual(before.slice(1));
    await checkpointed(site.folder, 9);
    expect(await readAuditAnchor(site.folder)).toEqual(anchor);
    await verifyFolder(site.folder);
  });

  test("stay let go of when more is kept from now on, though they are still there", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    await writeMonths(site, "04", "07");
    const anchor = await readAuditAnchor(site.folder);
    expect(anchor).toEqual(readMonthEnd(site.folder, "04"));
    expect(listAuditMonths(site.folder)).toEqual(["03", "04", "07"]);
    const copy = copyFolder(site.folder);
    await checkpointed(copy, 3);
    expect(await readAuditAnchor(copy)).toEqual(anchor);
    expect(listAuditMonths(copy)).toEqual(["07"]);
    await verifyFolder(copy);
  });

  test("lead to the same state, whether they are kept or not", async () => {
    const states = [];
    for (const keep of [0, 1, 3]) {
      const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(keep) });
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

/** One more line, and a checkpoint that keeps so many months. */
async function checkpointed(folder: string, keep: number): Promise<void> {
  const { store, stop, clock } = await openSite({
    folder,
    checkpoint: checkpointKeepingMonths(keep),
  });
  clock.now = utc("2026-07-20T00:00:00Z");
  await transactOrThrow(store, consume(1));
  await stop();
}

/** The folder just before a checkpoint that both moves the anchor and removes a file. */
async function ready() {
  let fold = true;
  const site = await openSiteWithKey({
    checkpoint: async (path, open) => {
      if (fold) await checkpoint(realDisk, path, open, { keepMonths: 1 });
    },
  });
  await writeMonths(site, "04", "05");
  fold = false;
  await writeMonths(site, "06");
  const open = site.store.health().seq + 1;
  await transactOrThrow(site.store, consume(3));
  return { folder: copyFolder(site.folder), open, state: await readState(site.store) };
}

const recordOf = (folder: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(contentsOf(folder)).filter(([name]) => name.startsWith("history")),
  );

describe("a checkpoint that lets go of something and is interrupted", () => {
  test("at any call leaves what starts, verifies and leads back, and the next makes up for it", async () => {
    const { folder: before, open, state } = await ready();
    const whole = copyFolder(before);
    await checkpoint(realDisk, whole, open, { keepMonths: 1 });
    expect(listAuditMonths(before)).toEqual(["03", "04", "05"]);
    expect(listAuditMonths(whole)).toEqual(["04", "05", "06"]);
    let interrupted = 0;
    for (let place = 1; ; place += 1) {
      const folder = copyFolder(before);
      const disk = new FaultyDisk();
      disk.hasRealSync = false;
      failCallAt(disk, place, "EIO");
      const made = await checkpoint(disk, folder, open, { keepMonths: 1 }).then(
        () => true,
        () => false,
      );
      expect((await readFolderState(folder)).state).toEqual(state);
      await verifyFolder(folder);
      await leadsBack(folder);
      await checkpoint(realDisk, folder, open, { keepMonths: 1 });
      expect(await readAuditAnchor(folder)).toEqual(await readAuditAnchor(whole));
      // A file whose removal failed stays for the next one that has something to do.
      const { ["history/2026-03.jsonl"]: _march, ...record } = recordOf(folder);
      expect([place, record]).toEqual([place, recordOf(whole)]);
      await verifyFolder(folder);
      await leadsBack(folder);
      if (made && disk.calls.length < place) break;
      interrupted += 1;
    }
    expect(interrupted).toBeGreaterThan(35);
  });

  test("removes what is left over with the one after", async () => {
    const { folder, open } = await ready();
    const disk = new FaultyDisk();
    disk.beforeCall = ({ name, path }) => {
      if (name === "remove" && path.includes("history")) throw new Error("told to");
    };
    expect(checkpoint(disk, folder, open, { keepMonths: 1 })).rejects.toThrow("told to");
    expect(listAuditMonths(folder)).toEqual(["03", "04", "05", "06"]);
    await checkpointed(folder, 1);
    expect(listAuditMonths(folder)).not.toContain("03");
    await verifyFolder(folder);
  });
});

/** Each kept generation, put in the place of the state, starts with nothing missing. */
async function leadsBack(folder: string): Promise<void> {
  const { state } = await readFolderState(folder);
  const kept = listGenerations(realDisk, folder);
  expect(kept.length).toBeGreaterThan(0);
  for (const { path } of kept) {
    const copy = copyFolder(folder);
    copyFileSync(path, join(copy, "state.json"));
    expect((await readFolderState(copy)).state).toEqual(state);
    await verifyFolder(copy);
  }
}

describe("going back to the kept generation", () => {
  test("finds no gap in the record, after any checkpoint, and goes on from there", async () => {
    const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
    for (const month of ["04", "05", "06", "07", "08"]) {
      await writeMonths(site, month);
      await leadsBack(site.folder);
      const copy = copyFolder(site.folder);
      const [generation] = listGenerations(realDisk, copy);
      copyFileSync(generation?.path ?? "", join(copy, "state.json"));
      const { seq } = await readFolderState(copy);
      await checkpoint(realDisk, copy, seq + 1, { keepMonths: 1 });
      expect(await verifyFolder(copy)).toMatchObject({ head: { seq }, covers: seq });
      expect(readFileSync(join(copy, "state.json"))).toEqual(
        readFileSync(join(site.folder, "state.json")),
      );
    }
  });
});

test("the record is durable, names too, before a file of it is missed", async () => {
  const { folder, open } = await ready();
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
