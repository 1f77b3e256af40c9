import { expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Event } from "../../../src/domain/model/event.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import type { JournalLine } from "../../../src/store/journal/journal.ts";
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

/** The events about users, newest first. */
const userEvents = (lines: readonly JournalLine[]): string[] =>
  lines.flatMap(({ events }) =>
    events
      .toReversed()
      .flatMap((event: Event) => ("user" in event ? [`${event.type} ${event.user}`] : [])),
  );

const USERS = 40;

/** Takes, renews and releases slots; renewals are not in the audit log. */
async function takeAndReleaseSlots({ store }: OpenSite, from = 0): Promise<string[]> {
  const events: string[] = [];
  for (let n = from; n < from + USERS; n += 1) {
    await transactOrThrow(store, register(`u${n}`));
    await transactOrThrow(store, register(`u${n}`));
    await transactOrThrow(store, unregister(`u${n}`));
    events.unshift(`SlotReleased u${n}`, `SlotTaken u${n}`);
  }
  return events;
}

test("readLinesNewestFirst returns every audited line once, newest first, from the journal", async () => {
  const site = await openLicensedSite();
  const events = await takeAndReleaseSlots(site);
  const lines = await linesOf(site.store);
  expect(userEvents(lines)).toEqual(events);
  const { auditSeq } = site.store.status();
  expect(lines.map(({ audit_seq }) => audit_seq)).toEqual(
    Array.from({ length: auditSeq }, (_, n) => auditSeq - n),
  );
});

test("readLinesNewestFirst continues into the audit log, over checkpoints and months", async () => {
  const site = await openLicensedSite();
  const events: string[] = [];
  for (let month = 0; month < 4; month += 1) {
    site.clock.now = hoursLater(month * 24 * 31);
    events.unshift(...(await takeAndReleaseSlots(site, month * USERS)));
    if (month < 3) await site.store.checkpoint();
  }
  expect(readdirSync(join(site.folder, "history")).length).toBe(3);
  expect(userEvents(await linesOf(site.store))).toEqual(events);
  await site.stop();
  const reopened = await openSite({ folder: site.folder });
  reopened.clock.now = hoursLater(4 * 24 * 31);
  expect(userEvents(await linesOf(reopened.store))).toEqual(events);
});

test("readLinesNewestFirst returns every line once when checkpoints run meanwhile", async () => {
  const site = await openLicensedSite();
  const events = await takeAndReleaseSlots(site);
  await site.store.checkpoint();
  const newerEvents = await takeAndReleaseSlots(site, USERS);
  const linesRead: JournalLine[] = [];
  for await (const line of readLinesNewestFirst(site.store.auditLogSource())) {
    linesRead.push(line);
    if (linesRead.length === 10) {
      // After two checkpoints, the lines of the journal are only in the audit log.
      await takeAndReleaseSlots(site, 2 * USERS);
      await site.store.checkpoint();
      await takeAndReleaseSlots(site, 3 * USERS);
      await site.store.checkpoint();
    }
  }
  expect(userEvents(linesRead)).toEqual([...newerEvents, ...events]);
});

test("readLinesNewestFirst ends where the audit log is damaged or a month is missing", async () => {
  const site = await openLicensedSite();
  const events = await takeAndReleaseSlots(site);
  await site.store.checkpoint();
  site.clock.now = hoursLater(24 * 40);
  const newerEvents = await takeAndReleaseSlots(site, USERS);
  await site.store.checkpoint();
  await takeAndReleaseSlots(site, 2 * USERS);
  await site.store.checkpoint();
  const [first = ""] = readdirSync(join(site.folder, "history")).toSorted();
  const path = join(site.folder, "history", first);
  const text = readFileSync(path, "utf8");
  const lines = text.split("\n");
  const damaged = lines.findIndex((line) => line.includes('"user":"u20"'));
  lines[damaged] = (lines[damaged] ?? "").replace("desk", "dusk");
  writeFileSync(path, lines.join("\n"));
  const linesRead = userEvents(await linesOf(site.store)).slice(2 * USERS);
  expect(linesRead).toEqual([...newerEvents, ...events].slice(0, linesRead.length));
  expect(linesRead.at(-1)).toBe("SlotReleased u20");
  rmSync(path);
  expect(userEvents(await linesOf(site.store)).slice(2 * USERS)).toEqual(newerEvents);
  writeFileSync(path, text);
  expect(userEvents(await linesOf(site.store)).slice(2 * USERS)).toEqual([
    ...newerEvents,
    ...events,
  ]);
});

test("readLinesNewestFirst yields to other requests while it reads", async () => {
  const site = await openLicensedSite({
    checkpoint: (folder, open) => checkpoint(realDisk, folder, open),
  });
  for (let n = 0; n < 20; n += 1) await takeAndReleaseSlots(site, n * USERS);
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
  // At least one turn of the event loop for each slice that was read.
  const { journalBytes } = site.store.status();
  expect(journalBytes).toBeGreaterThan(4 * SLICE_BYTES);
  expect(turns).toBeGreaterThanOrEqual(Math.floor(journalBytes / SLICE_BYTES));
});
