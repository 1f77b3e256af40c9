import { findGap, skipGaps, type AuditPosition } from "../../domain/audit/audit-gaps.ts";
import type { AuditGap } from "../../domain/model/state.ts";
import type { Disk } from "../../platform/files/disk.ts";
import type { NewGap } from "./new-gaps.ts";
import { decodeLine, type JournalLine } from "../journal/journal.ts";
import { readLinesBackward, readLinesForward } from "../journal/line-reader.ts";
import { isAfterAnchor, listAuditFiles, type AuditFile } from "./audit-log.ts";
import type { Snapshot } from "../state/snapshot.ts";

/** One month of the audit log, completely read. */
export interface AuditMonth {
  /** The gaps to declare before its lines can be removed; empty if that was done before. */
  readonly gaps: readonly NewGap[];
  /** The files that contain its lines and nothing else. */
  readonly files: readonly {
    readonly name: string;
    readonly path: string;
    readonly bytes: number;
  }[];
  /** A file of the month that is damaged or does not continue its neighbours; null: none. */
  readonly damagedFile: string | null;
}

const SLICE_BYTES = 128 * 1024;
const LF = Buffer.from("\n");

/** Checks the files of a month line by line, and against their neighbours on both sides. */
export function* readAuditMonth(
  disk: Disk,
  folder: string,
  audit: Snapshot["audit"],
  gaps: readonly AuditGap[],
  month: string,
): Generator<void, AuditMonth> {
  const files = listAuditFiles(disk, folder).filter(isAfterAnchor(audit.anchor));
  const result: { gaps: NewGap[]; files: AuditMonth["files"][number][] } = {
    gaps: [],
    files: [],
  };
  for (const [index, file] of files.entries()) {
    // A file that begins after the end is left from an unfinished checkpoint.
    if (!file.name.startsWith(`${month}.`) && !file.name.startsWith(`${month}-`)) continue;
    if (file.firstSeq > audit.seq && !(file.firstSeq === Infinity && hasCompleteLine(disk, file)))
      continue;
    const start = findPositionBefore(disk, files[index - 1], audit, gaps, file.firstSeq);
    const contents = yield* readAuditFile(disk, file, audit, gaps, start);
    const { name, path } = file;
    if (contents === null) return { ...result, damagedFile: name };
    const { lines, bytes, sha256 } = contents;
    result.files.push({ name, path, bytes });
    if (lines === null) continue;
    if (!isContinued(disk, files[index + 1], audit, gaps, lines.end)) {
      return { ...result, damagedFile: name };
    }
    const { first, last, end } = lines;
    result.gaps.push({
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
  return { ...result, damagedFile: null };
}

interface AuditFileContents {
  readonly bytes: number;
  readonly sha256: string;
  /** Null: all of its lines were already declared missing. */
  readonly lines: {
    readonly first: JournalLine;
    readonly last: JournalLine;
    /** The position after the last line. */
    readonly end: AuditPosition;
  } | null;
}

/** Null: the file is damaged. */
function* readAuditFile(
  disk: Disk,
  file: AuditFile,
  audit: Snapshot["audit"],
  gaps: readonly AuditGap[],
  start: AuditPosition | null,
): Generator<void, AuditFileContents | null> {
  const hash = new Bun.CryptoHasher("sha256");
  if (start === null) return null;
  let position: AuditPosition = start;
  let [first, last]: [JournalLine | null, JournalLine | null] = [null, null];
  let [bytes, bytesSinceYield] = [0, 0];
  const end = file.name === audit.file ? audit.length : Infinity;
  for (const { bytes: raw, isComplete } of readLinesForward(disk, file.path, 0, end)) {
    const line = isComplete ? decodeLine(raw) : null;
    const seq = line?.audit_seq;
    hash.update(raw);
    hash.update(LF);
    bytes += raw.length + 1;
    bytesSinceYield += raw.length + 1;
    if (bytesSinceYield >= SLICE_BYTES) {
      bytesSinceYield = 0;
      yield;
    }
    position = skipGaps(gaps, position);
    if (line === null || seq === undefined) return null;
    if (seq <= position.seq && findGap(gaps, seq) !== null) continue;
    if (seq !== position.seq + 1 || line.audit_prev !== position.sum) return null;
    position = { seq, sum: line.sum };
    first ??= line;
    last = line;
  }
  const sha256 = hash.digest("hex");
  if (first === null || last === null) return { bytes, sha256, lines: null };
  return { bytes, sha256, lines: { first, last, end: position } };
}

/** The position before a file's first line; null: the previous line cannot be read. */
function findPositionBefore(
  disk: Disk,
  previousFile: AuditFile | undefined,
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
  if (previousFile === undefined) return null;
  const size = disk.stat(previousFile.path)?.size ?? 0;
  const { value } = readLinesBackward(disk, previousFile.path, size).next();
  const line = value instanceof Uint8Array ? decodeLine(new Uint8Array(value)) : null;
  return line?.audit_seq === first - 1 ? { seq: first - 1, sum: line.sum } : null;
}

/** Whether the next line, gap or end continues the last line of a file. */
function isContinued(
  disk: Disk,
  nextFile: AuditFile | undefined,
  audit: Snapshot["audit"],
  gaps: readonly AuditGap[],
  end: AuditPosition,
): boolean {
  if (end.seq >= audit.seq) return end.seq > audit.seq || end.sum === audit.sum;
  const gap = findGap(gaps, end.seq + 1);
  if (gap !== null) return gap.before === end.sum;
  const [line] =
    nextFile === undefined ? [] : readLinesForward(disk, nextFile.path, 0, Infinity).take(1);
  const decoded = line?.isComplete === true ? decodeLine(line.bytes) : null;
  return decoded?.audit_seq === end.seq + 1 && decoded.audit_prev === end.sum;
}

const hasCompleteLine = (disk: Disk, { path }: AuditFile): boolean =>
  readLinesForward(disk, path, 0, Infinity).some(({ isComplete }) => isComplete);
