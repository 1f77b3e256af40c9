import { GENESIS } from "../../platform/crypto/hash.ts";
import type { Disk } from "../../platform/files/disk.ts";
import type { LedgerEntry } from "./ledger-entries.ts";
import type { LedgerHead, LedgerPosition } from "./ledger-head.ts";
import { parseEntry, parseLedgerLine, type LineFault } from "./ledger-lines.ts";
import { LineReader } from "./line-reader.ts";
import { findStatement, type StatementPosition } from "./statement-index.ts";

export const LEDGER_START: LedgerPosition = { size: 0, lines: 0, sum: GENESIS };

/** The hash of a line whose chain is not checked. */
const UNKNOWN = "";

interface ScanOptions {
  /** Default: the beginning. */
  readonly start?: LedgerPosition;
  /** Default: none. */
  readonly head?: LedgerHead | null;
}

export interface ScannedLedger {
  readonly entries: readonly (LedgerEntry | StatementPosition)[];
  readonly end: LedgerPosition;
  /** The bytes after the last complete append: an interrupted write. */
  readonly rest: number;
  /** The hash of the line that `ledger.head` names; null: there is no such line. */
  readonly headSum: string | null;
  /** The offset after that line. */
  readonly headEnd: number | null;
  /** The first line that is damaged; reading ends there. */
  readonly fault: { readonly line: number; readonly problem: LineFault } | null;
}

/** Reads the lines after a position, and checks the chain of all of them. */
export const scanLedger = (
  disk: Disk,
  path: string,
  { start = LEDGER_START, head = null }: ScanOptions,
): ScannedLedger => scan(disk, path, start, head, 0);

/**
 * The same without checking the chain up to the head again, because it was checked when it was
 * written: only `berth vendor verify` finds a line before the head that was changed since. Null: the
 * ledger does not have the line that the head names.
 */
export function scanTrustedLedger(
  disk: Disk,
  path: string,
  head: LedgerHead,
): ScannedLedger | null {
  const scanned = scan(disk, path, LEDGER_START, head, head.size);
  return scanned.headSum === head.sum && scanned.headEnd === head.size ? scanned : null;
}

/** Checks the chain after the first `trustedBytes` bytes. */
function scan(
  disk: Disk,
  path: string,
  start: LedgerPosition,
  head: LedgerHead | null,
  trustedBytes: number,
): ScannedLedger {
  const entries: (LedgerEntry | StatementPosition)[] = [];
  const reader = new LineReader(disk, path, start.size);
  let end = start;
  let headLine = NO_LINE;
  // Where the last append of several lines begins, and where it must end.
  let append = { end, entries: 0, lastLine: start.lines };
  for (const { bytes, from, end: size } of reader) {
    const lines = end.lines + 1;
    const statement = findStatement(bytes, from);
    const line =
      size < trustedBytes
        ? parseUnchecked(bytes, statement)
        : parseLedgerLine(bytes, end.sum === UNKNOWN ? null : end.sum);
    if (lines === head?.lines) headLine = { headSum: line.sum, headEnd: size };
    const entry = statement ?? line.entry;
    if (line.fault !== null || entry === null) {
      const fault = { line: lines, problem: line.fault ?? "is damaged" };
      return { entries, end, rest: 0, ...headLine, fault };
    }
    if (line.together > 1)
      append = { end, entries: entries.length, lastLine: end.lines + line.together };
    entries.push(entry);
    end = { size, lines, sum: line.sum };
  }
  // Lines that the head counts were complete: they are lost, and no interrupted write.
  if (append.lastLine <= end.lines || append.end.lines < (head?.lines ?? 0))
    return { entries, end, rest: reader.rest, ...headLine, fault: null };
  const rest = reader.rest + end.size - append.end.size;
  return {
    entries: entries.slice(0, append.entries),
    end: append.end,
    rest,
    ...headLine,
    fault: null,
  };
}

const NO_LINE: Pick<ScannedLedger, "headSum" | "headEnd"> = { headSum: null, headEnd: null };

/** A statement is parsed when it is needed. */
function parseUnchecked(bytes: Buffer, statement: StatementPosition | null) {
  const entry = statement === null ? parseEntry(bytes) : null;
  const isDamaged = statement === null && entry === null;
  const fault = isDamaged ? ("is damaged" as const) : null;
  return { entry, together: 1, sum: UNKNOWN, fault };
}
