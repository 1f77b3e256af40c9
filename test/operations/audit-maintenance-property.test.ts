// Whatever happens to the files of an audit log, or is sealed of it: once it is declared, the rest
// verifies, is guarded as before, goes into backups and comes out of them, and goes on.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import * as fc from "fast-check";
import { instant } from "../../src/domain/time.ts";
import { AuditMaintenance } from "../../src/operations/audit-maintenance.ts";
import { realDisk } from "../../src/platform/disk.ts";
import { AuditDamaged } from "../../src/store/refusal.ts";
import { checkAuditExport } from "../../src/store/audit/export-check.ts";
import { readForward } from "../../src/store/audit/read-forward.ts";
import { StateFile } from "../../src/store/state-file.ts";
import {
  backUpFolder,
  openSiteWithKey,
  editFile,
  flipBit,
  restoreTo,
  verifyFolder,
} from "../support/backup-site.ts";
import {
  transactCommand,
  transactOrThrow,
  openSite,
  type OpenSite,
} from "../support/licensed-store.ts";
import { consume, utc } from "../support/scenario.ts";
import { copyFolder, tempFolder } from "../support/temp-folder.ts";

const BY = { note: "a test", peer: "ops@socket" };

/** A stretch of time at a site: a month, how much happens in it, and whether it is folded. */
const chapter = fc.record({
  month: fc.integer({ min: 1, max: 12 }),
  lines: fc.integer({ min: 1, max: 4 }),
  folds: fc.boolean(),
  /** The clock is set back to the month's first day, where it is a later one by then. */
  setsBack: fc.boolean(),
});

/** A fraction of a file's length, or of the number of files. */
const somewhere = fc.double({ min: 0, max: 0.999, noNaN: true });

const harm = fc.record({
  kind: fc.constantFrom("flip", "cut", "remove", "empty", "double", "swap", "zeros", "seal"),
  file: somewhere,
  place: somewhere,
});

type Harm = typeof harm extends fc.Arbitrary<infer T> ? T : never;
type Chapter = typeof chapter extends fc.Arbitrary<infer T> ? T : never;

async function live(site: OpenSite, chapters: readonly Chapter[]): Promise<void> {
  const { store, clock } = site;
  for (const { month, lines, folds, setsBack } of chapters) {
    const at = utc(`2027-${String(month).padStart(2, "0")}-01T00:00:00Z`);
    if (at < clock.now && setsBack) {
      await transactCommand(store, { type: "SetClockBack", to: at, nonce: null, peer: "test" });
    }
    clock.now = setsBack ? at : instant(Math.max(at, clock.now));
    for (let line = 1; line <= lines; line += 1) await transactOrThrow(store, consume(line));
    if (folds) await store.checkpoint();
  }
  await store.checkpoint();
  expect(store.health().checkpointError).toBeNull();
}

const filesOf = (folder: string): string[] =>
  readdirSync(join(folder, "history"))
    .filter((name) => name.endsWith(".jsonl"))
    .toSorted()
    .map((name) => join(folder, "history", name));

async function inflict(folder: string, audit: AuditMaintenance, { kind, file, place }: Harm) {
  const files = filesOf(folder);
  const path = files[Math.floor(file * files.length)];
  if (path === undefined || !existsSync(path)) return;
  const size = statSync(path).size;
  const at = Math.floor(place * size);
  const lines = readFileSync(path, "latin1").match(/.*\n/g) ?? [];
  const which = Math.floor(place * lines.length);
  switch (kind) {
    case "flip":
      return size === 0 ? undefined : flipBit(path, at);
    case "cut":
      return editFile(path, (bytes) => bytes.subarray(0, at));
    case "remove":
      return rmSync(path);
    case "empty":
      return writeFileSync(path, "");
    case "double":
      return editFile(path, () => Buffer.from([...lines, lines[which] ?? ""].join(""), "latin1"));
    case "swap": {
      const [one = "", ...others] = lines;
      return editFile(path, () => Buffer.from([...others, one].join(""), "latin1"));
    }
    case "zeros":
      return editFile(path, (bytes) => bytes.fill(0, at, Math.min(size, at + 512)));
    case "seal":
      // Refused where the month is damaged; then it is left for the repair.
      await audit.seal(basename(path).slice(0, "2027-01".length), BY);
  }
}

const isWhole = async (folder: string): Promise<boolean> => {
  try {
    await verifyFolder(folder);
    return true;
  } catch (error) {
    if (error instanceof AuditDamaged) return false;
    throw error;
  }
};

/** One byte at a time, in a copy that is put right again each time. */
async function isGuarded(folder: string, bytes: number, dice: () => number): Promise<void> {
  const copy = copyFolder(folder);
  const audit = (await new StateFile(realDisk, copy).read())?.audit;
  // Behind its end the newest file is an unfinished fold's, which nobody counts on.
  const lengthOf = (path: string): number =>
    basename(path) === audit?.file ? audit.length : statSync(path).size;
  const files = filesOf(copy).filter((path) => lengthOf(path) > 0);
  for (let turn = 0; turn < bytes && files.length > 0; turn += 1) {
    const path = files[Math.floor(dice() * files.length)] ?? "";
    const before = readFileSync(path);
    const at = Math.floor(dice() * lengthOf(path));
    flipBit(path, at);
    expect([path, at, await isWhole(copy)]).toEqual([path, at, false]);
    writeFileSync(path, before);
  }
  expect(await isWhole(copy)).toBe(true);
}

test("an audit log is mended, guarded and goes on, whatever was damaged or sealed", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(chapter, { minLength: 1, maxLength: 6 }),
      fc.array(harm, { minLength: 1, maxLength: 5 }),
      fc.integer(),
      async (chapters, harms, seed) => {
        const site = await openSiteWithKey();
        const { folder, store } = site;
        await live(site, chapters);
        const audit = new AuditMaintenance(store);
        for (const one of harms) await inflict(folder, audit, one);
        const repaired = await audit.repair(BY);
        expect(repaired).toMatchObject({ ok: true, value: { missing: [] } });
        expect(await isWhole(copyFolder(folder))).toBe(true);
        // Nothing is left to repair.
        expect(await audit.repair(null)).toMatchObject({
          value: { missing: [], written: [], kept: [], declared: [] },
        });
        await isGuarded(folder, 8, diceOf(seed));
        const record = join(tempFolder(), "record.jsonl");
        const lines = [...readForward(store.auditLogSource(), { since: null, until: null })];
        writeFileSync(record, Buffer.concat(lines));
        expect(checkAuditExport(realDisk, record).lastSeq).toBe(store.health().auditSeq);
        const other = join(tempFolder(), "data");
        await restoreTo(other, await backUpFolder(folder));
        expect(await isWhole(other)).toBe(true);
        // And it goes on in both places.
        for (const going of [site, await openSite({ folder: other })]) {
          for (const count of [1, 2]) {
            await transactOrThrow(going.store, consume(count));
            await going.store.checkpoint();
            expect(going.store.health().checkpointError).toBeNull();
            expect(await isWhole(copyFolder(going.folder))).toBe(true);
          }
        }
      },
    ),
    { numRuns: 60 },
  );
});

/** The same numbers for the same seed. */
function diceOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
