// Pages of the record against all of it: whatever is asked for, and whatever happens to the folder
// between two pages, every event comes once and in order.
import { describe, expect, test } from "bun:test";
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { instant, later, MINUTE, type Instant } from "../../src/domain/time.ts";
import { matchesFilter, type AuditFilter } from "../../src/http/audit-entry.ts";
import {
  parsePosition,
  AuditLogReader,
  type AuditEntry,
  type AuditPage,
} from "../../src/operations/audit-log-reader.ts";
import { realDisk, type Disk } from "../../src/platform/disk.ts";
import { decodeLine, type JournalLine } from "../../src/store/journal.ts";
import { listAuditFiles } from "../../src/store/audit/audit-log.ts";
import type { Store } from "../../src/store/store.ts";

import {
  transactCommand,
  transactOrThrow,
  transactInOneBatch,
  unwrap,
  readJournal,
  openLicensedSite,
  readLines,
  openSite,
  type OpenSite,
} from "../support/licensed-store.ts";
import { randomCommandSteps, type CommandStep } from "../support/random-commands.ts";
import { consume, MONDAY, register, unregisterAll, utc } from "../support/scenario.ts";
import {
  backUpFolder,
  openSiteWithKey,
  checkpointKeepingMonths,
  openSiteWithHistory,
  restoreTo,
} from "../support/backup-site.ts";
import { countTurns } from "../support/event-loop.ts";
import { writeLongAuditLog } from "../support/long-audit-log.ts";
import { writeMonths as liveThrough } from "../support/audit-months.ts";
import { makeNextInstall } from "../support/new-site.ts";
import { copyFixtureFolder } from "../support/old-formats.ts";
import { copyFolder, tempFolder } from "../support/temp-folder.ts";

type Plain = Pick<AuditEntry, "seq" | "part" | "event">;

const plain = ({ seq, part, event }: AuditEntry): Plain => ({ seq, part, event });

const ANY: AuditFilter = {
  types: null,
  user: null,
  product: null,
  licenseId: null,
  since: null,
  until: null,
  text: null,
};

/** Every line of the record there is, from whichever file it stands in. */
function linesOn(folder: string): JournalLine[] {
  const lines = new Map<number, JournalLine>();
  for (const { path } of listAuditFiles(realDisk, folder)) {
    for (const line of goodLines(path)) lines.set(line.audit_seq ?? 0, line);
  }
  const oldest = lines.size === 0 ? 1 : Math.min(...lines.keys());
  for (const { line } of readJournal(folder)) {
    if ((line.audit_seq ?? 0) >= oldest) lines.set(line.audit_seq ?? 0, line);
  }
  return [...lines.values()].toSorted((a, b) => (a.audit_seq ?? 0) - (b.audit_seq ?? 0));
}

/** Those of an unfinished fold may be bad: they are in the journal as well. */
const goodLines = (path: string): JournalLine[] =>
  readFileSync(path, "latin1")
    .split("\n")
    .map((text) => decodeLine(new Uint8Array(Buffer.from(text, "latin1"))))
    .filter((line) => line !== null);

const entriesOn = (folder: string): Plain[] =>
  linesOn(folder)
    .flatMap(({ audit_seq: seq = 0, events }) =>
      events.map((event, part) => ({ seq, part, event })),
    )
    .toReversed();

const pageOf = async (
  store: Store,
  from: string | null,
  limit: number,
  sought: AuditFilter = ANY,
): Promise<AuditPage<AuditEntry>> =>
  unwrap(
    await new AuditLogReader(store).readPage<AuditEntry>({
      from: from === null ? null : parsePosition(from),
      limit,
      since: sought.since,
      pick: (entry) => (matchesFilter(sought, entry) ? entry : null),
    }),
  );

/** Page by page to the end, with something in between. */
async function paged(
  store: Store,
  limit: number,
  sought: AuditFilter = ANY,
  between: () => Promise<void> = async () => {},
): Promise<AuditEntry[]> {
  const found: AuditEntry[] = [];
  for (let next: string | null = null; ;) {
    const page: AuditPage<AuditEntry> = await pageOf(store, next, limit, sought);
    expect(page.entries.length).toBeLessThanOrEqual(limit);
    found.push(...page.entries);
    if (page.nextPosition === null) return found;
    expect(page.nextPosition).not.toBe(next);
    next = page.nextPosition;
    await between();
  }
}

async function live({ store, clock }: OpenSite, steps: readonly CommandStep[]): Promise<void> {
  for (const { after, command } of steps) {
    clock.now = later(clock.now, after);
    const wanted =
      command.type === "InstallLicense"
        ? store.peek((state) => makeNextInstall(state, command))
        : command;
    await transactCommand(store, wanted);
  }
}

