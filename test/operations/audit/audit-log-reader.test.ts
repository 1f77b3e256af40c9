// Compares pages of the audit log with all of its lines: with any filter, and whatever happens to
// the folder between two pages, every event is shown once and in order.
import { describe, expect, test } from "bun:test";
import { appendFileSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import * as fc from "fast-check";
import { instant, later, MINUTE, type Instant } from "../../../src/domain/time.ts";
import { matchesFilter, type AuditFilter } from "../../../src/http/routes/audit/audit-entry.ts";
import {
  parsePosition,
  AuditLogReader,
  type AuditEntry,
  type AuditPage,
} from "../../../src/operations/audit/audit-log-reader.ts";
import { realDisk, type Disk } from "../../../src/platform/files/disk.ts";
import { decodeLine, type JournalLine } from "../../../src/store/journal/journal.ts";
import { listAuditFiles } from "../../../src/store/audit/audit-log.ts";
import type { Store } from "../../../src/store/store.ts";

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
} from "../../support/licensed-store.ts";
import {
  makeStepCommand,
  randomCommandSteps,
  type CommandStep,
} from "../../support/random-commands.ts";
import { consume, MONDAY, register, unregisterAll, utc } from "../../support/scenario.ts";
import {
  backUpFolder,
  openSiteWithKey,
  checkpointKeepingMonths,
  openSiteWithHistory,
  restoreTo,
} from "../../support/backup-site.ts";
import { applyRules, group, poolRules, reserve, ruleSet } from "../../support/rule-sets.ts";
import { countTurns } from "../../support/event-loop.ts";
import { writeLongAuditLog } from "../../support/long-audit-log.ts";
import { writeMonths } from "../../support/audit-months.ts";
import { copyFolder, tempFolder } from "../../support/temp-folder.ts";

type PlainEntry = Pick<AuditEntry, "seq" | "part" | "event">;

const pickFields = ({ seq, part, event }: AuditEntry): PlainEntry => ({ seq, part, event });

const ANY: AuditFilter = {
  types: null,
  user: null,
  product: null,
  licenseId: null,
  since: null,
  until: null,
  text: null,
};

/** Every line of the audit log, from whichever file it is in. */
function readAllLines(folder: string): JournalLine[] {
  const lines = new Map<number, JournalLine>();
  for (const { path } of listAuditFiles(realDisk, folder)) {
    for (const line of readValidLines(path)) lines.set(line.audit_seq ?? 0, line);
  }
  const oldest = lines.size === 0 ? 1 : Math.min(...lines.keys());
  for (const { line } of readJournal(folder)) {
    if ((line.audit_seq ?? 0) >= oldest) lines.set(line.audit_seq ?? 0, line);
  }
  return [...lines.values()].toSorted((a, b) => (a.audit_seq ?? 0) - (b.audit_seq ?? 0));
}

/** Lines of an unfinished checkpoint may be damaged: they are in the journal as well. */
const readValidLines = (path: string): JournalLine[] =>
  readFileSync(path, "latin1")
    .split("\n")
    .map((text) => decodeLine(new Uint8Array(Buffer.from(text, "latin1"))))
    .filter((line) => line !== null);

const readAllEntries = (folder: string): PlainEntry[] =>
  readAllLines(folder)
    .flatMap(({ audit_seq: seq = 0, events }) =>
      events.map((event, part) => ({ seq, part, event })),
    )
    .toReversed();

const readPage = async (
  store: Store,
  from: string | null,
  limit: number,
  filter: AuditFilter = ANY,
): Promise<AuditPage<AuditEntry>> =>
  unwrap(
    await new AuditLogReader(store).readPage<AuditEntry>({
      from: from === null ? null : parsePosition(from),
      limit,
      since: filter.since,
      pick: (entry) => (matchesFilter(filter, entry) ? entry : null),
    }),
  );

/** Reads page by page to the end, with an action between two pages. */
async function readAllPages(
  store: Store,
  limit: number,
  filter: AuditFilter = ANY,
  between: () => Promise<void> = async () => {},
): Promise<AuditEntry[]> {
  const entries: AuditEntry[] = [];
  for (let next: string | null = null; ;) {
    const page: AuditPage<AuditEntry> = await readPage(store, next, limit, filter);
    expect(page.entries.length).toBeLessThanOrEqual(limit);
    entries.push(...page.entries);
    if (page.nextPosition === null) return entries;
    expect(page.nextPosition).not.toBe(next);
    next = page.nextPosition;
    await between();
  }
}

async function runSteps({ store, clock }: OpenSite, steps: readonly CommandStep[]): Promise<void> {
  for (const step of steps) {
    clock.now = later(clock.now, step.after);
    const command = store.peek((state) => makeStepCommand(step, state, clock.now));
    await transactCommand(store, command);
  }
}

