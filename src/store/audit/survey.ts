import { join } from "node:path";
import { findGap, skipGaps } from "../../domain/audit-gaps.ts";
import type { AuditGap } from "../../domain/state.ts";
import type { Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/disk.ts";
import { AUDIT_FOLDER } from "../files.ts";
import { decodeLine, type JournalLine } from "../journal.ts";
import { readLinesForward } from "../line-reader.ts";
import { listAuditFileNames } from "./audit-log.ts";
import type { Snapshot } from "../snapshot.ts";

/** Bytes of a file that are a run of lines of the chain. */
export interface LineRun {
  readonly offset: number;
  readonly end: number;
  /** The first and the last line, by their numbers in the audit log. */
  readonly firstSeq: number;
  readonly lastSeq: number;
}

export interface SurveyedFile {
  readonly name: string;
  readonly path: string;
  readonly runs: LineRun[];
  /** It holds bytes that do not belong to the chain. */
  hasForeignBytes: boolean;
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
  readonly unreadableFiles: readonly string[];
  readonly missing: readonly MissingLines[];
  readonly lineCount: number;
}

/** Between two of these, others get their turn. */
const SLICE_BYTES = 128 * 1024;

/**
 * Reads all of the audit log and, other than `walkRecord`, does not stop at what is wrong: it goes
 * on with the next line that can be one. Yields now and then, for those who do it beside a server.
 */
export function* surveyAuditLog(
  disk: Disk,
  folder: string,
  audit: Snapshot["audit"],
  gaps: readonly AuditGap[],
  each: (seq: number, sum: string) => void = () => {},
): Generator<void, AuditSurvey> {
  const { files, unreadableFiles } = yield* sortFilesByFirstLine(disk, folder, audit);
  const chain = new ChainFollower(audit, gaps, each);
  let spent = 0;
  for (const file of files) {
    for (const { bytes, offset, whole } of readLinesForward(disk, file.path, 0, Infinity)) {
      spent += bytes.length + 1;
      if (spent >= SLICE_BYTES) {
        spent = 0;
        yield;
      }
      chain.add(file, whole ? decodeLine(bytes) : null, offset, offset + bytes.length + 1);
    }
  }
  const missing = chain.finish();
  const isWhole = missing.length === 0;
  // What nobody can read matters only where something is missing; else a fold left it there.
  const suspects = isWhole ? [] : unreadableFiles;
  return {
    files,
    unreadableFiles: suspects,
    missing: mergeAdjacent(missing).map(({ fileRange: [first, last], ...lines }) => {
      const unclean = files.slice(first, last + 1).filter(({ hasForeignBytes }) => hasForeignBytes);
      return { ...lines, files: [...unclean.map(({ name }) => name), ...suspects] };
    }),
    lineCount: chain.lineCount,
  };
}

interface MissingRun extends Omit<MissingLines, "files"> {
  /** The places of the files it lies in and between. */
  readonly fileRange: readonly [first: number, last: number];
}

/** The chain as far as it was followed, and what was missing on the way. */
class ChainFollower {
  readonly #audit: Snapshot["audit"];
  readonly #gaps: readonly AuditGap[];
  readonly #onLine: (seq: number, sum: string) => void;
  readonly #missing: MissingRun[] = [];
  readonly #files: SurveyedFile[] = [];
  #seq: number;
  #sum: string;
  /** The last line that was taken; null: none yet. */
  #lastLine: { readonly line: JournalLine; readonly offset: number } | null = null;
  lineCount = 0;

  constructor(
    audit: Snapshot["audit"],
    gaps: readonly AuditGap[],
    each: (seq: number, sum: string) => void,
  ) {
    this.#audit = audit;
    this.#gaps = gaps;
    this.#onLine = each;
    ({ seq: this.#seq, sum: this.#sum } = audit.anchor);
    if (this.#seq > 0) each(this.#seq, this.#sum);
  }

  add(file: SurveyedFile, line: JournalLine | null, offset: number, end: number): void {
    if (this.#files.at(-1) !== file) this.#files.push(file);
    this.#skipGaps();
    const seq = line?.audit_seq;
    const isAtEnd = this.#seq >= this.#audit.seq;
    // Behind the end lies what an unfinished fold left.
    if (isAtEnd && file.name === this.#audit.file && offset >= this.#audit.length) return;
    // One that is there twice, or of a later time, or declared as gone and there all the same.
    if (line === null || seq === undefined || seq <= this.#seq || seq > this.#audit.seq) {
      file.hasForeignBytes ||= seq === undefined || findGap(this.#gaps, seq) === null;
      return;
    }
    const isNext = seq === this.#seq + 1;
    if (isNext && line.audit_prev !== this.#sum) {
      // What the chain says of the line before is what was written then: that one is another.
      if (this.#lastLine?.line.audit_seq !== this.#seq) {
        file.hasForeignBytes = true;
        return;
      }
      this.#rejectLastLine(line.audit_prev ?? "", line.at);
    } else if (!isNext) {
      this.#addMissing(this.#seq + 1, seq - 1, this.#sum, line.audit_prev ?? "", line.at);
    }
    this.#acceptLine(file, line, offset, end);
  }

  finish(): MissingRun[] {
    this.#skipGaps();
    const { seq, sum } = this.#audit;
    if (this.#seq < seq) this.#addMissing(this.#seq + 1, seq, this.#sum, sum, null);
    else if (this.#seq === seq && this.#sum !== sum && this.#lastLine?.line.audit_seq === seq) {
      this.#rejectLastLine(sum, null);
    }
    return this.#missing;
  }

  #skipGaps(): void {
    const behind = skipGaps(this.#gaps, { seq: this.#seq, sum: this.#sum });
    if (behind.seq === this.#seq) return;
    ({ seq: this.#seq, sum: this.#sum } = behind);
    this.#onLine(this.#seq, this.#sum);
  }

  #acceptLine({ runs }: SurveyedFile, line: JournalLine, offset: number, end: number): void {
    const seq = line.audit_seq ?? 0;
    const before = runs.at(-1);
    if (before?.end === offset && before.lastSeq + 1 === seq) {
      runs[runs.length - 1] = { ...before, end, lastSeq: seq };
    } else runs.push({ offset, end, firstSeq: seq, lastSeq: seq });
    this.#seq = seq;
    this.#sum = line.sum;
    this.#lastLine = { line, offset };
    this.lineCount += 1;
    this.#onLine(seq, line.sum);
  }

  /** The last line that was taken is not the one that was written. */
  #rejectLastLine(after: string, latest: Instant | null): void {
    const file = this.#files.findLast(({ runs }) => runs.length > 0);
    const piece = file?.runs.pop();
    if (file === undefined || piece === undefined || this.#lastLine === null) return;
    const { line, offset } = this.#lastLine;
    file.hasForeignBytes = true;
    if (piece.firstSeq < piece.lastSeq) {
      file.runs.push({ ...piece, end: offset, lastSeq: piece.lastSeq - 1 });
    }
    this.lineCount -= 1;
    this.#lastLine = null;
    this.#addMissing(piece.lastSeq, piece.lastSeq, line.audit_prev ?? "", after, latest);
  }

  #addMissing(
    from: number,
    to: number,
    before: string,
    after: string,
    latest: Instant | null,
  ): void {
    const earliest = this.#lastLine?.line.at ?? null;
    const first = this.#files.findLastIndex(({ runs }) => runs.length > 0);
    const last = latest === null ? Infinity : this.#files.length - 1;
    this.#missing.push({
      from,
      to,
      before,
      after,
      earliest,
      latest,
      fileRange: [Math.max(0, first), last],
    });
  }
}

/** Neighbours are one: what lies between two of them has no line to stand on. */
function mergeAdjacent(missing: readonly MissingRun[]): MissingRun[] {
  const all: MissingRun[] = [];
  for (const one of missing) {
    const before = all.at(-1);
    if (before === undefined || before.to + 1 !== one.from) all.push(one);
    else {
      const { to, after, latest, fileRange } = one;
      all[all.length - 1] = {
        ...before,
        to,
        after,
        latest,
        fileRange: [before.fileRange[0], fileRange[1]],
      };
    }
  }
  return all;
}

interface OrderedFiles {
  readonly files: readonly SurveyedFile[];
  readonly unreadableFiles: readonly string[];
}

/** By the first line that can be read, which need not be the first there was. */
function* sortFilesByFirstLine(
  disk: Disk,
  folder: string,
  { anchor, seq: end }: Snapshot["audit"],
): Generator<void, OrderedFiles> {
  const files: { readonly first: number; readonly file: SurveyedFile }[] = [];
  const unreadable: string[] = [];
  for (const name of listAuditFileNames(disk, folder).toSorted()) {
    const path = join(folder, AUDIT_FOLDER, name);
    let first: number | undefined;
    for (const { bytes, whole } of readLinesForward(disk, path, 0, Infinity)) {
      first = whole ? decodeLine(bytes)?.audit_seq : undefined;
      if (first !== undefined) break;
      yield;
    }
    if (first === undefined) unreadable.push(name);
    else if (first > anchor.seq && first <= end) {
      files.push({ first, file: { name, path, runs: [], hasForeignBytes: false } });
    }
  }
  return {
    files: files.toSorted((a, b) => a.first - b.first).map(({ file }) => file),
    unreadableFiles: unreadable,
  };
}
