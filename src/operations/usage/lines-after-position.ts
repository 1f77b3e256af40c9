import type { AuditLogSource } from "../../store/audit/line-locator.ts";
import { decodeForward, type OnDamage } from "../../store/audit/read-forward.ts";
import type { JournalLine } from "../../store/journal/journal.ts";
import { UsageDamaged } from "./usage-files.ts";
import type { UsagePosition } from "./usage-position.ts";

/**
 * The lines of the audit log after a position, with pauses as in `decodeForward`. Refuses a position
 * that belongs to another history: a backup may have been restored since.
 */
export function* decodeAfter(
  source: AuditLogSource,
  { audit_seq: auditSeq, audit_sum: auditSum }: Pick<UsagePosition, "audit_seq" | "audit_sum">,
  onDamage: OnDamage = "throw",
): Generator<JournalLine | null> {
  const error = new UsageDamaged(`the usage files end at line ${auditSeq} of another audit log`);
  if (auditSeq > source.lastSeq) throw error;
  let isChecked = auditSeq === 0;
  for (const line of decodeForward(source, { auditSeq: Math.max(1, auditSeq) }, onDamage)) {
    if (line?.audit_seq === auditSeq) {
      if (line.sum !== auditSum) throw error;
      isChecked = true;
      continue;
    }
    // The line itself may have been removed, with its month.
    if (!isChecked && line !== null && line.audit_prev !== auditSum) throw error;
    isChecked ||= line !== null;
    yield line;
  }
}
