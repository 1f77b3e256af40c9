import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { STATE_FILE } from "../folder/files.ts";
import { decodeLine, parseLinePrefix } from "../journal/journal.ts";
import { readLinesBackward, readLinesForward } from "../journal/line-reader.ts";
import { listAuditFiles } from "../audit/audit-log.ts";
import type { Snapshot } from "../state/snapshot.ts";

type AuditEnd = Pick<Snapshot["audit"], "seq" | "file" | "length">;

/** What a failed checkpoint knows of its own work. */
interface FailedCheckpoint {
  /** The end of the audit log before the checkpoint. */
  readonly auditEnd: AuditEnd;
  /** The audit files that it created or continued. */
  readonly writtenFiles: ReadonlySet<string>;
}

/**
 * Removes what an unfinished checkpoint left: its new state, and its additions to the audit log
 * after the end that the current state records. `newest` is the last audited line in the journal:
 * newer lines could not be written again, and stay. Never fails, because only disk space is at
 * stake.
 */
export function removeUnfinishedCheckpoint(
  disk: Disk,
  folder: string,
  newest: number,
  failed: FailedCheckpoint | null = null,
): void {
  try {
    const newStatePath = join(folder, `${STATE_FILE}.new`);
    if (disk.stat(newStatePath) !== null) disk.remove(newStatePath);
    const end = readAuditEnd(disk, folder);
    if (end === null) return;
    // It may have failed after its state took effect: then all of it is valid.
    const writtenFiles =
      failed !== null && isSameEnd(failed.auditEnd, end) ? failed.writtenFiles : NO_FILES;
    for (const { name, path } of listAuditFiles(disk, folder)) {
      const isWritten = writtenFiles.has(name);
      if (name === end.file) {
        if (isWritten || isContinued(disk, path, end, newest)) cutAfterEnd(disk, path, end);
      } else if (isWritten || isAfterEnd(disk, path, end, newest)) disk.remove(path);
    }
  } catch {
    // The next checkpoint, or the next start, tries again.
  }
}

const NO_FILES: ReadonlySet<string> = new Set();

const isSameEnd = (a: AuditEnd, b: AuditEnd): boolean =>
  a.seq === b.seq && a.file === b.file && a.length === b.length;

/** Larger than everything in the file before its rows. */
const STATE_HEAD_BYTES = 64 * 1024;
const AUDIT_ROW = /^"audit":(\{.*\}),$/m;

/**
 * The end of the audit log according to the current state, without reading all of it. What is cut
 * is compared with it.
 */
export function readAuditEnd(disk: Disk, folder: string): AuditEnd | null {
  const bytes = disk.readPart(join(folder, STATE_FILE), 0, STATE_HEAD_BYTES) ?? new Uint8Array();
  const match = AUDIT_ROW.exec(new TextDecoder().decode(bytes))?.[1];
  return match === undefined ? null : (JSON.parse(match) as AuditEnd);
}

const LF = 10;

/**
 * Whether the next line of the audit log follows the end, and the journal contains all lines after
 * it.
 */
function isContinued(disk: Disk, path: string, { seq, length }: AuditEnd, newest: number): boolean {
  const next = parseLinePrefix(
    disk.readPart(path, length, LINE_PREFIX_BYTES) ?? new Uint8Array(),
  )?.auditSeq;
  const last = findLastSeq(disk, path, disk.stat(path)?.size ?? 0);
  return next === seq + 1 && (last ?? Infinity) <= newest;
}

const LINE_PREFIX_BYTES = 128;

/** Cuts only if the last valid line ends exactly at that length. */
function cutAfterEnd(disk: Disk, path: string, { seq, length }: AuditEnd): void {
  const size = disk.stat(path)?.size ?? 0;
  if (size <= length || disk.readPart(path, length - 1, 1)?.[0] !== LF) return;
  if (findLastSeq(disk, path, length) !== seq) return;
  const file = disk.open(path);
  try {
    file.truncate(length);
  } finally {
    file.close();
  }
}

/**
 * Whether every line of the file is newer than the state. The first line must be undamaged: a
 * changed digit of its number could make an older file look newer.
 */
function isAfterEnd(disk: Disk, path: string, { seq }: AuditEnd, newest: number): boolean {
  const [line] = readLinesForward(disk, path, 0, Infinity).take(1);
  if (line === undefined || (line.isComplete && decodeLine(line.bytes) === null)) return false;
  const first = parseLinePrefix(line.bytes)?.auditSeq ?? 0;
  const last = findLastSeq(disk, path, disk.stat(path)?.size ?? 0) ?? first;
  return first > seq && last <= newest;
}

/** The number of the last complete line before `end`. */
function findLastSeq(disk: Disk, path: string, end: number): number | null {
  const { value } = readLinesBackward(disk, path, end).next();
  return value instanceof Uint8Array ? (parseLinePrefix(value)?.auditSeq ?? null) : null;
}