const sought = (mark: Instant): fc.Arbitrary<AuditFilter> => {
  const time = fc.option(fc.integer({ min: utc("2026-03-01T00:00:00Z"), max: mark }).map(instant));
  return fc.record({
    types: fc.option(
      fc.constantFrom(
        new Set(["SlotTaken", "SlotExpired"]),
        new Set(["ConsumptionAdded", "KeyRemembered", "RefusalsCounted"]),
        new Set(["MovedAway"]),
      ),
    ),
    user: fc.option(fc.constantFrom("ada", "__proto__", "nobody"), { freq: 2 }),
    product: fc.option(fc.constantFrom("cad", "constructor", "none"), { freq: 2 }),
    licenseId: fc.option(fc.constantFrom(1, 11, 99), { freq: 2 }),
    since: time,
    until: time,
    text: fc.constant(null),
  });
};

const ACTS = ["nothing", "checkpoint", "stop", "kill", "tear", "leftover", "change"] as const;
type Act = (typeof ACTS)[number];

/** What may befall a folder; a start is another store on the same files, or on a copy of them. */
async function befall(site: OpenSite, act: Act): Promise<OpenSite> {
  if (act === "checkpoint") await site.store.checkpoint();
  if (act === "change") await transactCommand(site.store, register("later"));
  if (act === "nothing" || act === "checkpoint" || act === "change") return site;
  if (act === "stop") await site.stop();
  const folder = copyFolder(site.folder);
  if (act === "tear") tear(folder);
  if (act === "leftover") leaveOver(folder);
  const next = await openSite({ folder });
  next.clock.now = site.clock.now;
  return next;
}

/** Half a line behind the last one, as a power cut leaves it. */
function tear(folder: string): void {
  const segment = readdirSync(folder).filter((name) => /^journal-\d+\.jsonl$/.test(name));
  const newest = segment
    .toSorted((a, b) => Number(a.replace(/\D/g, "")) - Number(b.replace(/\D/g, "")))
    .at(-1);
  const seq = (readJournal(folder).at(-1)?.line.seq ?? coversOf(folder)) + 1;
  const half = `{"seq":${seq},"from":${seq},"at":1,"audit_seq":99`;
  appendFileSync(join(folder, newest ?? ""), half);
}

const coversOf = (folder: string): number =>
  Number(/"covers":\{"seq":(\d+)/.exec(readFileSync(join(folder, "state.json"), "utf8"))?.[1]);

/** A fold that did not finish: lines the journal has too, the last one never synced. */
function leaveOver(folder: string): void {
  const newest = listAuditFiles(realDisk, folder).at(-1);
  const last = newest && goodLines(newest.path).at(-1);
  if (newest === undefined || last === undefined) return;
  const next = readJournal(folder).filter(
    ({ line }) => (line.audit_seq ?? 0) > (last.audit_seq ?? 0),
  );
  const same = next.filter(({ line }) => monthOf(line.at) === newest.name.slice(0, 7));
  const bytes = Buffer.concat(same.map(({ raw }) => raw));
  bytes.fill(0, Math.floor(bytes.length * 0.6), Math.max(0, bytes.length - 1));
  appendFileSync(newest.path, bytes);
}

const monthOf = (at: number): string => new Date(at).toISOString().slice(0, 7);

test("any filter, in pages of any size, gives what a plain look at every line gives", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(randomCommandSteps(30), fc.constantFrom(...ACTS)), {
        minLength: 2,
        maxLength: 6,
      }),
      fc.infiniteStream(fc.constantFrom<Act>("nothing", "nothing", "checkpoint", "change")),
      fc.constantFrom(1, 2, 3, 7, 100),
      sought(utc("2026-09-01T00:00:00Z")),
      async (lives, between, limit, what) => {
        let site = await openSite();
        for (const [steps, act] of lives) {
          await live(site, steps);
          site = await befall(site, act);
        }
        const products = new Map(
          (await pageOf(site.store, null, 500)).entries.map((entry) => [
            JSON.stringify(plain(entry)),
            entry.product,
          ]),
        );
        const all = entriesOn(copyFolder(site.folder)).map((one) => ({
          ...one,
          product: products.get(JSON.stringify(one)) ?? null,
        }));
        const expected = all.filter((entry) => matchesFilter(what, entry)).map(plain);
        const found = await paged(site.store, limit, what, async () => {
          await befall(site, between.next().value);
        });
        expect(found.map(plain)).toEqual(expected);
        await site.stop();
      },
    ),
    { numRuns: 80 },
  );
});