const auditFilter = (latest: Instant): fc.Arbitrary<AuditFilter> => {
  const time = fc.option(
    fc.integer({ min: utc("2026-03-01T00:00:00Z"), max: latest }).map(instant),
  );
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

const INCIDENTS = ["nothing", "checkpoint", "stop", "kill", "tear", "leftover", "change"] as const;
type Incident = (typeof INCIDENTS)[number];

/** Applies an incident to the folder. After a stop or a crash, a new store opens a copy of it. */
async function applyIncident(site: OpenSite, incident: Incident): Promise<OpenSite> {
  if (incident === "checkpoint") await site.store.checkpoint();
  if (incident === "change") await transactCommand(site.store, register("later"));
  if (incident === "nothing" || incident === "checkpoint" || incident === "change") return site;
  if (incident === "stop") await site.stop();
  const folder = copyFolder(site.folder);
  if (incident === "tear") appendTornLine(folder);
  if (incident === "leftover") appendLeftoverLines(folder);
  const next = await openSite({ folder });
  next.clock.now = site.clock.now;
  return next;
}

/** Appends half a line after the last one, as a power failure leaves it. */
function appendTornLine(folder: string): void {
  const segment = readdirSync(folder).filter((name) => /^journal-\d+\.jsonl$/.test(name));
  const newest = segment
    .toSorted((a, b) => Number(a.replace(/\D/g, "")) - Number(b.replace(/\D/g, "")))
    .at(-1);
  const seq = (readJournal(folder).at(-1)?.line.seq ?? readCoveredSeq(folder)) + 1;
  const tornLine = `{"seq":${seq},"from":${seq},"at":1,"audit_seq":99`;
  appendFileSync(join(folder, newest ?? ""), tornLine);
}

const readCoveredSeq = (folder: string): number =>
  Number(/"covers":\{"seq":(\d+)/.exec(readFileSync(join(folder, "state.json"), "utf8"))?.[1]);

/**
 * Imitates an unfinished checkpoint: lines that the journal also has, the last one never synced.
 */
function appendLeftoverLines(folder: string): void {
  const newest = listAuditFiles(realDisk, folder).at(-1);
  const last = newest && readValidLines(newest.path).at(-1);
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

test("AuditLogReader gives the same events as a scan of all lines, with any filter and page size", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(randomCommandSteps(30), fc.constantFrom(...INCIDENTS)), {
        minLength: 2,
        maxLength: 6,
      }),
      fc.infiniteStream(fc.constantFrom<Incident>("nothing", "nothing", "checkpoint", "change")),
      fc.constantFrom(1, 2, 3, 7, 100),
      auditFilter(utc("2026-09-01T00:00:00Z")),
      async (phases, between, limit, filter) => {
        let site = await openSite();
        for (const [steps, incident] of phases) {
          await runSteps(site, steps);
          site = await applyIncident(site, incident);
        }
        const products = new Map(
          (await readPage(site.store, null, 500)).entries.map((entry) => [
            JSON.stringify(pickFields(entry)),
            entry.product,
          ]),
        );
        const all = readAllEntries(copyFolder(site.folder)).map((entry) => ({
          ...entry,
          product: products.get(JSON.stringify(entry)) ?? null,
        }));
        const expected = all.filter((entry) => matchesFilter(filter, entry)).map(pickFields);
        const entries = await readAllPages(site.store, limit, filter, async () => {
          await applyIncident(site, between.next().value);
        });
        expect(entries.map(pickFields)).toEqual(expected);
        await site.stop();
      },
    ),
    { numRuns: 20 },
  );
});

test("AuditLogReader shows a line of many events in parts, each part once", async () => {
  const site = await openLicensedSite();
  for (let user = 0; user < 40; user += 1)
    await transactOrThrow(site.store, register(`user ${user}`));
  await transactOrThrow(site.store, unregisterAll());
  for (const incident of ["nothing", "checkpoint"] as const) {
    await applyIncident(site, incident);
    for (const limit of [1, 3, 39, 40, 41, 500]) {
      expect((await readAllPages(site.store, limit)).map(pickFields)).toEqual(
        readAllEntries(site.folder),
      );
    }
  }
  const { entries, nextPosition } = await readPage(site.store, null, 3);
  expect(entries.map(({ part }) => part)).toEqual([39, 38, 37]);
  expect(parsePosition(nextPosition ?? "")).toMatchObject({
    auditSeq: entries[0]?.seq,
    eventIndex: 37,
  });
});

test("AuditLogReader continues a page in the audit files after a checkpoint moved its lines there", async () => {
  const site = await openLicensedSite();
  for (let count = 1; count <= 30; count += 1) await transactOrThrow(site.store, consume(count));
  const expected = readAllEntries(site.folder);
  // After two checkpoints the journal file of the first page is gone.
  const entries = await readAllPages(site.store, 4, ANY, async () => {
    await transactOrThrow(site.store, consume(1));
    await site.store.checkpoint();
  });
  expect(entries.map(pickFields)).toEqual(expected);
});

