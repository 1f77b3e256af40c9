// When the clock is set back, lines are written for months that already have a file. The audit log
// stays one chain, and old months are removed in the order of their lines.
import { expect, test } from "bun:test";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { listGenerations } from "../../../src/store/folder/files.ts";
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

/** Sets the clock back to the beginning of March. */
const SET_CLOCK_BACK = { type: "SetClockBack", to: MONDAY, nonce: null, peer: "10.0.0.1" } as const;

test("retention after the clock was set back removes months in the order of their lines", async () => {
  const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
  await writeMonths(site, "03", "08");
  // In August the March file may be removed; then the clock is set back to March.
  await transactOrThrow(site.store, SET_CLOCK_BACK);
  await writeMonths(site, "03", "04");
  expect(listAuditMonths(site.folder)).toEqual(["03-8", "04", "08"]);
  expect((await verifyFolder(site.folder)).auditLog).toMatchObject({ from: 5, files: 3 });
  // August now precedes March in the chain. It stays until its own time has passed, and so do all
  // files after it.
  await writeMonths(site, "05", "06", "07");
  expect(listAuditMonths(site.folder)).toEqual(["03-8", "04", "05", "06", "07", "08"]);
  expect((await verifyFolder(site.folder)).auditLog).toMatchObject({ from: 5, files: 6 });
  await writeMonths(site, "08", "09", "10", "11");
  expect(listAuditMonths(site.folder)).not.toContain("03-8");
  expect((await verifyFolder(site.folder)).auditLog.files).toBeLessThan(5);
});

test("audit log contains every line once when the clock is set back several times between checkpoints", async () => {
  const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(0) });
  for (const count of [1, 2, 3]) {
    site.clock.now = utc("2026-04-15T00:00:00Z");
    await transactOrThrow(site.store, consume(count));
    await transactOrThrow(site.store, SET_CLOCK_BACK);
    site.clock.now = MONDAY;
    await transactOrThrow(site.store, consume(count));
  }
  await site.store.checkpoint();
  expect(site.store.status().checkpointError).toBeNull();
  const { auditSeq } = site.store.status();
  expect((await verifyFolder(site.folder)).auditLog).toEqual({
    from: 1,
    to: auditSeq,
    files: 7,
    lines: auditSeq,
    leftover: 0,
  });
});

test("audit files with a single line after each clock change stay valid and are never overwritten", async () => {
  const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(0) });
  const to = utc("2026-05-15T00:00:00Z");
  site.clock.now = to;
  await transactOrThrow(site.store, consume(1));
  await site.store.checkpoint();
  for (const count of [1, 2, 3]) {
    site.clock.now = utc("2026-06-15T00:00:00Z");
    await transactOrThrow(site.store, consume(count));
    await transactOrThrow(site.store, { ...SET_CLOCK_BACK, to });
    site.clock.now = to;
    await transactOrThrow(site.store, consume(count));
    await site.store.checkpoint();
    expect(site.store.status().checkpointError).toBeNull();
    const { auditLog } = await verifyFolder(site.folder);
    expect(auditLog).toMatchObject({ from: 1, lines: site.store.status().auditSeq, leftover: 0 });
  }
  expect(listAuditMonths(site.folder)).toHaveLength(8);
});

test("a month whose first line is damaged is not removed as a leftover when the clock is set back", async () => {
  const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(0) });
  await writeMonths(site, "03", "08");
  const march = join(site.folder, "history/2026-03.jsonl");
  flipBit(march, 20);
  const before = readFileSync(march);
  await transactOrThrow(site.store, SET_CLOCK_BACK);
  await writeMonths(site, "03");
  expect(listAuditMonths(site.folder).toSorted()).toEqual(["03", "03-8", "08"]);
  expect(readFileSync(march)).toEqual(before);
  expect((await catchRefusal(verifyFolder(site.folder))).message).toBe(
    `${march} is damaged at byte 0, where line 1 of the audit log is expected`,
  );
});

test("going back to the older state after the clock was set back writes valid audit files again", async () => {
  const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
  await writeMonths(site, "03", "08");
  await transactOrThrow(site.store, SET_CLOCK_BACK);
  await writeMonths(site, "03");
  // The checkpoint that chose another name for the second March removed the first March.
  expect(listAuditMonths(site.folder)).toEqual(["03-8", "08"]);
  const copy = copyFolder(site.folder);
  const [generation] = listGenerations(realDisk, copy);
  copyFileSync(generation?.path ?? "", join(copy, "state.json"));
  const reopened = await openSite({ folder: copy, checkpoint: checkpointKeepingMonths(1) });
  await writeMonths(reopened, "04");
  const { auditLog } = await verifyFolder(copy);
  expect(auditLog).toMatchObject({ from: 5, files: 3, leftover: 0 });
  expect(listAuditMonths(copy)).toHaveLength(3);
});
