import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../../src/domain/event.ts";
import { checkpoint } from "../../../src/store/checkpoint.ts";
import { realDisk } from "../../../src/platform/disk.ts";
import type { JournalLine } from "../../../src/store/journal.ts";
import { readLinesNewestFirst, SLICE_BYTES } from "../../../src/store/audit/read-backward.ts";
import type { Store } from "../../../src/store/store.ts";
import {
  transactOrThrow,
  openLicensedSite,
  openSite,
  type OpenSite,
} from "../../support/licensed-store.ts";
import { hoursLater, register, unregister } from "../../support/scenario.ts";

const linesOf = (store: Store): Promise<JournalLine[]> =>
  Array.fromAsync(readLinesNewestFirst(store.auditLogSource()));

/** Who took and gave back, the newest first. */
const actsIn = (lines: readonly JournalLine[]): string[] =>
  lines.flatMap(({ events }) =>
    events
      .toReversed()
      .flatMap((event: Event) => ("user" in event ? [`${event.type} ${event.user}`] : [])),
  );

const MOST = 40;

/** Renewals between them, which are on nobody's record. */
async function comings({ store }: OpenSite, from = 0): Promise<string[]> {
  const acts: string[] = [];
  for (let n = from; n < from + MOST; n += 1) {
    await transactOrThrow(store, register(`u${n}`));
    await transactOrThrow(store, register(`u${n}`));
    await transactOrThrow(store, unregister(`u${n}`));
    acts.unshift(`SlotReleased u${n}`, `SlotTaken u${n}`);
  }
  return acts;
}

test("gives every audited line once, the newest first, from the journal alone", async () => {
  const site = await openLicensedSite();
  const acts = await comings(site);
  const lines = await linesOf(site.store);
  expect(actsIn(lines)).toEqual(acts);
  const { auditSeq } = site.store.health();
  expect(lines.map(({ audit_seq }) => audit_seq)).toEqual(
    Array.from({ length: auditSeq }, (_, n) => auditSeq - n),
  );
});

test("goes on into the record, over checkpoints and months", async () => {
  const site = await openLicensedSite();
  const acts: string[] = [];
  for (let month = 0; month < 4; month += 1) {
    site.clock.now = hoursLater(month * 24 * 31);
    acts.unshift(...(await comings(site, month * MOST)));
    if (month < 3) await site.store.checkpoint();
  }
  expect(readdirSync(join(site.folder, "history")).length).toBe(3);
  expect(actsIn(await linesOf(site.store))).toEqual(acts);
  await site.stop();
  const again = await openSite({ folder: site.folder });
  again.clock.now = hoursLater(4 * 24 * 31);
  expect(actsIn(await linesOf(again.store))).toEqual(acts);
});

test("is not confused by a checkpoint meanwhile", async () => {
  const site = await openLicensedSite();
  const acts = await comings(site);
  await site.store.checkpoint();
  const more = await comings(site, MOST);
  const seen: JournalLine[] = [];
  for await (const line of readLinesNewestFirst(site.store.auditLogSource())) {
    seen.push(line);
    if (seen.length === 10) {
      // Twice: what the journal held is in the record only.
      await comings(site, 2 * MOST);
      await site.store.checkpoint();
      await comings(site, 3 * MOST);
      await site.store.checkpoint();
    }
  }
  expect(actsIn(seen)).toEqual([...more, ...acts]);
});

test("ends where the record is damaged, or not kept", async () => {
  const site = await openLicensedSite();
  const acts = await comings(site);
  await site.store.checkpoint();
  site.clock.now = hoursLater(24 * 40);
  const more = await comings(site, MOST);
  await site.store.checkpoint();
  await comings(site, 2 * MOST);
  await site.store.checkpoint();
  const [first = ""] = readdirSync(join(site.folder, "history")).toSorted();
  const path = join(site.folder, "history", first);
  const text = readFileSync(path, "utf8");
  const lines = text.split("\n");
  const damaged = lines.findIndex((line) => line.includes('"user":"u20"'));
  lines[damaged] = (lines[damaged] ?? "").replace("desk", "dusk");
  writeFileSync(path, lines.join("\n"));
  const seen = actsIn(await linesOf(site.store)).slice(2 * MOST);
  expect(seen).toEqual([...more, ...acts].slice(0, seen.length));
  expect(seen.at(-1)).toBe("SlotReleased u20");
  rmSync(path);
  expect(actsIn(await linesOf(site.store)).slice(2 * MOST)).toEqual(more);
  writeFileSync(path, text);
  expect(actsIn(await linesOf(site.store)).slice(2 * MOST)).toEqual([...more, ...acts]);
});

test("lets others answer in between", async () => {
  const site = await openLicensedSite({
    checkpoint: (folder, open) => checkpoint(realDisk, folder, open),
  });
  for (let n = 0; n < 20; n += 1) await comings(site, n * MOST);
  let turns = 0;
  let reading = true;
  const turn = (): void => {
    turns += 1;
    if (reading) setImmediate(turn);
  };
  setImmediate(turn);
  let count = 0;
  for await (const line of readLinesNewestFirst(site.store.auditLogSource()))
    count += line.events.length;
  reading = false;
  expect(count).toBeGreaterThan(1_600);
  // One at least for each slice of what was read.
  const { journalBytes } = site.store.health();
  expect(journalBytes).toBeGreaterThan(4 * SLICE_BYTES);
  expect(turns).toBeGreaterThanOrEqual(Math.floor(journalBytes / SLICE_BYTES));
});