test("AuditLogReader loses no event to checkpoints while it reads a page", async () => {
  const filter = { ...ANY, types: new Set(["LicenseInstalled"]) };
  // On a busy machine a page may be complete before the second checkpoint: then try again.
  let checkpoints = 0;
  for (let attempt = 0; checkpoints < 2 && attempt < 20; attempt += 1) {
    const site = await openLicensedSite();
    const commands = Array.from({ length: 6_000 }, (_, index) => consume(1 + (index % 7)));
    await transactInOneBatch(site.store, ...commands);
    // The reader scans the whole journal for it, in many turns of the event loop.
    const pages: AuditEntry[][] = [];
    void readAllPages(site.store, 1, filter).then((entries) => pages.push(entries));
    for (checkpoints = 0; pages.length === 0 && checkpoints < 1_000; checkpoints += 1) {
      await transactOrThrow(site.store, register(`user ${checkpoints % 3}`));
      await site.store.checkpoint();
    }
    expect(pages).toEqual([[expect.objectContaining({ seq: 2, part: 0, product: "cad" })]]);
  }
  expect(checkpoints).toBeGreaterThan(1);
});

test("AuditLogReader shows a recalled reservation with its product", async () => {
  const site = await openLicensedSite();
  const pool = poolRules("cad", { reservations: [reserve("sim", 1, "lend")] });
  await transactOrThrow(site.store, applyRules(ruleSet([group("sim")], pool)));
  const recall = {
    type: "RecallReservation",
    product: "cad",
    feature: null,
    group: "sim",
  } as const;
  await transactOrThrow(site.store, recall);
  const filter = { ...ANY, types: new Set(["ReservationRecalled"]) };
  expect(await readAllPages(site.store, 10, filter)).toEqual([
    expect.objectContaining({ product: "cad" }),
  ]);
});

test("AuditLogReader ends at months that were removed between two pages, and shows all newer ones", async () => {
  const site = await openSiteWithKey({ checkpoint: checkpointKeepingMonths(1) });
  await writeMonths(site, "04", "05", "06");
  const before = readAllEntries(site.folder);
  const first = await readPage(site.store, null, 3);
  await writeMonths(site, "08", "09", "10");
  const remaining = readAllEntries(site.folder);
  expect(remaining.at(-1)?.seq).toBeGreaterThan(first.entries.at(-1)?.seq ?? Infinity);
  const rest = await readPage(site.store, first.nextPosition, 500);
  expect([rest.entries, rest.nextPosition]).toEqual([[], null]);
  expect(first.entries.map(pickFields)).toEqual(before.slice(0, 3));
  expect((await readAllPages(site.store, 2)).map(pickFields)).toEqual(remaining);
});

test("AuditLogReader finds a position from before a restore at its new journal line", async () => {
  const site = await openLicensedSite();
  for (let count = 1; count <= 9; count += 1) await transactOrThrow(site.store, consume(count));
  const all = (await readPage(site.store, null, 99)).entries.map(pickFields);
  const line = all[0]?.seq ?? 0;
  // Positions with journal numbers from when fewer heartbeats lay between the lines.
  for (const journalSeq of [1, 2, line - 3]) {
    const { entries } = await readPage(site.store, `${line}.0.${journalSeq}`, 99);
    expect(entries.map(pickFields)).toEqual(all.filter(({ seq }) => seq < line));
  }
});

test("AuditLogReader shows the audit log of a restored folder, without the lost events", async () => {
  const site = await openSiteWithHistory();
  const backup = await backUpFolder(site.folder);
  await transactOrThrow(site.store, register("lost"));
  await site.stop();
  await restoreTo(site.folder, backup, { acceptLoss: true });
  const restored = await openSite({ folder: site.folder });
  const entries = await readAllPages(restored.store, 2);
  expect(entries.map(pickFields)).toEqual(readAllEntries(site.folder));
  expect(entries[0]?.event.type).toBe("Restored");
  expect(JSON.stringify(entries)).not.toContain("lost");
});

test("AuditLogReader shows an event only after it is on disk", async () => {
  const site = await openLicensedSite();
  const adding = transactOrThrow(site.store, consume(5));
  const { entries } = await readPage(site.store, null, 1);
  expect(entries[0]?.event).toMatchObject({ type: "ConsumptionAdded", count: 5 });
  const lines = readAllLines(site.folder);
  expect(lines.at(-1)?.events[0]).toMatchObject({ count: 5 });
  await adding;
});