test("a line of many events comes in parts, each once", async () => {
  const site = await openLicensedSite();
  for (let user = 0; user < 40; user += 1)
    await transactOrThrow(site.store, register(`user ${user}`));
  await transactOrThrow(site.store, unregisterAll());
  for (const act of ["nothing", "checkpoint"] as const) {
    await befall(site, act);
    for (const limit of [1, 3, 39, 40, 41, 500]) {
      expect((await paged(site.store, limit)).map(plain)).toEqual(entriesOn(site.folder));
    }
  }
  const { entries, nextPosition } = await pageOf(site.store, null, 3);
  expect(entries.map(({ part }) => part)).toEqual([39, 38, 37]);
  expect(parsePosition(nextPosition ?? "")).toMatchObject({ line: entries[0]?.seq, part: 37 });
});

test("a page begun in the journal goes on in the record's own files, and the other way round", async () => {
  const site = await openLicensedSite();
  for (let count = 1; count <= 30; count += 1) await transactOrThrow(site.store, consume(count));
  const expected = entriesOn(site.folder);
  // Two of them, and the journal's file of the first page is gone.
  const found = await paged(site.store, 4, ANY, async () => {
    await transactOrThrow(site.store, consume(1));
    await site.store.checkpoint();
  });
  expect(found.map(plain)).toEqual(expected);
});

test("checkpoints that overtake a page that is being read take nothing out of it", async () => {
  const wanted = { ...ANY, types: new Set(["LicenseInstalled"]) };
  // On a busy machine a page may be read before the second checkpoint is made: then again.
  let checkpoints = 0;
  for (let attempt = 0; checkpoints < 2 && attempt < 20; attempt += 1) {
    const site = await openLicensedSite();
    const many = Array.from({ length: 6_000 }, (_, index) => consume(1 + (index % 7)));
    await transactInOneBatch(site.store, ...many);
    // All of the journal is looked at for it, in many turns.
    const pages: AuditEntry[][] = [];
    void paged(site.store, 1, wanted).then((found) => pages.push(found));
    for (checkpoints = 0; pages.length === 0 && checkpoints < 1_000; checkpoints += 1) {
      await transactOrThrow(site.store, register(`user ${checkpoints % 3}`));
      await site.store.checkpoint();
    }
    expect(pages).toEqual([[expect.objectContaining({ seq: 2, part: 0, product: "cad" })]]);
  }
  expect(checkpoints).toBeGreaterThan(1);
});

test("months that are let go of between two pages end the record there, and lose nothing before", async () => {
  const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
  await liveThrough(site, "04", "05", "06");
  const before = entriesOn(site.folder);
  const first = await pageOf(site.store, null, 3);
  await liveThrough(site, "08", "09", "10");
  const left = entriesOn(site.folder);
  expect(left.at(-1)?.seq).toBeGreaterThan(first.entries.at(-1)?.seq ?? Infinity);
  const rest = await pageOf(site.store, first.nextPosition, 500);
  expect([rest.entries, rest.nextPosition]).toEqual([[], null]);
  expect(first.entries.map(plain)).toEqual(before.slice(0, 3));
  expect((await paged(site.store, 2)).map(plain)).toEqual(left);
});

test("a place that was told before a backup was brought back is found where it is now", async () => {
  const site = await openLicensedSite();
  for (let count = 1; count <= 9; count += 1) await transactOrThrow(site.store, consume(count));
  const all = (await pageOf(site.store, null, 99)).entries.map(plain);
  const line = all[0]?.seq ?? 0;
  // Journal lines with fewer heartbeats between them than there are now.
  for (const seen of [1, 2, line - 3]) {
    const { entries } = await pageOf(site.store, `${line}.0.${seen}`, 99);
    expect(entries.map(plain)).toEqual(all.filter(({ seq }) => seq < line));
  }
});

test("a restored folder is read as what it is", async () => {
  const site = await openSiteWithHistory();
  const backup = await backUpFolder(site.folder);
  await transactOrThrow(site.store, register("lost"));
  await site.stop();
  await restoreTo(site.folder, backup, { acceptLoss: true });
  const again = await openSite({ folder: site.folder });
  const found = await paged(again.store, 2);
  expect(found.map(plain)).toEqual(entriesOn(site.folder));
  expect(found[0]?.event.type).toBe("Restored");
  expect(JSON.stringify(found)).not.toContain("lost");
});

test("what is not on disk yet is not shown before it is", async () => {
  const site = await openLicensedSite();
  const adding = transactOrThrow(site.store, consume(5));
  const { entries } = await pageOf(site.store, null, 1);
  expect(entries[0]?.event).toMatchObject({ type: "ConsumptionAdded", count: 5 });
  const lines = linesOn(site.folder);
  expect(lines.at(-1)?.events[0]).toMatchObject({ count: 5 });
  await adding;
});

test("a change of contact that an older version wrote with its renewal is shown", async () => {
  const { store } = await openSite({ folder: copyFixtureFolder(4) });
  const all = await paged(store, 100);
  const renewal = all.find(({ event }) => event.type === "SlotRenewed");
  expect(renewal?.event).toMatchObject({ user: "ada", contact: { hostname: "pc-2" } });
});

