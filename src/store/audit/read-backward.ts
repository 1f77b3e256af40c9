import { findGap } from "../../domain/audit/audit-gaps.ts";
import type { Instant } from "../../domain/time.ts";
import { runBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { decodeLine, parseLinePrefix, type JournalLine } from "../journal/journal.ts";
import { readLinesBackward } from "../journal/line-reader.ts";
import { AuditLineDamaged, AuditLineLocator, type AuditLogSource } from "./line-locator.ts";
import { positionBefore, type AuditPosition } from "./position.ts";
import { findEndOfMatches } from "./line-search.ts";

/** One line that was read. */
export interface LineRead {
  readonly size: number;
  /** Null: it is not a line that was searched for. */
  readonly line: JournalLine | null;
  /** Null: the bytes are no line. */
  readonly writtenAt: Instant | null;
  /** See `AuditPosition`. */
  readonly journalSeq: number;
}

/** The folder changes while it is read, so a read is retried; real damage fails every time. */
const MAX_STALLED_READS = 3;

/**
 * The audit log before a position, newest line first. Lines are read from the audit files if they
 * are there, else from the journal, so it does not matter when a checkpoint moves them. Files of
 * months before `oldest` are skipped.
 */
export function* readBackward(
  source: AuditLogSource,
  from: AuditPosition,
  oldest: string,
): Generator<LineRead> {
  const { disk } = source;
  let nextSeq = from.eventIndex > 0 ? from.auditSeq : from.auditSeq - 1;
  let journalSeq = from.journalSeq;
  let hasJournalHint = journalSeq !== Infinity;
  let locator = new AuditLineLocator(source);
  for (let stalledReads = 0; nextSeq > 0;) {
    const gap = findGap(source.gaps, nextSeq);
    if (gap !== null) {
      nextSeq = gap.from - 1;
      continue;
    }
    const location = locateLine(disk, locator, nextSeq, journalSeq);
    if (location === null && locator.isOlderThanAllLines(nextSeq)) return;
    if (location !== null && location.month < oldest) {
      nextSeq = location.firstSeq - 1;
      continue;
    }
    const progressBefore = `${nextSeq} ${journalSeq}`;
    if (location !== null) {
      for (const bytes of readLinesBackward(disk, location.path, location.end)) {
        const start = parseLinePrefix(bytes);
        const auditSeq = start?.auditSeq ?? Infinity;
        if (auditSeq < nextSeq) break;
        const line = auditSeq === nextSeq ? decodeLine(bytes) : null;
        if (auditSeq === nextSeq && line === null) throw new AuditLineDamaged(nextSeq);
        if (line !== null) nextSeq -= 1;
        if (location.isInJournal && start !== null) journalSeq = start.seq;
        const at = start?.at ?? null;
        yield {
          size: bytes.length + 1,
          line,
          writtenAt: at,
          journalSeq: location.isInJournal ? journalSeq : Infinity,
        };
        if (line !== null && findGap(source.gaps, nextSeq) !== null) break;
      }
      if (location.isInJournal) journalSeq = Math.min(journalSeq, location.firstSeq);
    }
    stalledReads = `${nextSeq} ${journalSeq}` === progressBefore ? stalledReads + 1 : 0;
    if (stalledReads === MAX_STALLED_READS) {
      if (!hasJournalHint) throw new AuditLineDamaged(nextSeq);
      // The position is from before a restore: the line may be anywhere by now.
      [hasJournalHint, journalSeq, stalledReads] = [false, Infinity, 0];
      locator = new AuditLineLocator(source);
      continue;
    }
    if (stalledReads > 0 || location?.isInJournal === true) locator = new AuditLineLocator(source);
  }
}

/** After so many bytes, waiting requests are served. */
export const SLICE_BYTES = 128 * 1024;

/**
 * The whole audit log, newest line first; requests are served in between. It ends at the oldest
 * kept line, at a declared gap, and at damage: only `verify` distinguishes these.
 */
export async function* readLinesNewestFirst(source: AuditLogSource): AsyncGenerator<JournalLine> {
  const reads = readBackward(source, positionBefore(source.lastSeq + 1), "");
  let next = source.lastSeq;
  for (let isDone = false; !isDone;) {
    const lines: JournalLine[] = [];
    isDone = await runBetweenRequests(() => readSlice(reads, lines));
    for (const line of lines) {
      if (line.audit_seq !== next) return;
      next -= 1;
      yield line;
    }
  }
}

/** True: the end was reached. */
function readSlice(reads: Iterator<LineRead>, lines: JournalLine[]): boolean {
  try {
    for (let bytes = 0; bytes < SLICE_BYTES;) {
      const { done, value } = reads.next();
      if (done === true) return true;
      if (value.line !== null) lines.push(value.line);
      bytes += value.size;
    }
    return false;
  } catch (error) {
    if (error instanceof AuditLineDamaged) return true;
    throw error;
  }
}

interface LineLocation {
  readonly path: string;
  readonly end: number;
  readonly firstSeq: number;
  readonly month: string;
  readonly isInJournal: boolean;
}

function locateLine(
  disk: Disk,
  locator: AuditLineLocator,
  nextSeq: number,
  journalSeq: number,
): LineLocation | null {
  const found = locator.findInAuditFiles(nextSeq);
  if (found !== null) {
    const { path, firstSeq, name } = found.file;
    return {
      path,
      firstSeq,
      end: found.end,
      month: name.slice(0, MONTH_LENGTH),
      isInJournal: false,
    };
  }
  if (locator.isOlderThanAllLines(nextSeq)) return null;
  const segment = locator.findSegmentBefore(journalSeq);
  if (segment === null) return null;
  const size = locator.getSize(segment);
  const isBefore = ({ seq }: { readonly seq: number }): boolean => seq < journalSeq;
  const end = journalSeq === Infinity ? size : findEndOfMatches(disk, segment.path, size, isBefore);
  return {
    path: segment.path,
    firstSeq: segment.number,
    end,
    month: AFTER_ALL_MONTHS,
    isInJournal: true,
  };
}

const MONTH_LENGTH = "2026-03".length;
/** After every month, so that nothing of the journal is skipped. */
const AFTER_ALL_MONTHS = "9999-99";
