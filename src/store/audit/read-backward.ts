import { findGap } from "../../domain/audit-gaps.ts";
import type { Instant } from "../../domain/time.ts";
import { runBetweenRequests } from "../../platform/yield-to-requests.ts";
import type { Disk } from "../../platform/disk.ts";
import { decodeLine, parseLinePrefix, type JournalLine } from "../journal.ts";
import { readLinesBackward } from "../line-reader.ts";
import { AuditLineDamaged, AuditLineLocator, type AuditLogSource } from "./line-locator.ts";
import { positionBefore, type AuditPosition } from "./position.ts";
import { findEndOfMatches } from "./line-search.ts";

/** One line that was looked at. */
export interface LineRead {
  readonly size: number;
  /** Null: there is nothing in it that was asked for. */
  readonly line: JournalLine | null;
  /** Null: it is no line. */
  readonly writtenAt: Instant | null;
  /** See `Position`. */
  readonly journalSeq: number;
}

/** A folder moves on while it is read; what is really wrong is wrong every time. */
const MAX_VAIN_READS = 3;

/**
 * The record before a position, newest first, a line at a time. Lines are taken from the record's
 * own files where they are there, and from the journal where they are not yet, so it does not
 * matter when they are moved. Files of months before `oldest` are passed over.
 */
export function* readBackward(
  record: AuditLogSource,
  from: AuditPosition,
  oldest: string,
): Generator<LineRead> {
  const { disk } = record;
  let wanted = from.eventIndex > 0 ? from.auditSeq : from.auditSeq - 1;
  let seen = from.journalSeq;
  let isTold = seen !== Infinity;
  let files = new AuditLineLocator(record);
  for (let vain = 0; wanted > 0;) {
    const gap = findGap(record.gaps, wanted);
    if (gap !== null) {
      wanted = gap.from - 1;
      continue;
    }
    const place = locateLine(disk, files, wanted, seen);
    if (place === null && files.isOlderThanAllLines(wanted)) return;
    if (place !== null && place.month < oldest) {
      wanted = place.firstSeq - 1;
      continue;
    }
    const before = `${wanted} ${seen}`;
    if (place !== null) {
      for (const bytes of readLinesBackward(disk, place.path, place.end)) {
        const start = parseLinePrefix(bytes);
        const auditSeq = start?.auditSeq ?? Infinity;
        if (auditSeq < wanted) break;
        const line = auditSeq === wanted ? decodeLine(bytes) : null;
        if (auditSeq === wanted && line === null) throw new AuditLineDamaged(wanted);
        if (line !== null) wanted -= 1;
        if (place.isInJournal && start !== null) seen = start.seq;
        const at = start?.at ?? null;
        yield {
          size: bytes.length + 1,
          line,
          writtenAt: at,
          journalSeq: place.isInJournal ? seen : Infinity,
        };
        if (line !== null && findGap(record.gaps, wanted) !== null) break;
      }
      if (place.isInJournal) seen = Math.min(seen, place.firstSeq);
    }
    vain = `${wanted} ${seen}` === before ? vain + 1 : 0;
    if (vain === MAX_VAIN_READS) {
      if (!isTold) throw new AuditLineDamaged(wanted);
      // Told before a backup was brought back: the line may stand anywhere by now.
      [isTold, seen, vain] = [false, Infinity, 0];
      files = new AuditLineLocator(record);
      continue;
    }
    if (vain > 0 || place?.isInJournal === true) files = new AuditLineLocator(record);
  }
}

/** After so many bytes, others get their turn. */
export const SLICE_BYTES = 128 * 1024;

/**
 * All of the record, newest first, with everybody else's answers in between. It ends where what is
 * kept does, at a declared gap, and at what cannot be read: to tell them apart is for `verify`.
 */
export async function* readLinesNewestFirst(record: AuditLogSource): AsyncGenerator<JournalLine> {
  const looks = readBackward(record, positionBefore(record.lastSeq + 1), "");
  let next = record.lastSeq;
  for (let isAll = false; !isAll;) {
    const lines: JournalLine[] = [];
    isAll = await runBetweenRequests(() => readSlice(looks, lines));
    for (const line of lines) {
      if (line.audit_seq !== next) return;
      next -= 1;
      yield line;
    }
  }
}

/** True: that was all. */
function readSlice(looks: Iterator<LineRead>, lines: JournalLine[]): boolean {
  try {
    for (let bytes = 0; bytes < SLICE_BYTES;) {
      const { done, value } = looks.next();
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
  files: AuditLineLocator,
  wanted: number,
  seen: number,
): LineLocation | null {
  const held = files.findInAuditFiles(wanted);
  if (held !== null) {
    const { path, firstSeq, name } = held.file;
    return {
      path,
      firstSeq,
      end: held.end,
      month: name.slice(0, MONTH_LENGTH),
      isInJournal: false,
    };
  }
  if (files.isOlderThanAllLines(wanted)) return null;
  const segment = files.findSegmentBefore(seen);
  if (segment === null) return null;
  const size = files.getSize(segment);
  const isBefore = ({ seq }: { readonly seq: number }): boolean => seq < seen;
  const end = seen === Infinity ? size : findEndOfMatches(disk, segment.path, size, isBefore);
  return {
    path: segment.path,
    firstSeq: segment.number,
    end,
    month: AFTER_ALL_MONTHS,
    isInJournal: true,
  };
}

const MONTH_LENGTH = "2026-03".length;
/** Behind every month: nothing of the journal is passed over. */
const AFTER_ALL_MONTHS = "9999-99";