describe("AuditLogReader with a damaged audit log", () => {
  const openSiteWithMonths = async (): Promise<OpenSite> => {
    const site = await openLicensedSite();
    await writeMonths(site, "04", "05", "06");
    return site;
  };
  const monthPath = (folder: string, month: string): string =>
    join(folder, "history", `2026-${month}.jsonl`);
  const readFrom = async (store: Store, from: string) =>
    new AuditLogReader(store).readPage({
      from: parsePosition(from),
      limit: 9,
      since: null,
      pick: () => true,
    });

  test("shows the newer lines and names the changed line", async () => {
    const site = await openSiteWithMonths();
    const path = monthPath(site.folder, "05");
    const [first, second] = readLines(path);
    writeFileSync(path, readFileSync(path, "utf8").replace('"count":1,', '"count":7,'));
    const { entries, nextPosition } = await readPage(site.store, null, 500);
    expect(entries.at(-1)?.seq).toBe(second?.line.audit_seq ?? 0);
    expect(await readFrom(site.store, nextPosition ?? "")).toEqual({
      ok: false,
      fault: { code: "audit_log_damaged", line: first?.line.audit_seq ?? 0 },
    });
    // A request that starts at the damaged line continues behind it.
    const older = await readPage(site.store, String(first?.line.audit_seq), 500);
    expect(older.entries[0]?.seq).toBe((first?.line.audit_seq ?? 0) - 1);
    expect(older.nextPosition).toBeNull();
  });

  test.each(["04", "05"])(
    "shows the newer lines and names the last line of the missing month %s",
    async (month) => {
      const site = await openSiteWithMonths();
      const last = readLines(monthPath(site.folder, month)).at(-1)?.line.audit_seq ?? 0;
      rmSync(monthPath(site.folder, month));
      const { entries, nextPosition } = await readPage(site.store, null, 500);
      expect(entries.at(-1)?.seq).toBe(last + 1);
      expect(await readFrom(site.store, nextPosition ?? "")).toEqual({
        ok: false,
        fault: { code: "audit_log_damaged", line: last },
      });
    },
  );
});

describe("AuditLogReader with a long audit log", () => {
  test("reads to the beginning in bounded steps when nothing matches the filter", async () => {
    const folder = join(tempFolder(), "data");
    await writeLongAuditLog(folder, 30_000, 20_000);
    const read = countReadBytes(realDisk);
    const site = await openSite({ folder, disk: read.disk });
    const noMatch: AuditFilter = { ...ANY, user: "nobody" };
    let pages = 0;
    for (let next: string | null = null; pages < 100; pages += 1) {
      read.bytes = 0;
      const page: AuditPage<AuditEntry> = await readPage(site.store, next, 100, noMatch);
      // The scanned part, and a little to find the position.
      expect(read.bytes).toBeLessThan(9 * 1024 * 1024);
      expect(page.entries).toEqual([]);
      expect(page.nextPosition).not.toBe(next);
      next = page.nextPosition;
      if (next === null) break;
    }
    expect(pages).toBeGreaterThan(2);
    expect(pages).toBeLessThan(20);
    const takenByUser = { ...ANY, user: "user 7", types: new Set(["SlotTaken"]) };
    const entries = await readAllPages(site.store, 4, takenByUser);
    const expected = Array.from({ length: 30_000 }, (_, index) => index + 1)
      .filter((line) => line % 997 === 7 && line % 2 === 0)
      .toReversed();
    expect(entries.map(({ seq }) => seq)).toEqual(expected);
    // A position in the middle is found without reading up to it.
    read.bytes = 0;
    const middle = await readPage(site.store, "15000", 2);
    expect(middle.entries.map(({ seq }) => seq)).toEqual([14_999, 14_998]);
    expect(read.bytes).toBeLessThan(1024 * 1024);
    // Whole months before the requested time are not read.
    read.bytes = 0;
    const noLateMatch = { ...ANY, user: "nobody", since: later(MONDAY, 29_990 * MINUTE) };
    expect(await readAllPages(site.store, 500, noLateMatch)).toEqual([]);
  });

  test("yields to other requests while eight readers scan it", async () => {
    const folder = join(tempFolder(), "data");
    await writeLongAuditLog(folder, 9_000);
    const site = await openSite({ folder });
    const noMatch = { ...ANY, user: "nobody" };
    const turns = await countTurns(() =>
      Promise.all(Array.from({ length: 8 }, () => readPage(site.store, null, 500, noMatch))),
    );
    expect(turns).toBeGreaterThan(100);
  });
});

function countReadBytes(disk: Disk): { readonly disk: Disk; bytes: number } {
  const countingDisk = {
    bytes: 0,
    disk: {
      ...disk,
      readPart(path: string, offset: number, length: number) {
        const part = disk.readPart(path, offset, length);
        countingDisk.bytes += part?.length ?? 0;
        return part;
      },
    },
  };
  return countingDisk;
}
