import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import { STATE_FILE } from "./files.ts";
import { decodeLine, parseLinePrefix } from "./journal.ts";
import { readLinesBackward, readLinesForward } from "./line-reader.ts";
import { listAuditFiles } from "./audit/audit-log.ts";
import type { Snapshot } from "./snapshot.ts";

type AuditEnd = Pick<Snapshot["audit"], "seq" | "file" | "length">;

/** What a checkpoint that failed knows of its own work. */
interface FailedCheckpoint {
  /** Where the audit log ended before. */
  readonly auditEnd: AuditEnd;
  /** The files of it that were begun, or written on. */
  readonly writtenFiles: ReadonlySet<string>;
}

/**
 * Gives back the room of a checkpoint that did not finish: its new state, and what it added to the
 * audit log behind the end that the state in place knows. `newest` is the last audited line that
 * the journal has: what is newer could not be written again, and stays. Never fails, because only
 * room is at stake.
 */
export function removeUnfinishedCheckpoint(
  disk: Disk,
  folder: string,
  newest: number,
  failed: FailedCheckpoint | null = null,
): void {
  try {
    const fresh = join(folder, `${STATE_FILE}.new`);
    if (disk.stat(fresh) !== null) disk.remove(fresh);
    const end = readAuditEnd(disk, folder);
    if (end === null) return;
    // It may have failed after its state was put in place: then all of it counts.
    const written =
      failed !== null && isSameEnd(failed.auditEnd, end) ? failed.writtenFiles : NO_FILES;
    for (const { name, path } of listAuditFiles(disk, folder)) {
      const isOurs = written.has(name);
      if (name === end.file) {
        if (isOurs || isContinued(disk, path, end, newest)) cutBehindEnd(disk, path, end);
      } else if (isOurs || isBehindEnd(disk, path, end, newest)) disk.remove(path);
    }
  } catch {
    // The next checkpoint, or the next start, tries again.
  }
}

const NO_FILES: ReadonlySet<string> = new Set();

const isSameEnd = (one: AuditEnd, other: AuditEnd): boolean =>
  one.seq === other.seq && one.file === other.file && one.length === other.length;

/** More than everything that stands in the file before its rows. */
const STATE_HEAD_BYTES = 64 * 1024;
const AUDIT_ROW = /^"audit":(\{.*\}),$/m;

/** As the state in place says, without reading all of it; what is cut is compared with it. */
function readAuditEnd(disk: Disk, folder: string): AuditEnd | null {
  const bytes = disk.readPart(join(folder, STATE_FILE), 0, STATE_HEAD_BYTES) ?? new Uint8Array();
  const found = AUDIT_ROW.exec(new TextDecoder().decode(bytes))?.[1];
  return found === undefined ? null : (JSON.parse(found) as AuditEnd);
}

const LF = 10;

/** The next line of the audit log follows, and the journal has all that does. */
function isContinued(disk: Disk, path: string, { seq, length }: AuditEnd, newest: number): boolean {
  const next = parseLinePrefix(
    disk.readPart(path, length, LINE_PREFIX_BYTES) ?? new Uint8Array(),
  )?.auditSeq;
  const last = findLastSeq(disk, path, disk.stat(path)?.size ?? 0);
  return next === seq + 1 && (last ?? Infinity) <= newest;
}

const LINE_PREFIX_BYTES = 128;

/** Only where the last line that counts ends exactly there. */
function cutBehindEnd(disk: Disk, path: string, { seq, length }: AuditEnd): void {
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
 * A file in which every line is newer than the state. The first line must be as it was written: a
 * changed digit of its number could make an older file look newer.
 */
function isBehindEnd(disk: Disk, path: string, { seq }: AuditEnd, newest: number): boolean {
  const [line] = readLinesForward(disk, path, 0, Infinity).take(1);
  if (line === undefined || (line.whole && decodeLine(line.bytes) === null)) return false;
  const first = parseLinePrefix(line.bytes)?.auditSeq ?? 0;
  const last = findLastSeq(disk, path, disk.stat(path)?.size ?? 0) ?? first;
  return first > seq && last <= newest;
}

/** Of the last whole line before `end`. */
function findLastSeq(disk: Disk, path: string, end: number): number | null {
  const { value } = readLinesBackward(disk, path, end).next();
  return value instanceof Uint8Array ? (parseLinePrefix(value)?.auditSeq ?? null) : null;
}
