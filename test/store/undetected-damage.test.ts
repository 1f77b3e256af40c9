// Damage that a start does not detect, as the README says: either it cannot be detected at all, or
// only `berth verify` detects it.
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

async function prepareStoppedSite() {
  const site = await openSiteWithHistory();
  const folder = copyFolder(site.folder);
  const newest = join(folder, listSegmentNames(folder).at(-1) ?? "");
  return { folder, newest, before: await openAndCloseFolder(copyFolder(folder)) };
}

test("damage to the audit log is not detected by a start, but by berth verify", async () => {
  const { folder, before } = await prepareStoppedSite();
  const [name = ""] = readdirSync(join(folder, "history"));
  flipBit(join(folder, "history", name), 100);
  expect(await openAndCloseFolder(folder)).toEqual(before);
  expect((await catchRefusal(verifyFolder(folder))).message).toContain(name);
});

test("damage to the older state is not detected by a start, but by berth verify", async () => {
  const { folder, before } = await prepareStoppedSite();
  const name = readdirSync(folder).find((file) => /^state-\d+\.json$/.test(file)) ?? "";
  flipBit(join(folder, name), 100);
  expect(await openAndCloseFolder(folder)).toEqual(before);
  expect((await catchRefusal(verifyFolder(folder))).message).toContain(name);
});

test("a newest journal file that was truncated at the end of a line is not detected at all", async () => {
  const { folder, newest, before } = await prepareStoppedSite();
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

test("a damaged last line of the newest journal file is cut off, kept in a file and reported", async () => {
  const { folder, newest, before } = await prepareStoppedSite();
  flipBit(newest, readFileSync(newest).length - 10);
  const { seq, notes } = await openAndCloseFolder(folder);
  expect(seq).toBe(before.seq - 1);
  expect(notes).toEqual([expect.stringContaining(`${newest} ended in an interrupted write`)]);
  expect(readdirSync(folder).filter((name) => name.endsWith(".torn"))).toHaveLength(1);
});
