// A repair or a seal of the audit log that is interrupted at any disk call: the folder verifies as
// before or as after it, and running it again completes it.
import { describe, expect, test } from "bun:test";
import { rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import type { Result } from "../../../src/domain/result.ts";
import { AuditMaintenance } from "../../../src/operations/audit/audit-maintenance.ts";
import { realDisk, type Disk } from "../../../src/platform/files/disk.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { verify, type VerifyReport } from "../../../src/operations/folder/verify.ts";
import {
  openSiteWithKey,
  flipBit,
  checkIdentity,
  verifyFolder,
} from "../../support/backup-site.ts";
import { failCallAt, FaultyDisk } from "../../support/faulty-disk.ts";
import { readLines, openSite, openAndCloseFolder } from "../../support/licensed-store.ts";
import { writeMonths } from "../../support/audit-months.ts";
import { utc } from "../../support/scenario.ts";
import { copyFolder } from "../../support/temp-folder.ts";

const DECLARATION = { note: "", peer: "ops@socket" };

type MaintenanceAction = (audit: AuditMaintenance) => Promise<Result<unknown, unknown>>;

interface InterruptedCase {
  readonly damage: (folder: string) => void;
  readonly run: MaintenanceAction;
  /** The lines that are declared missing in the end. */
  readonly gaps: readonly (readonly [from: number, to: number])[];
}

const monthPath = (folder: string, month: string): string =>
  join(folder, "history", `2026-${month}.jsonl`);

/** Flips one bit of a line of the file. */
function damageLine(path: string, index: number): void {
  const { offset = 0, raw = Buffer.alloc(0) } = readLines(path)[index] ?? {};
  flipBit(path, offset + raw.length - 9);
}

const cases: Readonly<Record<string, InterruptedCase>> = {
  "a repair of a line in the middle": {
    damage: (folder) => damageLine(monthPath(folder, "04"), 0),
    run: (audit) => audit.repair(DECLARATION),
    gaps: [[5, 5]],
  },
  "a repair of two months, one of which has no file": {
    damage: (folder) => {
      damageLine(monthPath(folder, "03"), 1);
      rmSync(monthPath(folder, "05"));
    },
    run: (audit) => audit.repair(DECLARATION),
    gaps: [
      [2, 2],
      [7, 8],
    ],
  },
  "a repair of the newest file, whose end is in the journal": {
    damage: (folder) => truncateSync(monthPath(folder, "06")),
    run: (audit) => audit.repair(DECLARATION),
    gaps: [[9, 12]],
  },
  "a repair that loses nothing": {
    damage: (folder) =>
      truncateSync(monthPath(folder, "06"), statSync(monthPath(folder, "06")).size - 500),
    run: (audit) => audit.repair(null),
    gaps: [],
  },
  "a seal of an old month": {
    damage: () => {},
    run: (audit) => audit.seal("2026-04", DECLARATION),
    gaps: [[5, 6]],
  },
  "a seal of the current month": {
    damage: () => {},
    run: (audit) => audit.seal("2026-06", DECLARATION),
    gaps: [[9, 14]],
  },
};

const LAST_LINE = 14;

/** Two lines in each of four months, and four more in the last; the journal has the last two. */
async function makeFolder(): Promise<string> {
  const site = await openSiteWithKey();
  await writeMonths(site, "03", "04", "05", "06", "06", "06");
  return copyFolder(site.folder);
}

/** One character for each audit log line: "." present, "g" in a declared gap, "m" missing. */
async function describeLines(folder: string): Promise<string> {
  const states = new Map<number, string>();
  const { head, auditGaps, auditDamage }: VerifyReport = await verify(realDisk, folder, {
    identity: checkIdentity,
    allowAuditDamage: true,
  });
  for (let line = 1; line <= head.auditSeq; line += 1) states.set(line, ".");
  for (const { from, to } of auditGaps) {
    for (let line = from; line <= to; line += 1) states.set(line, "g");
  }
  for (const { from, to } of auditDamage?.missing ?? []) {
    for (let line = from; line <= to; line += 1) states.set(line, "m");
  }
  return [...states.values()].join("");
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

describe("audit maintenance interrupted at any disk call", () => {
  for (const [name, { damage, run, gaps }] of Object.entries(cases)) {
    test(`leaves the audit log as before or as after: ${name}`, async () => {
      const template = await makeFolder();
      damage(template);
      const before = await describeLines(template);
      let interruptions = 0;
      for (let callNumber = 1; ; callNumber += 1) {
        const folder = copyFolder(template);
        const disk = new FaultyDisk();
        disk.hasRealSync = false;
        const site = await open(folder, disk);
        failCallAt(disk, callNumber, "EIO");
        const hasSucceeded = await run(site.audit).then(
          ({ ok }) => ok,
          () => false,
        );
        const callCount = disk.calls.length;
        disk.clearFaults();
        // The folder that a kill would leave at this call.
        const leftFolder = copyFolder(folder);
        const afterFailure = await describeLines(leftFolder);
        expect([callNumber, isBetween(before, afterFailure, gaps)]).toEqual([callNumber, true]);
        await openAndCloseFolder(copyFolder(leftFolder));
        const reopened = await open(leftFolder, realDisk);
        const result = await run(reopened.audit);
        // A seal that was completed before is refused with this code.
        if (!result.ok) expect(result).toMatchObject({ fault: { code: "audit_month_sealed" } });
        const { auditGaps } = await verifyFolder(copyFolder(leftFolder));
        // The current month has new lines by then, which a second seal includes.
        const declared = auditGaps
          .map(({ from, to }) => [from, to])
          .filter(([from = 0]) => from <= LAST_LINE);
        expect(declared).toEqual(gaps.map((gap) => [...gap]));
        await reopened.stop();
        await verifyFolder(leftFolder);
        await site.stop();
        if (hasSucceeded && callCount < callNumber) break;
        if (!hasSucceeded) interruptions += 1;
      }
      expect(interruptions).toBeGreaterThan(10);
    });
  }
});

/**
 * Every missing line was missing before, every gap line is to be declared; no other line is lost.
 */
function isBetween(
  before: string,
  after: string,
  gaps: readonly (readonly [number, number])[],
): boolean {
  return after.split("").every((state, index) => {
    const line = index + 1;
    const isGap = gaps.some(([from, to]) => from <= line && line <= to);
    const stateBefore = before[index] ?? ".";
    if (state === "m") return stateBefore === "m";
    return state === "g" ? isGap : stateBefore === "." || stateBefore === "m";
  });
}
