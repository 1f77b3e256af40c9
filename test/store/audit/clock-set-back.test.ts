// A clock that was set back leads into months that have their file already. The record is a chain
// all the same, and old months go in the order of their lines.
import { expect, test } from "bun:test";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/disk.ts";
import { listGenerations } from "../../../src/store/files.ts";
import {
  openSiteWithKey,
  flipBit,
  checkpointKeepingMonths,
  catchRefusal,
  verifyFolder,
} from "../../support/backup-site.ts";
import { transactOrThrow, openSite } from "../../support/licensed-store.ts";
import { listAuditMonths, writeMonths } from "../../support/audit-months.ts";
import { consume, MONDAY, utc } from "../../support/scenario.ts";
import { copyFolder } from "../../support/temp-folder.ts";

/** To the beginning of March. */
const BACK = { type: "SetClockBack", to: MONDAY, nonce: null, peer: "10.0.0.1" } as const;

test("the order of the lines stays, and nothing goes before its turn", async () => {
  const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
  await writeMonths(site, "03", "08");
  // March may go since August; then it is March again.
  await transactOrThrow(site.store, BACK);
  await writeMonths(site, "03", "04");
  expect(listAuditMonths(site.folder)).toEqual(["03-8", "04", "08"]);
  expect((await verifyFolder(site.folder)).auditLog).toMatchObject({ from: 5, files: 3 });
  // August lies before March now, and stays until its own time has passed, and all behind it too.
  await writeMonths(site, "05", "06", "07");
  expect(listAuditMonths(site.folder)).toEqual(["03-8", "04", "05", "06", "07", "08"]);
  expect((await verifyFolder(site.folder)).auditLog).toMatchObject({ from: 5, files: 6 });
  await writeMonths(site, "08", "09", "10", "11");
  expect(listAuditMonths(site.folder)).not.toContain("03-8");
  expect((await verifyFolder(site.folder)).auditLog.files).toBeLessThan(5);
});

test("several times between two checkpoints, every line gets its place once", async () => {
  const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(0) });
  for (const time of [1, 2, 3]) {
    site.clock.now = utc("2026-04-15T00:00:00Z");
    await transactOrThrow(site.store, consume(time));
    await transactOrThrow(site.store, BACK);
    site.clock.now = MONDAY;
    await transactOrThrow(site.store, consume(time));
  }
  await site.store.checkpoint();
  expect(site.store.health().checkpointError).toBeNull();
  const { auditSeq } = site.store.health();
  expect((await verifyFolder(site.folder)).auditLog).toEqual({
    from: 1,
    to: auditSeq,
    files: 7,
    lines: auditSeq,
    leftover: 0,
  });
});

test("a file of a single line is as good as any, and nothing takes its name", async () => {
  const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(0) });
  const to = utc("2026-05-15T00:00:00Z");
  site.clock.now = to;
  await transactOrThrow(site.store, consume(1));
  await site.store.checkpoint();
  for (const time of [1, 2, 3]) {
    site.clock.now = utc("2026-06-15T00:00:00Z");
    await transactOrThrow(site.store, consume(time));
    await transactOrThrow(site.store, { ...BACK, to });
    site.clock.now = to;
    await transactOrThrow(site.store, consume(time));
    await site.store.checkpoint();
    expect(site.store.health().checkpointError).toBeNull();
    const { auditLog } = await verifyFolder(site.folder);
    expect(auditLog).toMatchObject({ from: 1, lines: site.store.health().auditSeq, leftover: 0 });
  }
  expect(listAuditMonths(site.folder)).toHaveLength(8);
});

test("a month that begins with damage is not taken for a leftover, and not lost", async () => {
  const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(0) });
  await writeMonths(site, "03", "08");
  const march = join(site.folder, "history/2026-03.jsonl");
  flipBit(march, 20);
  const before = readFileSync(march);
  await transactOrThrow(site.store, BACK);
  await writeMonths(site, "03");
  expect(listAuditMonths(site.folder).toSorted()).toEqual(["03", "03-8", "08"]);
  expect(readFileSync(march)).toEqual(before);
  expect((await catchRefusal(verifyFolder(site.folder))).message).toBe(
    `${march} is damaged at byte 0, where line 1 of the audit log is expected`,
  );
});

test("going back does not find a name taken that was taken when there was less to go by", async () => {
  const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
  await writeMonths(site, "03", "08");
  await transactOrThrow(site.store, BACK);
  await writeMonths(site, "03");
  // The first March went with the checkpoint that had to find another name for the second.
  expect(listAuditMonths(site.folder)).toEqual(["03-8", "08"]);
  const copy = copyFolder(site.folder);
  const [generation] = listGenerations(realDisk, copy);
  copyFileSync(generation?.path ?? "", join(copy, "state.json"));
  const again = await openSite({ folder: copy, checkpoint: checkpointKeepingMonths(1) });
  await writeMonths(again, "04");
  const { auditLog } = await verifyFolder(copy);
  expect(auditLog).toMatchObject({ from: 5, files: 3, leftover: 0 });
  expect(listAuditMonths(copy)).toHaveLength(3);
});
