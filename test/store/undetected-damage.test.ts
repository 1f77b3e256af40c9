// What a start does not notice, as the README says: each of these is a limit of what can be told, or
// the work of `berth verify`.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { flip, livedSite, refusal, verified } from "../support/care.ts";
import { linesIn, segmentNames, startIn } from "../support/licensed-store.ts";
import { copyOf } from "../support/temp-folder.ts";

async function stoppedSite() {
  const site = await livedSite();
  const folder = copyOf(site.folder);
  const newest = join(folder, segmentNames(folder).at(-1) ?? "");
  return { folder, newest, before: await startIn(copyOf(folder)) };
}

test("a start does not notice damage to the audit log, and berth verify does", async () => {
  const { folder, before } = await stoppedSite();
  const [name = ""] = readdirSync(join(folder, "history"));
  flip(join(folder, "history", name), 100);
  expect(await startIn(folder)).toEqual(before);
  expect((await refusal(verified(folder))).message).toContain(name);
});

test("a start does not notice damage to the state before the current one, verify does", async () => {
  const { folder, before } = await stoppedSite();
  const name = readdirSync(folder).find((one) => /^state-\d+\.json$/.test(one)) ?? "";
  flip(join(folder, name), 100);
  expect(await startIn(folder)).toEqual(before);
  expect((await refusal(verified(folder))).message).toContain(name);
});

test("nothing notices that the newest journal file was cut off at the end of a line", async () => {
  const { folder, newest, before } = await stoppedSite();
  const lines = linesIn(newest);
  expect(lines.length).toBeGreaterThan(1);
  truncateSync(newest, lines.at(-1)?.offset ?? 0);
  await verified(folder);
  expect(await startIn(folder)).toMatchObject({ seq: before.seq - 1, notes: [] });
  truncateSync(newest, 0);
  await verified(folder);
  expect(await startIn(folder)).toMatchObject({ seq: before.seq - lines.length, notes: [] });
});

test("damage to the last line of the newest journal file is cut off, kept and reported", async () => {
  const { folder, newest, before } = await stoppedSite();
  flip(newest, readFileSync(newest).length - 10);
  const { seq, notes } = await startIn(folder);
  expect(seq).toBe(before.seq - 1);
  expect(notes).toEqual([expect.stringContaining(`${newest} ended in an interrupted write`)]);
  expect(readdirSync(folder).filter((name) => name.endsWith(".torn"))).toHaveLength(1);
});
