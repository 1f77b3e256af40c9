import { findGap } from "../domain/audit-gaps.ts";
import type { Instant } from "../domain/time.ts";
import { betweenAnswers } from "../platform/between-answers.ts";
import type { Disk } from "../platform/disk.ts";
import { decodeLine, startOf, type Line } from "./journal.ts";
import { linesBefore } from "./lines.ts";
import { RecordDamaged, RecordFiles, type RecordPlace } from "./record-files.ts";
import { before, type Position } from "./record-position.ts";
import { endOfWanted } from "./seek.ts";

/** One line that was looked at. */
export interface Look {
  readonly bytes: number;
  /** Null: there is nothing in it that was asked for. */
  readonly line: Line | null;
  /** Null: it is no line. */
  readonly at: Instant | null;
  /** See `Position`. */
  readonly seen: number;
}

/** A folder moves on while it is read; what is really wrong is wrong every time. */
const PATIENCE = 3;

/**
 * The record before a position, newest first, a line at a time. Lines are taken from the record's
 * own files where they are there, and from the journal where they are not yet, so it does not
 * matter when they are moved. Files of months before `oldest` are passed over.
 */
export function* readBack(record: RecordPlace, from: Position, oldest: string): Generator<Look> {
  const { disk } = record;
  let wanted = from.part > 0 ? from.line : from.line - 1;
  let seen = from.seen;
  let isTold = seen !== Infinity;
  let files = new RecordFiles(record);
  for (let vain = 0; wanted > 0;) {
    const gap = findGap(record.gaps, wanted);
    if (gap !== null) {
      wanted = gap.from - 1;
      continue;
    }
    const place = placeOf(disk, files, wanted, seen);
    if (place === null && files.isBeforeAll(wanted)) return;
    if (place !== null && place.month < oldest) {
      wanted = place.first - 1;
      continue;
    }
    const before = `${wanted} ${seen}`;
    if (place !== null) {
      for (const bytes of linesBefore(disk, place.path, place.end)) {
        const start = startOf(bytes);
        const auditSeq = start?.auditSeq ?? Infinity;
        if (auditSeq < wanted) break;
        const line = auditSeq === wanted ? decodeLine(bytes) : null;
        if (auditSeq === wanted && line === null) throw new RecordDamaged(wanted);
        if (line !== null) wanted -= 1;
        if (place.isJournal && start !== null) seen = start.seq;
        const at = start?.at ?? null;
        yield { bytes: bytes.length + 1, line, at, seen: place.isJournal ? seen : Infinity };
        if (line !== null && findGap(record.gaps, wanted) !== null) break;
      }
      if (place.isJournal) seen = Math.min(seen, place.first);
    }
    vain = `${wanted} ${seen}` === before ? vain + 1 : 0;
    if (vain === PATIENCE) {
      if (!isTold) throw new RecordDamaged(wanted);
      // Told before a backup was brought back: the line may stand anywhere by now.
      [isTold, seen, vain] = [false, Infinity, 0];
      files = new RecordFiles(record);
      continue;
    }
    if (vain > 0 || place?.isJournal === true) files = new RecordFiles(record);
  }
}

/** After so many bytes, others get their turn. */
export const SLICE = 128 * 1024;

/**
 * All of the record, newest first, with everybody else's answers in between. It ends where what is
 * kept does, at a declared gap, and at what cannot be read: to tell them apart is for `verify`.
 */
export async function* linesBack(record: RecordPlace): AsyncGenerator<Line> {
  const looks = readBack(record, before(record.last + 1), "");
  let next = record.last;
  for (let isAll = false; !isAll;) {
    const lines: Line[] = [];
    isAll = await betweenAnswers(() => addSlice(looks, lines));
    for (const line of lines) {
      if (line.audit_seq !== next) return;
      next -= 1;
      yield line;
    }
  }
}

/** True: that was all. */
function addSlice(looks: Iterator<Look>, lines: Line[]): boolean {
  try {
    for (let bytes = 0; bytes < SLICE;) {
      const { done, value } = looks.next();
      if (done === true) return true;
      if (value.line !== null) lines.push(value.line);
      bytes += value.bytes;
    }
    return false;
  } catch (error) {
    if (error instanceof RecordDamaged) return true;
    throw error;
  }
}

interface Place {
  readonly path: string;
  readonly end: number;
  readonly first: number;
  readonly month: string;
  readonly isJournal: boolean;
}

function placeOf(disk: Disk, files: RecordFiles, wanted: number, seen: number): Place | null {
  const held = files.holding(wanted);
  if (held !== null) {
    const { path, first, name } = held.file;
    return { path, first, end: held.end, month: name.slice(0, MONTH), isJournal: false };
  }
  if (files.isBeforeAll(wanted)) return null;
  const segment = files.segmentBefore(seen);
  if (segment === null) return null;
  const size = files.sizeOf(segment);
  const isBefore = ({ seq }: { readonly seq: number }): boolean => seq < seen;
  const end = seen === Infinity ? size : endOfWanted(disk, segment.path, size, isBefore);
  return { path: segment.path, first: segment.number, end, month: NEVER, isJournal: true };
}

const MONTH = "2026-03".length;
/** Behind every month: nothing of the journal is passed over. */
const NEVER = "9999-99";