describe("damage is told with the line it was found at, and what is newer is still shown", () => {
  const lived = async (): Promise<OpenSite> => {
    const site = await openLicensedSite();
    await liveThrough(site, "04", "05", "06");
    return site;
  };
  const inMonth = (folder: string, month: string): string =>
    join(folder, "history", `2026-${month}.jsonl`);
  const refused = async (store: Store, from: string) =>
    new AuditLogReader(store).readPage({
      from: parsePosition(from),
      limit: 9,
      since: null,
      pick: () => true,
    });

  test("a line that was changed", async () => {
    const site = await lived();
    const path = inMonth(site.folder, "05");
    const [first, second] = readLines(path);
    writeFileSync(path, readFileSync(path, "utf8").replace('"count":1,', '"count":7,'));
    const { entries, nextPosition } = await pageOf(site.store, null, 500);
    expect(entries.at(-1)?.seq).toBe(second?.line.audit_seq ?? 0);
    expect(await refused(site.store, nextPosition ?? "")).toEqual({
      ok: false,
      fault: { code: "audit_log_damaged", line: first?.line.audit_seq ?? 0 },
    });
    // Whoever says so goes on behind it.
    const older = await pageOf(site.store, String(first?.line.audit_seq), 500);
    expect(older.entries[0]?.seq).toBe((first?.line.audit_seq ?? 0) - 1);
    expect(older.nextPosition).toBeNull();
  });

  test.each(["04", "05"])("the file of month %s, which is gone", async (month) => {
    const site = await lived();
    const last = readLines(inMonth(site.folder, month)).at(-1)?.line.audit_seq ?? 0;
    rmSync(inMonth(site.folder, month));
    const { entries, nextPosition } = await pageOf(site.store, null, 500);
    expect(entries.at(-1)?.seq).toBe(last + 1);
    expect(await refused(site.store, nextPosition ?? "")).toEqual({
      ok: false,
      fault: { code: "audit_log_damaged", line: last },
    });
  });
});

describe("a long record", () => {
  test("is read in bounded steps to its beginning, whatever is not found in it", async () => {
    const folder = join(tempFolder(), "data");
    await writeLongAuditLog(folder, 30_000, 200_000);
    const read = reading(realDisk);
    const site = await openSite({ folder, disk: read.disk });
    const none: AuditFilter = { ...ANY, user: "nobody" };
    let pages = 0;
    for (let next: string | null = null; pages < 100; pages += 1) {
      read.bytes = 0;
      const page: AuditPage<AuditEntry> = await pageOf(site.store, next, 100, none);
      // What is looked at, and a little to find the place.
      expect(read.bytes).toBeLessThan(34 * 1024 * 1024);
      expect(page.entries).toEqual([]);
      expect(page.nextPosition).not.toBe(next);
      next = page.nextPosition;
      if (next === null) break;
    }
    expect(pages).toBeGreaterThan(2);
    expect(pages).toBeLessThan(20);
    const taken = { ...ANY, user: "user 7", types: new Set(["SlotTaken"]) };
    const found = await paged(site.store, 4, taken);
    const expected = Array.from({ length: 30_000 }, (_, index) => index + 1)
      .filter((line) => line % 997 === 7 && line % 2 === 0)
      .toReversed();
    expect(found.map(({ seq }) => seq)).toEqual(expected);
    // A place in the middle is found without walking there.
    read.bytes = 0;
    const middle = await pageOf(site.store, "15000", 2);
    expect(middle.entries.map(({ seq }) => seq)).toEqual([14_999, 14_998]);
    expect(read.bytes).toBeLessThan(1024 * 1024);
    // Whole months before what is asked for are not looked at.
    read.bytes = 0;
    const late = { ...ANY, user: "nobody", since: later(MONDAY, 29_990 * MINUTE) };
    expect(await paged(site.store, 500, late)).toEqual([]);
  });

  test("lets others have their turn, however many read it at once", async () => {
    const folder = join(tempFolder(), "data");
    await writeLongAuditLog(folder, 9_000);
    const site = await openSite({ folder });
    const nobody = { ...ANY, user: "nobody" };
    const turns = await countTurns(() =>
      Promise.all(Array.from({ length: 8 }, () => pageOf(site.store, null, 500, nobody))),
    );
    expect(turns).toBeGreaterThan(100);
  });
});

function reading(disk: Disk): { readonly disk: Disk; bytes: number } {
  const counted = {
    bytes: 0,
    disk: {
      ...disk,
      readPart(path: string, offset: number, length: number) {
        const part = disk.readPart(path, offset, length);
        counted.bytes += part?.length ?? 0;
        return part;
      },
    },
  };
  return counted;
}
