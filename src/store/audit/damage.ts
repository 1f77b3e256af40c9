import type { AuditGap } from "../../domain/state.ts";
import type { Disk } from "../../platform/disk.ts";
import { surveyAuditLog } from "./survey.ts";
import { verifyAuditChain, type AuditLogTotals } from "./audit-log.ts";
import { AuditDamaged } from "../refusal.ts";
import type { Snapshot } from "../snapshot.ts";

/** What is wrong with an audit log, all of it. */
export interface AuditDamage {
  /** The first thing, in words, and what to do about it. */
  readonly message: string;
  readonly hint: string;
  /** Lines that are not there, by their numbers. */
  readonly missing: readonly { readonly from: number; readonly to: number }[];
  /** Files that hold something else than their lines. */
  readonly files: readonly string[];
}

/** In two copies of one folder the words differ, by its path. */
export const isSameDamage = (one: DamageExtent | null, other: DamageExtent | null): boolean =>
  Bun.deepEquals(one && [one.missing, one.files], other && [other.missing, other.files]);

type DamageExtent = Pick<AuditDamage, "missing" | "files">;

interface AuditCheckOptions {
  readonly onLine: (seq: number, sum: string) => void;
  /** Goes on when something is wrong, and tells what; else that is refused. */
  readonly allowDamage: boolean;
}

/** Follows the audit log from line to line. */
export function checkAuditLog(
  disk: Disk,
  folder: string,
  audit: Snapshot["audit"],
  gaps: readonly AuditGap[],
  { onLine, allowDamage }: AuditCheckOptions,
): { readonly totals: AuditLogTotals; readonly damage: AuditDamage | null } {
  try {
    return { totals: verifyAuditChain(disk, folder, audit, gaps, onLine), damage: null };
  } catch (error) {
    if (!allowDamage || !(error instanceof AuditDamaged)) throw error;
    const { files, unreadableFiles, missing, lineCount } = runToEnd(
      surveyAuditLog(disk, folder, audit, gaps, onLine),
    );
    const unclean = files.filter(({ hasForeignBytes }) => hasForeignBytes).map(({ name }) => name);
    return {
      totals: { files: files.length, lines: lineCount, leftover: 0 },
      damage: {
        message: error.message,
        hint: error.hint,
        missing: missing.map(({ from, to }) => ({ from, to })),
        files: [...unclean, ...unreadableFiles].toSorted(),
      },
    };
  }
}

/** What a piece of work comes to, done in one go. */
function runToEnd<T>(work: Generator<void, T>): T {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
