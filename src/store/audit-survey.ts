import { join } from "node:path";
import { findGap, skipGaps } from "../domain/audit-gaps.ts";
import type { AuditGap } from "../domain/state.ts";
import type { Instant } from "../domain/time.ts";
import type { Disk } from "../platform/disk.ts";
import { HISTORY } from "./files.ts";
import { decodeLine, type Line } from "./journal.ts";
import { linesFrom } from "./lines.ts";
import { recordNames } from "./record.ts";
import type { Snapshot } from "./snapshot.ts";

/** Bytes of a file that are a run of lines of the chain. */
export interface Piece {
  readonly offset: number;
  readonly end: number;
  /** The first and the last line, by their numbers in the audit log. */
  readonly first: number;
  readonly last: number;
}

export interface SurveyedFile {
  readonly name: string;
  readonly path: string;
  readonly pieces: Piece[];
  /** It holds bytes that do not belong to the chain. */
  isUnclean: boolean;
}

/** Lines that should be there and are not, and between which two they should stand. */
export interface MissingLines {
  readonly from: number;
  readonly to: number;
  readonly before: string;
  readonly after: string;
  readonly earliest: Instant | null;
  readonly latest: Instant | null;
  /** The files they stood in, as far as that can be told. */
  readonly files: readonly string[];
}

export interface AuditSurvey {
  /** In the order of their lines. */
  readonly files: readonly SurveyedFile[];
  /** Files in which no line can be read. */
  readonly unreadable: readonly string[];
  readonly missing: readonly MissingLines[];
  readonly lines: number;
}

/** Between two of these, others get their turn. */
const SLICE = 128 * 1024;

/**
 * Reads all of the audit log and, other than `walkRecord`, does not stop at what is wrong: it goes
 * on with the next line that can be one. Yields now and then, for those who do it beside a server.
 */
export function* surveyAudit(
  disk: Disk,
  folder: string,
  audit: Snapshot["audit"],
  gaps: readonly AuditGap[],
  each: (seq: number, sum: string) => void = () => {},
): Generator<void, AuditSurvey> {
  const { files, unreadable } = yield* filesByFirstLine(disk, folder, audit);
  const chain = new Chain(audit, gaps, each);
  let spent = 0;
  for (const file of files) {
    for (const { bytes, offset, whole } of linesFrom(disk, file.path, 0, Infinity)) {
      spent += bytes.length + 1;
      if (spent >= SLICE) {
        spent = 0;
        yield;
      }
      chain.add(file, whole ? decodeLine(bytes) : null, offset, offset + bytes.length + 1);
    }
  }
  const missing = chain.finish();
  const isWhole = missing.length === 0;
  // What nobody can read matters only where something is missing; else a fold left it there.
  const suspects = isWhole ? [] : unreadable;
  return {
    files,
    unreadable: suspects,
    missing: merged(missing).map(({ between: [first, last], ...lines }) => {
      const unclean = files.slice(first, last + 1).filter(({ isUnclean }) => isUnclean);
      return { ...lines, files: [...unclean.map(({ name }) => name), ...suspects] };
    }),
    lines: chain.lines,
  };
}

interface Found extends Omit<MissingLines, "files"> {
  /** The places of the files it lies in and between. */
  readonly between: readonly [first: number, last: number];
}

/** The chain as far as it was followed, and what was missing on the way. */
class Chain {
  readonly #audit: Snapshot["audit"];
  readonly #gaps: readonly AuditGap[];
  readonly #each: (seq: number, sum: string) => void;
  readonly #missing: Found[] = [];
  readonly #files: SurveyedFile[] = [];
  #seq: number;
  #sum: string;
  /** The last line that was taken; null: none yet. */
  #last: { readonly line: Line; readonly offset: number } | null = null;
  lines = 0;

