import type { AuditGap } from "../../domain/model/state.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { surveyAuditLog } from "./survey.ts";
import { verifyAuditChain, type AuditLogTotals } from "./audit-log.ts";
import { AuditDamaged } from "../folder/refusal.ts";
import type { Snapshot } from "../state/snapshot.ts";

/** The complete damage of an audit log. */
export interface AuditDamage {
  /** The first damage in words, and what to do about it. */
  readonly message: string;
  readonly hint: string;
  /** Missing lines, by their numbers. */
  readonly missing: readonly { readonly from: number; readonly to: number }[];
  /** Files that contain bytes that are not lines of the chain. */
  readonly files: readonly string[];
}

/** Ignores the messages, which differ by path between two copies of one folder. */
export const isSameDamage = (a: DamageExtent | null, b: DamageExtent | null): boolean =>
  Bun.deepEquals(a && [a.missing, a.files], b && [b.missing, b.files]);

type DamageExtent = Pick<AuditDamage, "missing" | "files">;

interface AuditCheckOptions {
  readonly onLine: (seq: number, sum: string) => void;
  /** Continues when there is damage, and reports it; otherwise the damage is refused. */
  readonly allowDamage: boolean;
}

/** Checks the audit log line by line. */
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
    const damagedNames = files
      .filter(({ hasForeignBytes }) => hasForeignBytes)
      .map(({ name }) => name);
    return {
      totals: { files: files.length, lines: lineCount, leftover: 0 },
      damage: {
        message: error.message,
        hint: error.hint,
        missing: missing.map(({ from, to }) => ({ from, to })),
        files: [...damagedNames, ...unreadableFiles].toSorted(),
      },
    };
  }
}

/** Runs a generator to its end without pauses, and returns its result. */
function runToEnd<T>(generator: Generator<void, T>): T {
  for (;;) {
    const { done, value } = generator.next();
    if (done === true) return value;
  }
}
