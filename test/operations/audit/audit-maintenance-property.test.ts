// After any damage to the audit log files and any seal: once the gaps are declared, the rest
// verifies, new damage is detected, backups restore it, and the site goes on.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join } from "node:path";
import * as fc from "fast-check";
import { instant } from "../../../src/domain/time.ts";
import { AuditMaintenance } from "../../../src/operations/audit/audit-maintenance.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { AuditDamaged } from "../../../src/store/folder/refusal.ts";
import { checkAuditExport } from "../../../src/operations/audit/audit-export-check.ts";
import { readForward } from "../../../src/store/audit/read-forward.ts";
import { StateFile } from "../../../src/store/state/state-file.ts";
import {
  backUpFolder,
  openSiteWithKey,
  editFile,
  flipBit,
  restoreTo,
  verifyFolder,
} from "../../support/backup-site.ts";
import {
  transactCommand,
  transactOrThrow,
  openSite,
  type OpenSite,
} from "../../support/licensed-store.ts";
import { consume, utc } from "../../support/scenario.ts";
import { copyFolder, tempFolder } from "../../support/temp-folder.ts";

const DECLARATION = { note: "a test", peer: "ops@socket" };

/** A phase of a site: its month, its number of lines, and whether a checkpoint follows. */
const phase = fc.record({
  month: fc.integer({ min: 1, max: 12 }),
  lines: fc.integer({ min: 1, max: 4 }),
  hasCheckpoint: fc.boolean(),
  /** Sets the clock back to the first day of the month, if the clock is later by then. */
  isClockSetBack: fc.boolean(),
});

/** A fraction of a file's length, or of the number of files. */
const fraction = fc.double({ min: 0, max: 0.999, noNaN: true });

const damage = fc.record({
  kind: fc.constantFrom("flip", "cut", "remove", "empty", "double", "swap", "zeros", "seal"),
  file: fraction,
  position: fraction,
});

type Damage = typeof damage extends fc.Arbitrary<infer T> ? T : never;
type Phase = typeof phase extends fc.Arbitrary<infer T> ? T : never;

async function runPhases(site: OpenSite, phases: readonly Phase[]): Promise<void> {
  const { store, clock } = site;
  for (const { month, lines, hasCheckpoint, isClockSetBack } of phases) {
    const at = utc(`2027-${String(month).padStart(2, "0")}-01T00:00:00Z`);
    if (at < clock.now && isClockSetBack) {
      await transactCommand(store, { type: "SetClockBack", to: at, nonce: null, peer: "test" });
    }
    clock.now = isClockSetBack ? at : instant(Math.max(at, clock.now));
    for (let line = 1; line <= lines; line += 1) await transactOrThrow(store, consume(line));
    if (hasCheckpoint) await store.checkpoint();
  }
  await store.checkpoint();
  expect(store.status().checkpointError).toBeNull();
}

const filesOf = (folder: string): string[] =>
  readdirSync(join(folder, "history"))
    .filter((name) => name.endsWith(".jsonl"))
    .toSorted()
    .map((name) => join(folder, "history", name));

async function applyDamage(
  folder: string,
  audit: AuditMaintenance,
  { kind, file, position }: Damage,
) {
  const files = filesOf(folder);
  const path = files[Math.floor(file * files.length)];
  if (path === undefined || !existsSync(path)) return;
  const size = statSync(path).size;
  const at = Math.floor(position * size);
  const lines = readFileSync(path, "latin1").match(/.*\n/g) ?? [];
  const lineIndex = Math.floor(position * lines.length);
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
      return editFile(path, () =>
        Buffer.from([...lines, lines[lineIndex] ?? ""].join(""), "latin1"),
      );
    case "swap": {
      const [first = "", ...others] = lines;
      return editFile(path, () => Buffer.from([...others, first].join(""), "latin1"));
    }
    case "zeros":
      return editFile(path, (bytes) => bytes.fill(0, at, Math.min(size, at + 512)));
    case "seal":
      // Refused where the month is damaged; then it is left for the repair.
      await audit.seal(basename(path).slice(0, "2027-01".length), DECLARATION);
  }
}

const isIntact = async (folder: string): Promise<boolean> => {
  try {
    await verifyFolder(folder);
    return true;
  } catch (error) {
    if (error instanceof AuditDamaged) return false;
    throw error;
  }
};

/** Flips one byte at a time in a copy, checks that verify finds it, and restores the byte. */
async function expectDamageDetected(
  folder: string,
  bytes: number,
  random: () => number,
): Promise<void> {
  const copy = copyFolder(folder);
  const audit = (await new StateFile(realDisk, copy).read())?.audit;
  // Bytes after the recorded end of the newest file belong to an unfinished checkpoint.
  const lengthOf = (path: string): number =>
    basename(path) === audit?.file ? audit.length : statSync(path).size;
  const files = filesOf(copy).filter((path) => lengthOf(path) > 0);
  for (let attempt = 0; attempt < bytes && files.length > 0; attempt += 1) {
    const path = files[Math.floor(random() * files.length)] ?? "";
    const before = readFileSync(path);
    const at = Math.floor(random() * lengthOf(path));
    flipBit(path, at);
    expect([path, at, await isIntact(copy)]).toEqual([path, at, false]);
    writeFileSync(path, before);
  }
  expect(await isIntact(copy)).toBe(true);
}

test("an audit log is repaired, verifies and goes on after any damage and seals", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(phase, { minLength: 1, maxLength: 6 }),
      fc.array(damage, { minLength: 1, maxLength: 5 }),
      fc.integer(),
      async (phases, damages, seed) => {
        const site = await openSiteWithKey();
        const { folder, store } = site;
        await runPhases(site, phases);
        const audit = new AuditMaintenance(store);
        for (const item of damages) await applyDamage(folder, audit, item);
        const repaired = await audit.repair(DECLARATION);
        expect(repaired).toMatchObject({ ok: true, value: { missing: [] } });
        expect(await isIntact(copyFolder(folder))).toBe(true);
        // Nothing is left to repair.
        expect(await audit.repair(null)).toMatchObject({
          value: { missing: [], written: [], backupFiles: [], declared: [] },
        });
        await expectDamageDetected(folder, 8, makeRandom(seed));
        const exportPath = join(tempFolder(), "audit.jsonl");
        const lines = [...readForward(store.auditLogSource(), { since: null, until: null })];
        writeFileSync(exportPath, Buffer.concat(lines));
        expect(checkAuditExport(realDisk, exportPath).lastSeq).toBe(store.status().auditSeq);
        const restoredFolder = join(tempFolder(), "data");
        await restoreTo(restoredFolder, await backUpFolder(folder));
        expect(await isIntact(restoredFolder)).toBe(true);
        // Both the original site and the restored one go on.
        for (const openedSite of [site, await openSite({ folder: restoredFolder })]) {
          for (const count of [1, 2]) {
            await transactOrThrow(openedSite.store, consume(count));
            await openedSite.store.checkpoint();
            expect(openedSite.store.status().checkpointError).toBeNull();
            expect(await isIntact(copyFolder(openedSite.folder))).toBe(true);
          }
        }
      },
    ),
    { numRuns: 15 },
  );
});

/** The same numbers for the same seed. */
function makeRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
