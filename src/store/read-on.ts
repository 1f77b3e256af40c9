import { findGap } from "../domain/audit-gaps.ts";
import type { Instant } from "../domain/time.ts";
import { startOf, type LineStart } from "./journal.ts";
import { linesFrom } from "./lines.ts";
import { monthOf } from "./record.ts";
import { RecordDamaged, RecordFiles, type RecordPlace } from "./record-files.ts";
import { endOfWanted } from "./seek.ts";

/** By when they were written; null: from the beginning, to the end. */
export interface Span {
  readonly since: Instant | null;
  readonly until: Instant | null;
}

const PART = 256 * 1024;
const LF = Buffer.from("\n");

/**
 * The lines of the record as they stand, oldest first, in parts of some size, which may be empty
 * where there was much to pass over: from the first line that was written at `since` or later to
 * the last one before any that was written after `until`. What comes out is a chain without gaps,
 * but for those that were declared; whether it is what was written is for `checkRecord` to say.
 */
export function* readOn(record: RecordPlace, { since, until }: Span): Generator<Buffer> {
  let begun = false;
  let gathered: Uint8Array[] = [];
  let size = 0;
  for (const { bytes, at } of new Walk(record, since).lines()) {
    if (at !== null) {
      begun ||= since === null || at >= since;
      if (begun && until !== null && at > until) break;
      if (begun) gathered.push(bytes, LF);
    }
    size += bytes.length + 1;
    if (size < PART) continue;
    yield Buffer.concat(gathered);
    gathered = [];
    size = 0;
  }
  yield Buffer.concat(gathered);
}

interface Passed {
  readonly bytes: Uint8Array;
  /** When it was written; null: it is not the line that was wanted. */
  readonly at: Instant | null;
}

const PATIENCE = 3;

/** Forwards from file to file, and through the journal where the record's own files end. */
class Walk {
  readonly #record: RecordPlace;
  #files: RecordFiles;
  /** The last journal line that was passed. */
  #seen = 0;
  wanted: number;

  constructor(record: RecordPlace, since: Instant | null) {
    this.#record = record;
    this.#files = new RecordFiles(record);
    const { history } = this.#files;
    const month = since === null ? "" : monthOf(since);
    const first = history.find(({ name }) => name >= month) ?? history.at(-1);
    this.wanted = first?.first ?? 1;
  }

  *lines(): Generator<Passed> {
    for (let vain = 0; this.wanted <= this.#record.last;) {
      const gap = findGap(this.#record.gaps, this.wanted);
      if (gap !== null) {
        this.wanted = gap.to + 1;
        continue;
      }
      const before = `${this.wanted} ${this.#seen}`;
      yield* this.#file();
      vain = `${this.wanted} ${this.#seen}` === before ? vain + 1 : 0;
      // The folder moves on while it is read; what is really wrong is wrong every time.
      if (vain === PATIENCE) throw new RecordDamaged(this.wanted);
      this.#files = new RecordFiles(this.#record);
    }
  }

  /** What one file has of it. */
  *#file(): Generator<Passed> {
    const { disk, last, gaps } = this.#record;
    const { path, from, end } = this.#place();
    for (const { bytes, whole } of linesFrom(disk, path, from, end)) {
      const start = whole ? startOf(bytes) : null;
      if (start === null || (start.auditSeq ?? 0) > this.wanted) return;
      this.#seen = start.seq;
      const isWanted = start.auditSeq === this.wanted;
      if (isWanted) this.wanted += 1;
      yield { bytes, at: isWanted ? start.at : null };
      if (this.wanted > last || (isWanted && findGap(gaps, this.wanted) !== null)) return;
    }
  }

  #place(): { readonly path: string; readonly from: number; readonly end: number } {
    const { disk } = this.#record;
    const held = this.#files.holding(this.wanted);
    if (held !== null) {
      const { path } = held.file;
      const isBefore = ({ auditSeq }: LineStart): boolean => (auditSeq ?? 0) < this.wanted;
      const end = this.#files.endOf(held.file);
      return { path, from: endOfWanted(disk, path, held.end, isBefore), end };
    }
    const segment = this.#files.segmentAfter(this.#seen);
    if (segment === null) throw new RecordDamaged(this.wanted);
    const { path } = segment;
    const end = this.#files.sizeOf(segment);
    const isPassed = ({ seq }: LineStart): boolean => seq <= this.#seen;
    return { path, from: endOfWanted(disk, path, end, isPassed), end };
  }
}
