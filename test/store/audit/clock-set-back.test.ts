// A clock that was set back leads into months that have their file already. The record is a chain
// all the same, and old months go in the order of their lines.
import { expect, test } from "bun:test";
import { copyFileSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../../src/platform/disk.ts";
import { listGenerations } from "../../../src/store/files.ts";
import { careSite, flip, keeping, refusal, verified } from "../../support/care.ts";
import { done, openSite } from "../../support/licensed-store.ts";
import { filesIn, live } from "../../support/months.ts";
import { consume, MONDAY, utc } from "../../support/scenario.ts";
import { copyOf } from "../../support/temp-folder.ts";

/** To the beginning of March. */
const BACK = { type: "SetClockBack", to: MONDAY, nonce: null, peer: "10.0.0.1" } as const;

test("the order of the lines stays, and nothing goes before its turn", async () => {
  const site = await careSite({ checkpoint: keeping(1) });
  await live(site, "03", "08");
  // March may go since August; then it is March again.
  await done(site.store, BACK);
  await live(site, "03", "04");
  expect(filesIn(site.folder)).toEqual(["03-8", "04", "08"]);
  expect((await verified(site.folder)).auditLog).toMatchObject({ from: 5, files: 3 });
  // August lies before March now, and stays until its own time has passed, and all behind it too.
  await live(site, "05", "06", "07");
  expect(filesIn(site.folder)).toEqual(["03-8", "04", "05", "06", "07", "08"]);
  expect((await verified(site.folder)).auditLog).toMatchObject({ from: 5, files: 6 });
  await live(site, "08", "09", "10", "11");
  expect(filesIn(site.folder)).not.toContain("03-8");
  expect((await verified(site.folder)).auditLog.files).toBeLessThan(5);
});

test("several times between two checkpoints, every line gets its place once", async () => {
  const site = await careSite({ checkpoint: keeping(0) });
  for (const time of [1, 2, 3]) {
    site.clock.now = utc("2026-04-15T00:00:00Z");
    await done(site.store, consume(time));
    await done(site.store, BACK);
    site.clock.now = MONDAY;
    await done(site.store, consume(time));
  }
  await site.store.checkpoint();
  expect(site.store.health().checkpointError).toBeNull();
  const { auditSeq } = site.store.health();
  expect((await verified(site.folder)).auditLog).toEqual({
    from: 1,
    to: auditSeq,
    files: 7,
    lines: auditSeq,
    leftover: 0,
  });
});

test("a file of a single line is as good as any, and nothing takes its name", async () => {
  const site = await careSite({ checkpoint: keeping(0) });
  const to = utc("2026-05-15T00:00:00Z");
  site.clock.now = to;
  await done(site.store, consume(1));
  await site.store.checkpoint();
  for (const time of [1, 2, 3]) {
    site.clock.now = utc("2026-06-15T00:00:00Z");
    await done(site.store, consume(time));
    await done(site.store, { ...BACK, to });
    site.clock.now = to;
    await done(site.store, consume(time));
    await site.store.checkpoint();
    expect(site.store.health().checkpointError).toBeNull();
    const { auditLog: record } = await verified(site.folder);
    expect(record).toMatchObject({ from: 1, lines: site.store.health().auditSeq, leftover: 0 });
  }
  expect(filesIn(site.folder)).toHaveLength(8);
});

test("a month that begins with damage is not taken for a leftover, and not lost", async () => {
  const site = await careSite({ checkpoint: keeping(0) });
  await live(site, "03", "08");
  const march = join(site.folder, "history/2026-03.jsonl");
  flip(march, 20);
  const before = readFileSync(march);
  await done(site.store, BACK);
  await live(site, "03");
  expect(filesIn(site.folder).toSorted()).toEqual(["03", "03-8", "08"]);
  expect(readFileSync(march)).toEqual(before);
  expect((await refusal(verified(site.folder))).message).toBe(
    `${march} is damaged at byte 0, where line 1 of the audit log is expected`,
  );
});

test("going back does not find a name taken that was taken when there was less to go by", async () => {
  const site = await careSite({ checkpoint: keeping(1) });
  await live(site, "03", "08");
  await done(site.store, BACK);
  await live(site, "03");
  // The first March went with the checkpoint that had to find another name for the second.
  expect(filesIn(site.folder)).toEqual(["03-8", "08"]);
  const copy = copyOf(site.folder);
  const [generation] = listGenerations(realDisk, copy);
  copyFileSync(generation?.path ?? "", join(copy, "state.json"));
  const again = await openSite({ folder: copy, checkpoint: keeping(1) });
  await live(again, "04");
  const { auditLog: record } = await verified(copy);
  expect(record).toMatchObject({ from: 5, files: 3, leftover: 0 });
  expect(filesIn(copy)).toHaveLength(3);
});
