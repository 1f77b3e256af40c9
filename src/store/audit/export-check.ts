import { addGap, skipGaps, type AuditPosition } from "../../domain/audit-gaps.ts";
import type { AuditGap } from "../../domain/state.ts";
import type { Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/disk.ts";
import { GENESIS } from "../../platform/hash.ts";
import { decodeLine, parseLinePrefix, type JournalLine } from "../journal.ts";
import { readLinesForward } from "../line-reader.ts";
import { AuditExportRefused } from "../refusal.ts";

/** A record that was taken away, and is a chain from its first line to its last. */
export interface CheckedAuditExport {
  readonly lines: number;
  /** By their numbers on the record. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** When those two were written. */
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  /** What its first line points back to; null: it is the first there ever was. */
  readonly anchor: string | null;
  /** Of the last line: one look at it in two places tells whether all before it is the same. */
  readonly sum: string;
  /** Lines that are missing between the two, as an event in the file itself declares. */
  readonly gaps: readonly AuditGap[];
}

/** A line that does not follow the one before it. */
interface ChainBreak {
  readonly lineNumber: number;
  readonly from: AuditPosition;
  readonly to: JournalLine;
}

/**
 * Refuses what was changed, cut out, added or put in another order, and says in which line. A gap
 * is declared later in the chain than the lines it is about: whether all that is missing was
 * declared is known at the end.
 */
export function checkAuditExport(disk: Disk, path: string): CheckedAuditExport {
  let first: JournalLine | null = null;
  let last: JournalLine | null = null;
  let number = 0;
  let declared: readonly AuditGap[] = [];
  const leaps: ChainBreak[] = [];
  for (const { bytes, whole } of readLinesForward(disk, path, 0, Infinity)) {
    number += 1;
    const line = whole ? decodeLine(bytes) : null;
    if (line?.audit_seq === undefined)
      throw refuseLine(path, number, describeLineProblem(bytes, whole));
    if (last !== null && !isNextLine(line, last)) {
      const from = { seq: last.audit_seq ?? 0, sum: last.sum };
      if (line.audit_seq <= from.seq)
        throw refuseChainBreak(path, { lineNumber: number, from, to: line });
      leaps.push({ lineNumber: number, from, to: line });
    }
    for (const event of line.events) {
      if (event.type === "AuditGapDeclared") declared = addGap(declared, event.gap);
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
  for (const leap of leaps) {
    const { seq, sum } = skipGaps(declared, leap.from);
    if (seq + 1 === leap.to.audit_seq && sum === leap.to.audit_prev) continue;
    throw refuseChainBreak(path, leap);
  }
  const isBeginning = first.audit_seq === 1 && first.audit_prev === GENESIS;
  return {
    lines: number,
    firstSeq: first.audit_seq ?? 0,
    lastSeq: last.audit_seq ?? 0,
    firstAt: first.at,
    lastAt: last.at,
    anchor: isBeginning ? null : (first.audit_prev ?? ""),
    sum: last.sum,
    gaps: declared.filter((gap) =>
      leaps.some(({ from, to }) => from.seq < gap.from && gap.to < (to.audit_seq ?? 0)),
    ),
  };
}

const isNextLine = (line: JournalLine, before: JournalLine): boolean =>
  line.audit_seq === (before.audit_seq ?? 0) + 1 && line.audit_prev === before.sum;

function refuseChainBreak(path: string, { lineNumber, from, to }: ChainBreak): AuditExportRefused {
  const { audit_seq: seq = 0 } = to;
  const wrong = `is line ${seq} of the audit log and does not continue the previous line`;
  if (seq <= from.seq + 1) return refuseLine(path, lineNumber, wrong);
  const lost = `${from.seq + 1} to ${seq - 1} are missing, and no line of the file declares them as lost`;
  return refuseLine(path, lineNumber, `${wrong}: ${lost}`);
}

function describeLineProblem(bytes: Uint8Array, whole: boolean): string {
  if (!whole) return "is incomplete";
  return parseLinePrefix(bytes) === null
    ? "is not a line of an audit log"
    : "was changed after it was written";
}

const refuseLine = (path: string, number: number, wrong: string): AuditExportRefused =>
  new AuditExportRefused(
    `${path}: line ${number} ${wrong}`,
    "export the audit log again up to its newest line, which declares its gaps; berth verify checks a data folder",
  );
