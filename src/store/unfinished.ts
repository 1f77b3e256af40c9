import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import { STATE } from "./files.ts";
import { decodeLine, startOf } from "./journal.ts";
import { linesBefore, linesFrom } from "./lines.ts";
import { recordFiles } from "./record.ts";
import type { Snapshot } from "./snapshot.ts";

type End = Pick<Snapshot["audit"], "seq" | "file" | "length">;

/** What a checkpoint that failed knows of its own work. */
interface Failed {
  /** Where the audit log ended before. */
  readonly end: End;
  /** The files of it that were begun, or written on. */
  readonly written: ReadonlySet<string>;
}

/**
 * Gives back the room of a checkpoint that did not finish: its new state, and what it added to the
 * audit log behind the end that the state in place knows. `newest` is the last audited line that
 * the journal has: what is newer could not be written again, and stays. Never fails, because only
 * room is at stake.
 */
export function dropUnfinished(
  disk: Disk,
  folder: string,
  newest: number,
  failed: Failed | null = null,
): void {
  try {
    const fresh = join(folder, `${STATE}.new`);
    if (disk.stat(fresh) !== null) disk.remove(fresh);
    const end = endIn(disk, folder);
    if (end === null) return;
    // It may have failed after its state was put in place: then all of it counts.
    const written = failed !== null && isSame(failed.end, end) ? failed.written : NOTHING;
    for (const { name, path } of recordFiles(disk, folder)) {
      const isOurs = written.has(name);
      if (name === end.file) {
        if (isOurs || isContinued(disk, path, end, newest)) cut(disk, path, end);
      } else if (isOurs || isBehind(disk, path, end, newest)) disk.remove(path);
    }
  } catch {
    // The next checkpoint, or the next start, tries again.
  }
}

const NOTHING: ReadonlySet<string> = new Set();

const isSame = (one: End, other: End): boolean =>
  one.seq === other.seq && one.file === other.file && one.length === other.length;

/** More than everything that stands in the file before its rows. */
const HEAD = 64 * 1024;
const AUDIT = /^"audit":(\{.*\}),$/m;

/** As the state in place says, without reading all of it; what is cut is compared with it. */
function endIn(disk: Disk, folder: string): End | null {
  const bytes = disk.readPart(join(folder, STATE), 0, HEAD) ?? new Uint8Array();
  const found = AUDIT.exec(new TextDecoder().decode(bytes))?.[1];
  return found === undefined ? null : (JSON.parse(found) as End);
}

const LF = 10;

/** The next line of the audit log follows, and the journal has all that does. */
function isContinued(disk: Disk, path: string, { seq, length }: End, newest: number): boolean {
  const next = startOf(disk.readPart(path, length, START) ?? new Uint8Array())?.auditSeq;
  const last = lastSeqIn(disk, path, disk.stat(path)?.size ?? 0);
  return next === seq + 1 && (last ?? Infinity) <= newest;
}

const START = 128;

/** Only where the last line that counts ends exactly there. */
function cut(disk: Disk, path: string, { seq, length }: End): void {
  const size = disk.stat(path)?.size ?? 0;
  if (size <= length || disk.readPart(path, length - 1, 1)?.[0] !== LF) return;
  if (lastSeqIn(disk, path, length) !== seq) return;
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
function isBehind(disk: Disk, path: string, { seq }: End, newest: number): boolean {
  const [line] = linesFrom(disk, path, 0, Infinity).take(1);
  if (line === undefined || (line.whole && decodeLine(line.bytes) === null)) return false;
  const first = startOf(line.bytes)?.auditSeq ?? 0;
  const last = lastSeqIn(disk, path, disk.stat(path)?.size ?? 0) ?? first;
  return first > seq && last <= newest;
}

/** Of the last whole line before `end`. */
function lastSeqIn(disk: Disk, path: string, end: number): number | null {
  const { value } = linesBefore(disk, path, end).next();
  return value instanceof Uint8Array ? (startOf(value)?.auditSeq ?? null) : null;
}
