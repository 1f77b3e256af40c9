import { findGap, skipGaps, type AuditPosition } from "../../domain/audit-gaps.ts";
import type { AuditGap } from "../../domain/state.ts";
import type { Disk } from "../../platform/disk.ts";
import type { NewGap } from "./new-gaps.ts";
import { decodeLine, type JournalLine } from "../journal.ts";
import { readLinesBackward, readLinesForward } from "../line-reader.ts";
import { isAfterAnchor, listAuditFiles, type AuditFile } from "./audit-log.ts";
import type { Snapshot } from "../snapshot.ts";

/** One month of the audit log, read from end to end. */
export interface AuditMonth {
  /** What has to be declared before its lines can go; nothing where that was done before. */
  readonly gaps: readonly NewGap[];
  /** The files that hold its lines and nothing else. */
  readonly files: readonly {
    readonly name: string;
    readonly path: string;
    readonly bytes: number;
  }[];
  /** A file of it that is not what was written, or does not fit to those beside it; null: none. */
  readonly damagedFile: string | null;
}

const SLICE_BYTES = 128 * 1024;
const LF = Buffer.from("\n");

/** Follows the files of a month from line to line, and to their neighbours on both sides. */
export function* readAuditMonth(
  disk: Disk,
  folder: string,
  audit: Snapshot["audit"],
  gaps: readonly AuditGap[],
  month: string,
): Generator<void, AuditMonth> {
  const all = listAuditFiles(disk, folder).filter(isAfterAnchor(audit.anchor));
  const found: { gaps: NewGap[]; files: AuditMonth["files"][number][] } = {
    gaps: [],
    files: [],
  };
  for (const [place, file] of all.entries()) {
    // One that begins behind the end is what an unfinished fold left.
    if (!file.name.startsWith(`${month}.`) && !file.name.startsWith(`${month}-`)) continue;
    if (file.firstSeq > audit.seq && !(file.firstSeq === Infinity && hasCompleteLine(disk, file)))
      continue;
    const start = findPositionBefore(disk, all[place - 1], audit, gaps, file.firstSeq);
    const read = yield* readAuditFile(disk, file, audit, gaps, start);
    const { name, path } = file;
    if (read === null) return { ...found, damagedFile: name };
    const { lines, bytes, sha256 } = read;
    found.files.push({ name, path, bytes });
    if (lines === null) continue;
    if (!isContinued(disk, all[place + 1], audit, gaps, lines.end)) {
      return { ...found, damagedFile: name };
    }
    const { first, last, end } = lines;
    found.gaps.push({
      reason: "sealed",
      from: first.audit_seq ?? 0,
      to: end.seq,
      before: first.audit_prev ?? "",
      after: end.sum,
      earliest: first.at,
      latest: last.at,
      files: [{ name, bytes, sha256 }],
    });
  }
  return { ...found, damagedFile: null };
}

interface AuditFileContents {
  readonly bytes: number;
  readonly sha256: string;
  /** Null: every line of it was declared as gone before. */
  readonly lines: {
    readonly first: JournalLine;
    readonly last: JournalLine;
    /** Behind the last one. */
    readonly end: AuditPosition;
  } | null;
}

/** Null: it is not what was written. */
function* readAuditFile(
  disk: Disk,
  file: AuditFile,
  audit: Snapshot["audit"],
  gaps: readonly AuditGap[],
  start: AuditPosition | null,
): Generator<void, AuditFileContents | null> {
  const hash = new Bun.CryptoHasher("sha256");
  if (start === null) return null;
  let here: AuditPosition = start;
  let [first, last]: [JournalLine | null, JournalLine | null] = [null, null];
  let [bytes, spent] = [0, 0];
  const end = file.name === audit.file ? audit.length : Infinity;
  for (const { bytes: raw, whole } of readLinesForward(disk, file.path, 0, end)) {
    const line = whole ? decodeLine(raw) : null;
    const seq = line?.audit_seq;
    hash.update(raw);
    hash.update(LF);
    bytes += raw.length + 1;
    spent += raw.length + 1;
    if (spent >= SLICE_BYTES) {
      spent = 0;
      yield;
    }
    here = skipGaps(gaps, here);
    if (line === null || seq === undefined) return null;
    if (seq <= here.seq && findGap(gaps, seq) !== null) continue;
    if (seq !== here.seq + 1 || line.audit_prev !== here.sum) return null;
    here = { seq, sum: line.sum };
    first ??= line;
    last = line;
  }
  const sha256 = hash.digest("hex");
  if (first === null || last === null) return { bytes, sha256, lines: null };
  return { bytes, sha256, lines: { first, last, end: here } };
}

/** Behind the line before a file's first; null: that line cannot be read. */
function findPositionBefore(
  disk: Disk,
  before: AuditFile | undefined,
  audit: Snapshot["audit"],
  gaps: readonly AuditGap[],
  first: number,
): AuditPosition | null {
  if (first === Infinity) return null;
  const gap = findGap(gaps, first - 1) ?? findGap(gaps, first);
  if (gap !== null) {
    const isBehind = gap.to < first;
    return isBehind ? { seq: gap.to, sum: gap.after } : { seq: gap.from - 1, sum: gap.before };
  }
  if (audit.anchor.seq === first - 1) return audit.anchor;
  if (before === undefined) return null;
  const size = disk.stat(before.path)?.size ?? 0;
  const { value } = readLinesBackward(disk, before.path, size).next();
  const line = value instanceof Uint8Array ? decodeLine(new Uint8Array(value)) : null;
  return line?.audit_seq === first - 1 ? { seq: first - 1, sum: line.sum } : null;
}

/** Does what is behind the last line of a file point back to it? */
function isContinued(
  disk: Disk,
  next: AuditFile | undefined,
  audit: Snapshot["audit"],
  gaps: readonly AuditGap[],
  end: AuditPosition,
): boolean {
  if (end.seq >= audit.seq) return end.seq > audit.seq || end.sum === audit.sum;
  const gap = findGap(gaps, end.seq + 1);
  if (gap !== null) return gap.before === end.sum;
  const [line] = next === undefined ? [] : readLinesForward(disk, next.path, 0, Infinity).take(1);
  const read = line?.whole === true ? decodeLine(line.bytes) : null;
  return read?.audit_seq === end.seq + 1 && read.audit_prev === end.sum;
}

const hasCompleteLine = (disk: Disk, { path }: AuditFile): boolean =>
  readLinesForward(disk, path, 0, Infinity).some(({ whole }) => whole);
