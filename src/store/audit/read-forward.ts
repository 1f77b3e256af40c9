import { findGap } from "../../domain/audit-gaps.ts";
import type { Instant } from "../../domain/time.ts";
import { parseLinePrefix, type LinePrefix } from "../journal.ts";
import { readLinesForward } from "../line-reader.ts";
import { monthOf } from "./audit-log.ts";
import { AuditLineDamaged, AuditLineLocator, type AuditLogSource } from "./line-locator.ts";
import { findEndOfMatches } from "./line-search.ts";

/** By when they were written; null: from the beginning, to the end. */
export interface TimeRange {
  readonly since: Instant | null;
  readonly until: Instant | null;
}

const PART_BYTES = 256 * 1024;
const LF = Buffer.from("\n");

/**
 * The lines of the record as they stand, oldest first, in parts of some size, which may be empty
 * where there was much to pass over: from the first line that was written at `since` or later to
 * the last one before any that was written after `until`. What comes out is a chain without gaps,
 * but for those that were declared; whether it is what was written is for `checkRecord` to say.
 */
export function* readForward(
  record: AuditLogSource,
  { since, until }: TimeRange,
): Generator<Buffer> {
  let begun = false;
  let gathered: Uint8Array[] = [];
  let size = 0;
  for (const { bytes, writtenAt } of new ForwardReader(record, since).readLines()) {
    if (writtenAt !== null) {
      begun ||= since === null || writtenAt >= since;
      if (begun && until !== null && writtenAt > until) break;
      if (begun) gathered.push(bytes, LF);
    }
    size += bytes.length + 1;
    if (size < PART_BYTES) continue;
    yield Buffer.concat(gathered);
    gathered = [];
    size = 0;
  }
  yield Buffer.concat(gathered);
}

interface VisitedLine {
  readonly bytes: Uint8Array;
  /** When it was written; null: it is not the line that was wanted. */
  readonly writtenAt: Instant | null;
}

const MAX_VAIN_READS = 3;

/** Forwards from file to file, and through the journal where the record's own files end. */
class ForwardReader {
  readonly #source: AuditLogSource;
  #locator: AuditLineLocator;
  /** The last journal line that was passed. */
  #lastJournalSeq = 0;
  nextSeq: number;

  constructor(record: AuditLogSource, since: Instant | null) {
    this.#source = record;
    this.#locator = new AuditLineLocator(record);
    const { auditFiles } = this.#locator;
    const month = since === null ? "" : monthOf(since);
    const first = auditFiles.find(({ name }) => name >= month) ?? auditFiles.at(-1);
    this.nextSeq = first?.firstSeq ?? 1;
  }

  *readLines(): Generator<VisitedLine> {
    for (let vain = 0; this.nextSeq <= this.#source.lastSeq;) {
      const gap = findGap(this.#source.gaps, this.nextSeq);
      if (gap !== null) {
        this.nextSeq = gap.to + 1;
        continue;
      }
      const before = `${this.nextSeq} ${this.#lastJournalSeq}`;
      yield* this.#readFile();
      vain = `${this.nextSeq} ${this.#lastJournalSeq}` === before ? vain + 1 : 0;
      // The folder moves on while it is read; what is really wrong is wrong every time.
      if (vain === MAX_VAIN_READS) throw new AuditLineDamaged(this.nextSeq);
      this.#locator = new AuditLineLocator(this.#source);
    }
  }

  /** What one file has of it. */
  *#readFile(): Generator<VisitedLine> {
    const { disk, lastSeq, gaps } = this.#source;
    const { path, from, end } = this.#locateNext();
    for (const { bytes, whole } of readLinesForward(disk, path, from, end)) {
      const start = whole ? parseLinePrefix(bytes) : null;
      if (start === null || (start.auditSeq ?? 0) > this.nextSeq) return;
      this.#lastJournalSeq = start.seq;
      const isWanted = start.auditSeq === this.nextSeq;
      if (isWanted) this.nextSeq += 1;
      yield { bytes, writtenAt: isWanted ? start.at : null };
      if (this.nextSeq > lastSeq || (isWanted && findGap(gaps, this.nextSeq) !== null)) return;
    }
  }

  #locateNext(): { readonly path: string; readonly from: number; readonly end: number } {
    const { disk } = this.#source;
    const held = this.#locator.findInAuditFiles(this.nextSeq);
    if (held !== null) {
      const { path } = held.file;
      const isBefore = ({ auditSeq }: LinePrefix): boolean => (auditSeq ?? 0) < this.nextSeq;
      const end = this.#locator.findEndOfFile(held.file);
      return { path, from: findEndOfMatches(disk, path, held.end, isBefore), end };
    }
    const segment = this.#locator.findSegmentAfter(this.#lastJournalSeq);
    if (segment === null) throw new AuditLineDamaged(this.nextSeq);
    const { path } = segment;
    const end = this.#locator.getSize(segment);
    const isPassed = ({ seq }: LinePrefix): boolean => seq <= this.#lastJournalSeq;
    return { path, from: findEndOfMatches(disk, path, end, isPassed), end };
  }
}
