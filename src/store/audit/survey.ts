import { join } from "node:path";
import { findGap, skipGaps } from "../../domain/audit/audit-gaps.ts";
import type { AuditGap } from "../../domain/model/state.ts";
import type { Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { AUDIT_FOLDER } from "../folder/files.ts";
import { decodeLine, type JournalLine } from "../journal/journal.ts";
import { readLinesForward } from "../journal/line-reader.ts";
import { listAuditFileNames } from "./audit-log.ts";
import type { Snapshot } from "../state/snapshot.ts";

/** A byte range of a file that contains consecutive lines of the chain. */
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
  /** It contains bytes that do not belong to the chain. */
  hasForeignBytes: boolean;
}

/** A range of missing lines, and the sums at its two ends. */
export interface MissingLines {
  readonly from: number;
  readonly to: number;
  readonly before: string;
  readonly after: string;
  readonly earliest: Instant | null;
  readonly latest: Instant | null;
  /** The files that contained them, as far as that is known. */
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

/** After so many bytes, waiting requests are served. */
const SLICE_BYTES = 128 * 1024;

/**
 * Reads the whole audit log. Unlike `verifyAuditChain`, it does not stop at damage: it continues
 * with the next readable line. Yields now and then, so that a server can serve requests.
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
  let bytesSinceYield = 0;
  for (const file of files) {
    for (const { bytes, offset, isComplete } of readLinesForward(disk, file.path, 0, Infinity)) {
      bytesSinceYield += bytes.length + 1;
      if (bytesSinceYield >= SLICE_BYTES) {
        bytesSinceYield = 0;
        yield;
      }
      chain.add(file, isComplete ? decodeLine(bytes) : null, offset, offset + bytes.length + 1);
    }
  }
  const missing = chain.finish();
  const isIntact = missing.length === 0;
  // Unreadable files matter only if lines are missing; else an unfinished checkpoint left them.
  const suspects = isIntact ? [] : unreadableFiles;
  return {
    files,
    unreadableFiles: suspects,
    missing: mergeAdjacent(missing).map(({ fileRange: [first, last], ...lines }) => {
      const filesWithForeignBytes = files
        .slice(first, last + 1)
        .filter(({ hasForeignBytes }) => hasForeignBytes);
      return { ...lines, files: [...filesWithForeignBytes.map(({ name }) => name), ...suspects] };
    }),
    lineCount: chain.lineCount,
  };
}

interface MissingRun extends Omit<MissingLines, "files"> {
  /** The indexes of the first and last file it can belong to. */
  readonly fileRange: readonly [first: number, last: number];
}

/** Follows the chain, and collects the missing lines. */
class ChainFollower {
  readonly #audit: Snapshot["audit"];
  readonly #gaps: readonly AuditGap[];
  readonly #onLine: (seq: number, sum: string) => void;
  readonly #missing: MissingRun[] = [];
  readonly #files: SurveyedFile[] = [];
  #seq: number;
  #sum: string;
  /** The last accepted line; null: none yet. */
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
    // Bytes after the end are left from an unfinished checkpoint.
    if (isAtEnd && file.name === this.#audit.file && offset >= this.#audit.length) return;
    // A duplicate, a line after the end, or a line that was declared missing but still exists.
    if (line === null || seq === undefined || seq <= this.#seq || seq > this.#audit.seq) {
      file.hasForeignBytes ||= seq === undefined || findGap(this.#gaps, seq) === null;
      return;
    }
    const isNext = seq === this.#seq + 1;
    if (isNext && line.audit_prev !== this.#sum) {
      // The sum in this line is what was written then, so the previous line is not the original.
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
    const position = skipGaps(this.#gaps, { seq: this.#seq, sum: this.#sum });
    if (position.seq === this.#seq) return;
    ({ seq: this.#seq, sum: this.#sum } = position);
    this.#onLine(this.#seq, this.#sum);
  }

  #acceptLine({ runs }: SurveyedFile, line: JournalLine, offset: number, end: number): void {
    const seq = line.audit_seq ?? 0;
    const lastRun = runs.at(-1);
    if (lastRun?.end === offset && lastRun.lastSeq + 1 === seq) {
      runs[runs.length - 1] = { ...lastRun, end, lastSeq: seq };
    } else runs.push({ offset, end, firstSeq: seq, lastSeq: seq });
    this.#seq = seq;
    this.#sum = line.sum;
    this.#lastLine = { line, offset };
    this.lineCount += 1;
    this.#onLine(seq, line.sum);
  }

  /** The last accepted line is not the original. */
  #rejectLastLine(after: string, latest: Instant | null): void {
    const file = this.#files.findLast(({ runs }) => runs.length > 0);
    const run = file?.runs.pop();
    if (file === undefined || run === undefined || this.#lastLine === null) return;
    const { line, offset } = this.#lastLine;
    file.hasForeignBytes = true;
    if (run.firstSeq < run.lastSeq) {
      file.runs.push({ ...run, end: offset, lastSeq: run.lastSeq - 1 });
    }
    this.lineCount -= 1;
    this.#lastLine = null;
    this.#addMissing(run.lastSeq, run.lastSeq, line.audit_prev ?? "", after, latest);
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

/** Merges adjacent ranges: no line lies between them. */
function mergeAdjacent(missing: readonly MissingRun[]): MissingRun[] {
  const merged: MissingRun[] = [];
  for (const range of missing) {
    const previous = merged.at(-1);
    if (previous === undefined || previous.to + 1 !== range.from) merged.push(range);
    else {
      const { to, after, latest, fileRange } = range;
      merged[merged.length - 1] = {
        ...previous,
        to,
        after,
        latest,
        fileRange: [previous.fileRange[0], fileRange[1]],
      };
    }
  }
  return merged;
}

/** Sorted by the first readable line, which need not be the first line of the file. */
function* sortFilesByFirstLine(
  disk: Disk,
  folder: string,
  { anchor, seq: end }: Snapshot["audit"],
): Generator<void, Pick<AuditSurvey, "files" | "unreadableFiles">> {
  const files: { readonly first: number; readonly file: SurveyedFile }[] = [];
  const unreadable: string[] = [];
  for (const name of listAuditFileNames(disk, folder).toSorted()) {
    const path = join(folder, AUDIT_FOLDER, name);
    let first: number | undefined;
    for (const { bytes, isComplete } of readLinesForward(disk, path, 0, Infinity)) {
      first = isComplete ? decodeLine(bytes)?.audit_seq : undefined;
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
