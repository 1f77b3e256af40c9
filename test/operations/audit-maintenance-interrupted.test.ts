// A repair or a seal of the audit log that is interrupted at any call to the disk: what is left
// verifies as before it or as after it, and doing it again finishes it.
import { describe, expect, test } from "bun:test";
import { rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "../../src/domain/result.ts";
import { AuditMaintenance } from "../../src/operations/audit-maintenance.ts";
import { realDisk, type Disk } from "../../src/platform/disk.ts";
import { checkpoint } from "../../src/store/checkpoint.ts";
import { verify, type VerifyReport } from "../../src/store/verify.ts";
import { openSiteWithKey, flipBit, checkIdentity, verifyFolder } from "../support/backup-site.ts";
import { failCallAt, FaultyDisk } from "../support/faulty-disk.ts";
import { readLines, openSite, openAndCloseFolder } from "../support/licensed-store.ts";
import { writeMonths } from "../support/audit-months.ts";
import { utc } from "../support/scenario.ts";
import { copyFolder } from "../support/temp-folder.ts";

const BY = { note: "", peer: "ops@socket" };

type Act = (audit: AuditMaintenance) => Promise<Result<unknown, unknown>>;

interface Interrupted {
  readonly damage: (folder: string) => void;
  readonly act: Act;
  /** The lines that are declared as gone in the end. */
  readonly gaps: readonly (readonly [from: number, to: number])[];
}

const history = (folder: string, month: string): string =>
  join(folder, "history", `2026-${month}.jsonl`);

/** One bit of a line, by its place in the file. */
function spoil(path: string, place: number): void {
  const { offset = 0, raw = Buffer.alloc(0) } = readLines(path)[place] ?? {};
  flipBit(path, offset + raw.length - 9);
}

const cases: Readonly<Record<string, Interrupted>> = {
  "a repair of a line in the middle": {
    damage: (folder) => spoil(history(folder, "04"), 0),
    act: (audit) => audit.repair(BY),
    gaps: [[5, 5]],
  },
  "a repair of two months, one of which is gone": {
    damage: (folder) => {
      spoil(history(folder, "03"), 1);
      rmSync(history(folder, "05"));
    },
    act: (audit) => audit.repair(BY),
    gaps: [
      [2, 2],
      [7, 8],
    ],
  },
  "a repair of the newest file, of which the journal has the end": {
    damage: (folder) => truncateSync(history(folder, "06")),
    act: (audit) => audit.repair(BY),
    gaps: [[9, 12]],
  },
  "a repair that loses nothing": {
    damage: (folder) =>
      truncateSync(history(folder, "06"), statSync(history(folder, "06")).size - 500),
    act: (audit) => audit.repair(null),
    gaps: [],
  },
  "a seal of an old month": {
    damage: () => {},
    act: (audit) => audit.seal("2026-04", BY),
    gaps: [[5, 6]],
  },
  "a seal of the current month": {
    damage: () => {},
    act: (audit) => audit.seal("2026-06", BY),
    gaps: [[9, 14]],
  },
};

const LAST = 14;

/** Two lines in each of four months, and four more in the last; the journal has the last two. */
async function stopped(): Promise<string> {
  const site = await openSiteWithKey();
  await writeMonths(site, "03", "04", "05", "06", "06", "06");
  return copyFolder(site.folder);
}

/** The audit log in one word for each line: there, declared as gone, or missing. */
async function linesOf(folder: string): Promise<string> {
  const found = new Map<number, string>();
  const { head, auditGaps, auditDamage }: VerifyReport = await verify(realDisk, folder, {
    identity: checkIdentity,
    allowAuditDamage: true,
  });
  for (let line = 1; line <= head.auditSeq; line += 1) found.set(line, ".");
  for (const { from, to } of auditGaps) {
    for (let line = from; line <= to; line += 1) found.set(line, "g");
  }
  for (const { from, to } of auditDamage?.missing ?? []) {
    for (let line = from; line <= to; line += 1) found.set(line, "m");
  }
  return [...found.values()].join("");
}

const open = async (folder: string, disk: Disk) => {
  const site = await openSite({
    folder,
    disk,
    checkpoint: (path, to) => checkpoint(disk, path, to),
  });
  site.clock.now = utc("2026-06-20T00:00:00Z");
  return { ...site, audit: new AuditMaintenance(site.store) };
};

describe("at any call to the disk", () => {
  for (const [what, { damage, act, gaps }] of Object.entries(cases)) {
    test(`${what} leaves the audit log as it was or as it shall be`, async () => {
      const template = await stopped();
      damage(template);
      const before = await linesOf(template);
      let interrupted = 0;
      for (let place = 1; ; place += 1) {
        const folder = copyFolder(template);
        const disk = new FaultyDisk();
        disk.hasRealSync = false;
        const site = await open(folder, disk);
        failCallAt(disk, place, "EIO");
        const acted = await act(site.audit).then(
          ({ ok }) => ok,
          () => false,
        );
        const reached = disk.calls.length;
        disk.clearFaults();
        // What a kill would leave right then.
        const left = copyFolder(folder);
        const found = await linesOf(left);
        expect([place, isBetween(before, found, gaps)]).toEqual([place, true]);
        await openAndCloseFolder(copyFolder(left));
        const again = await open(left, realDisk);
        const result = await act(again.audit);
        // Sealed is sealed: that it was done before is said.
        if (!result.ok) expect(result).toMatchObject({ fault: { code: "audit_month_sealed" } });
        const { auditGaps } = await verifyFolder(copyFolder(left));
        // The current month has new lines by then, which a second seal takes along.
        const declared = auditGaps
          .map(({ from, to }) => [from, to])
          .filter(([from = 0]) => from <= LAST);
        expect(declared).toEqual(gaps.map((gap) => [...gap]));
        await again.stop();
        await verifyFolder(left);
        await site.stop();
        if (acted && reached < place) break;
        if (!acted) interrupted += 1;
      }
      expect(interrupted).toBeGreaterThan(10);
    });
  }
});

/** Lines that are missing were missing before or are declared; nothing else is lost. */
function isBetween(
  before: string,
  found: string,
  gaps: readonly (readonly [number, number])[],
): boolean {
  return found.split("").every((state, index) => {
    const line = index + 1;
    const isGap = gaps.some(([from, to]) => from <= line && line <= to);
    const was = before[index] ?? ".";
    if (state === "m") return was === "m";
    return state === "g" ? isGap : was === "." || was === "m";
  });
}