  constructor(
    audit: Snapshot["audit"],
    gaps: readonly AuditGap[],
    each: (seq: number, sum: string) => void,
  ) {
    this.#audit = audit;
    this.#gaps = gaps;
    this.#each = each;
    ({ seq: this.#seq, sum: this.#sum } = audit.anchor);
    if (this.#seq > 0) each(this.#seq, this.#sum);
  }

  add(file: SurveyedFile, line: Line | null, offset: number, end: number): void {
    if (this.#files.at(-1) !== file) this.#files.push(file);
    this.#pass();
    const seq = line?.audit_seq;
    const isAtEnd = this.#seq >= this.#audit.seq;
    // Behind the end lies what an unfinished fold left.
    if (isAtEnd && file.name === this.#audit.file && offset >= this.#audit.length) return;
    // One that is there twice, or of a later time, or declared as gone and there all the same.
    if (line === null || seq === undefined || seq <= this.#seq || seq > this.#audit.seq) {
      file.isUnclean ||= seq === undefined || findGap(this.#gaps, seq) === null;
      return;
    }
    const isNext = seq === this.#seq + 1;
    if (isNext && line.audit_prev !== this.#sum) {
      // What the chain says of the line before is what was written then: that one is another.
      if (this.#last?.line.audit_seq !== this.#seq) {
        file.isUnclean = true;
        return;
      }
      this.#takeBack(line.audit_prev ?? "", line.at);
    } else if (!isNext) {
      this.#miss(this.#seq + 1, seq - 1, this.#sum, line.audit_prev ?? "", line.at);
    }
    this.#take(file, line, offset, end);
  }

  finish(): Found[] {
    this.#pass();
    const { seq, sum } = this.#audit;
    if (this.#seq < seq) this.#miss(this.#seq + 1, seq, this.#sum, sum, null);
    else if (this.#seq === seq && this.#sum !== sum && this.#last?.line.audit_seq === seq) {
      this.#takeBack(sum, null);
    }
    return this.#missing;
  }

  #pass(): void {
    const behind = skipGaps(this.#gaps, { seq: this.#seq, sum: this.#sum });
    if (behind.seq === this.#seq) return;
    ({ seq: this.#seq, sum: this.#sum } = behind);
    this.#each(this.#seq, this.#sum);
  }

  #take({ pieces }: SurveyedFile, line: Line, offset: number, end: number): void {
    const seq = line.audit_seq ?? 0;
    const before = pieces.at(-1);
    if (before?.end === offset && before.last + 1 === seq) {
      pieces[pieces.length - 1] = { ...before, end, last: seq };
    } else pieces.push({ offset, end, first: seq, last: seq });
    this.#seq = seq;
    this.#sum = line.sum;
    this.#last = { line, offset };
    this.lines += 1;
    this.#each(seq, line.sum);
  }

  /** The last line that was taken is not the one that was written. */
  #takeBack(after: string, latest: Instant | null): void {
    const file = this.#files.findLast(({ pieces }) => pieces.length > 0);
    const piece = file?.pieces.pop();
    if (file === undefined || piece === undefined || this.#last === null) return;
    const { line, offset } = this.#last;
    file.isUnclean = true;
    if (piece.first < piece.last) {
      file.pieces.push({ ...piece, end: offset, last: piece.last - 1 });
    }
    this.lines -= 1;
    this.#last = null;
    this.#miss(piece.last, piece.last, line.audit_prev ?? "", after, latest);
  }

  #miss(from: number, to: number, before: string, after: string, latest: Instant | null): void {
    const earliest = this.#last?.line.at ?? null;
    const first = this.#files.findLastIndex(({ pieces }) => pieces.length > 0);
    const last = latest === null ? Infinity : this.#files.length - 1;
    this.#missing.push({
      from,
      to,
      before,
      after,
      earliest,
      latest,
      between: [Math.max(0, first), last],
    });
  }
}

/** Neighbours are one: what lies between two of them has no line to stand on. */
function merged(missing: readonly Found[]): Found[] {
  const all: Found[] = [];
  for (const one of missing) {
    const before = all.at(-1);
    if (before === undefined || before.to + 1 !== one.from) all.push(one);
    else {
      const { to, after, latest, between } = one;
      all[all.length - 1] = {
        ...before,
        to,
        after,
        latest,
        between: [before.between[0], between[1]],
      };
    }
  }
  return all;
}

interface Ordered {
  readonly files: readonly SurveyedFile[];
  readonly unreadable: readonly string[];
}

/** By the first line that can be read, which need not be the first there was. */
function* filesByFirstLine(
  disk: Disk,
  folder: string,
  { anchor, seq: end }: Snapshot["audit"],
): Generator<void, Ordered> {
  const files: { readonly first: number; readonly file: SurveyedFile }[] = [];
  const unreadable: string[] = [];
  for (const name of recordNames(disk, folder).toSorted()) {
    const path = join(folder, HISTORY, name);
    let first: number | undefined;
    for (const { bytes, whole } of linesFrom(disk, path, 0, Infinity)) {
      first = whole ? decodeLine(bytes)?.audit_seq : undefined;
      if (first !== undefined) break;
      yield;
    }
    if (first === undefined) unreadable.push(name);
    else if (first > anchor.seq && first <= end) {
      files.push({ first, file: { name, path, pieces: [], isUnclean: false } });
    }
  }
  return { files: files.toSorted((a, b) => a.first - b.first).map(({ file }) => file), unreadable };
}
