// What a start does not notice, as the README says: each of these is a limit of what can be told, or
// the work of `berth verify`.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import {
  flipBit,
  openSiteWithHistory,
  catchRefusal,
  verifyFolder,
} from "../support/backup-site.ts";
import { readLines, listSegmentNames, openAndCloseFolder } from "../support/licensed-store.ts";
import { copyFolder } from "../support/temp-folder.ts";

async function stoppedSite() {
  const site = await openSiteWithHistory();
  const folder = copyFolder(site.folder);
  const newest = join(folder, listSegmentNames(folder).at(-1) ?? "");
  return { folder, newest, before: await openAndCloseFolder(copyFolder(folder)) };
}

test("a start does not notice damage to the audit log, and berth verify does", async () => {
  const { folder, before } = await stoppedSite();
  const [name = ""] = readdirSync(join(folder, "history"));
  flipBit(join(folder, "history", name), 100);
  expect(await openAndCloseFolder(folder)).toEqual(before);
  expect((await catchRefusal(verifyFolder(folder))).message).toContain(name);
});

test("a start does not notice damage to the state before the current one, verify does", async () => {
  const { folder, before } = await stoppedSite();
  const name = readdirSync(folder).find((one) => /^state-\d+\.json$/.test(one)) ?? "";
  flipBit(join(folder, name), 100);
  expect(await openAndCloseFolder(folder)).toEqual(before);
  expect((await catchRefusal(verifyFolder(folder))).message).toContain(name);
});

test("nothing notices that the newest journal file was cut off at the end of a line", async () => {
  const { folder, newest, before } = await stoppedSite();
  const lines = readLines(newest);
  expect(lines.length).toBeGreaterThan(1);
  truncateSync(newest, lines.at(-1)?.offset ?? 0);
  await verifyFolder(folder);
  expect(await openAndCloseFolder(folder)).toMatchObject({ seq: before.seq - 1, notes: [] });
  truncateSync(newest, 0);
  await verifyFolder(folder);
  expect(await openAndCloseFolder(folder)).toMatchObject({
    seq: before.seq - lines.length,
    notes: [],
  });
});

test("damage to the last line of the newest journal file is cut off, kept and reported", async () => {
  const { folder, newest, before } = await stoppedSite();
  flipBit(newest, readFileSync(newest).length - 10);
  const { seq, notes } = await openAndCloseFolder(folder);
  expect(seq).toBe(before.seq - 1);
  expect(notes).toEqual([expect.stringContaining(`${newest} ended in an interrupted write`)]);
  expect(readdirSync(folder).filter((name) => name.endsWith(".torn"))).toHaveLength(1);
});
