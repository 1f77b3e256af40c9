import { join } from "node:path";
import type { Disk } from "../../platform/disk.ts";
import { writeAll } from "../../platform/files.ts";
import { AUDIT_FOLDER, listSegments } from "../files.ts";
import { decodeLine } from "../journal.ts";
import { readLinesBackward, readLinesForward } from "../line-reader.ts";
import type { Snapshot } from "../snapshot.ts";

interface JournaledLine {
  readonly prev: string;
  readonly raw: Uint8Array;
}

/**
 * The newest file of the audit log is shorter than it was, or gone. The journal keeps its lines for
 * two checkpoints: where they reach back to what is left of the file, its end is written again,
 * byte for byte. False: they do not, and nothing was changed.
 */
export async function repairTailFromJournal(
  disk: Disk,
  folder: string,
  audit: Snapshot["audit"],
): Promise<boolean> {
  const path = join(folder, AUDIT_FOLDER, audit.file ?? "");
  const size = disk.stat(path)?.size ?? 0;
  const lines = readJournaledLines(disk, folder, audit.seq);
  const added: Uint8Array[] = [];
  let from = audit.length;
  for (let sum = audit.sum; from > 0 && !isEndOfLine(disk, path, from, size, sum);) {
    const line = lines.get(sum);
    if (line === undefined || line.raw.length > from) return false;
    added.push(line.raw);
    from -= line.raw.length;
    sum = line.prev;
  }
  const file = disk.open(path);
  try {
    file.truncate(from);
    writeAll(file, Buffer.concat(added.toReversed()));
    await file.sync();
  } finally {
    file.close();
  }
  return true;
}

/** Does the line with this sum end there? */
function isEndOfLine(disk: Disk, path: string, end: number, size: number, sum: string): boolean {
  if (end > size) return false;
  const { value } = readLinesBackward(disk, path, end).next();
  return value instanceof Uint8Array && decodeLine(new Uint8Array(value))?.sum === sum;
}

/** What the journal still has of the audit log. */
function readJournaledLines(
  disk: Disk,
  folder: string,
  last: number,
): ReadonlyMap<string, JournaledLine> {
  const found = new Map<string, JournaledLine>();
  for (const { path } of listSegments(disk, folder)) {
    for (const { bytes, whole } of readLinesForward(disk, path, 0, Infinity)) {
      const line = whole ? decodeLine(bytes) : null;
      if (line?.audit_prev === undefined || (line.audit_seq ?? 0) > last) continue;
      found.set(line.sum, { prev: line.audit_prev, raw: Buffer.concat([bytes, LF]) });
    }
  }
  return found;
}

const LF = Buffer.from("\n");
