import { addGap } from "../../domain/audit/audit-gaps.ts";
import type { AuditGap } from "../../domain/model/state.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { listSegments } from "../folder/files.ts";
import { decodeLine } from "../journal/journal.ts";
import type { Snapshot } from "../state/snapshot.ts";

const GAP_EVENT = '"type":"AuditGapDeclared"';
const LF = 10;

/**
 * The gaps declared up to the end of what a checkpoint covers. They are read before its first line
 * is written, because a later segment may close the newest file of the audit log.
 */
export function readDeclaredGaps(
  disk: Disk,
  folder: string,
  { covers, auditGaps }: Snapshot,
  open: number,
): readonly AuditGap[] {
  let gaps: readonly AuditGap[] = auditGaps;
  for (const { number, path } of listSegments(disk, folder)) {
    if (number <= covers.seq || number >= open) continue;
    const bytes = Buffer.from(disk.read(path) ?? new Uint8Array());
    for (let at = bytes.indexOf(GAP_EVENT); at >= 0; at = bytes.indexOf(GAP_EVENT, at + 1)) {
      const start = bytes.lastIndexOf(LF, at) + 1;
      const end = bytes.indexOf(LF, at);
      const line = decodeLine(new Uint8Array(bytes.subarray(start, end < 0 ? bytes.length : end)));
      // The checkpoint itself reports a damaged line.
      for (const event of line?.events ?? []) {
        if (event.type === "AuditGapDeclared") gaps = addGap(gaps, event.gap);
      }
    }
  }
  return gaps;
}
