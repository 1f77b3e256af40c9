import { addGap, skipGaps, type AuditPosition } from "../../domain/audit/audit-gaps.ts";
import type { AuditGap } from "../../domain/model/state.ts";
import type { Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { GENESIS } from "../../platform/crypto/hash.ts";
import { decodeLine, parseLinePrefix, type JournalLine } from "../../store/journal/journal.ts";
import { readLinesForward } from "../../store/journal/line-reader.ts";
import { AuditExportRefused } from "../../store/folder/refusal.ts";

/** An exported audit log that is a complete chain from its first line to its last. */
export interface CheckedAuditExport {
  readonly lines: number;
  /** Line numbers in the audit log. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** When these two lines were written. */
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  /** The sum that its first line refers to; null: it is the first line of the audit log. */
  readonly anchor: string | null;
  /** The sum of the last line: if it is equal in two copies, everything before it is equal too. */
  readonly sum: string;
  /** Missing lines between the two that events in the file declare. */
  readonly gaps: readonly AuditGap[];
}

/** A line that does not continue the previous one. */
interface ChainBreak {
  readonly lineNumber: number;
  readonly from: AuditPosition;
  readonly to: JournalLine;
}

/**
 * Refuses changed, removed, added or reordered lines, and names the line. A gap is declared later
 * in the chain than the lines it concerns, so it is known only at the end whether all missing lines
 * were declared.
 */
export function checkAuditExport(disk: Disk, path: string): CheckedAuditExport {
  let first: JournalLine | null = null;
  let last: JournalLine | null = null;
  let lineNumber = 0;
  let declaredGaps: readonly AuditGap[] = [];
  const breaks: ChainBreak[] = [];
  for (const { bytes, isComplete } of readLinesForward(disk, path, 0, Infinity)) {
    lineNumber += 1;
    const line = isComplete ? decodeLine(bytes) : null;
    if (line?.audit_seq === undefined)
      throw refuseLine(path, lineNumber, describeLineProblem(bytes, isComplete));
    if (last !== null && !isNextLine(line, last)) {
      const from = { seq: last.audit_seq ?? 0, sum: last.sum };
      if (line.audit_seq <= from.seq) throw refuseChainBreak(path, { lineNumber, from, to: line });
      breaks.push({ lineNumber, from, to: line });
    }
    for (const event of line.events) {
      if (event.type === "AuditGapDeclared") declaredGaps = addGap(declaredGaps, event.gap);
    }
    first ??= line;
    last = line;
  }
  if (first === null || last === null) {
    throw new AuditExportRefused(
      `${path} contains no line of an audit log`,
      "specify an exported audit log",
    );
  }
  for (const chainBreak of breaks) {
    const { seq, sum } = skipGaps(declaredGaps, chainBreak.from);
    if (seq + 1 === chainBreak.to.audit_seq && sum === chainBreak.to.audit_prev) continue;
    throw refuseChainBreak(path, chainBreak);
  }
  const isBeginning = first.audit_seq === 1 && first.audit_prev === GENESIS;
  return {
    lines: lineNumber,
    firstSeq: first.audit_seq ?? 0,
    lastSeq: last.audit_seq ?? 0,
    firstAt: first.at,
    lastAt: last.at,
    anchor: isBeginning ? null : (first.audit_prev ?? ""),
    sum: last.sum,
    gaps: declaredGaps.filter((gap) =>
      breaks.some(({ from, to }) => from.seq < gap.from && gap.to < (to.audit_seq ?? 0)),
    ),
  };
}

const isNextLine = (line: JournalLine, before: JournalLine): boolean =>
  line.audit_seq === (before.audit_seq ?? 0) + 1 && line.audit_prev === before.sum;

function refuseChainBreak(path: string, { lineNumber, from, to }: ChainBreak): AuditExportRefused {
  const { audit_seq: seq = 0 } = to;
  const problem = `is line ${seq} of the audit log and does not continue the previous line`;
  if (seq <= from.seq + 1) return refuseLine(path, lineNumber, problem);
  const [first, last] = [from.seq + 1, seq - 1];
  const missing = first === last ? `line ${first} is` : `lines ${first} to ${last} are`;
  const reason = `${missing} missing, and no line of the file declares that as a gap`;
  return refuseLine(path, lineNumber, `${problem}: ${reason}`);
}

function describeLineProblem(bytes: Uint8Array, isComplete: boolean): string {
  if (!isComplete) return "is incomplete";
  return parseLinePrefix(bytes) === null
    ? "is not a line of an audit log"
    : "was changed after it was written";
}

const refuseLine = (path: string, lineNumber: number, problem: string): AuditExportRefused =>
  new AuditExportRefused(
    `${path}: line ${lineNumber} ${problem}`,
    "export the audit log again with berth audit --out FILE; berth verify checks a data folder",
  );
