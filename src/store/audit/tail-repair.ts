import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { writeAll } from "../../platform/files/files.ts";
import { AUDIT_FOLDER, listSegments } from "../folder/files.ts";
import { decodeLine } from "../journal/journal.ts";
import { readLinesBackward, readLinesForward } from "../journal/line-reader.ts";
import type { Snapshot } from "../state/snapshot.ts";

interface JournaledLine {
  readonly prev: string;
  readonly raw: Uint8Array;
}

/**
 * Repairs the newest audit file if it became shorter or is missing. The journal keeps its lines for
 * two checkpoints: if they reach back to what is left of the file, its end is written again, byte
 * for byte. False: they do not, and nothing was changed.
 */
export async function repairTailFromJournal(
  disk: Disk,
  folder: string,
  audit: Snapshot["audit"],
): Promise<boolean> {
  const path = join(folder, AUDIT_FOLDER, audit.file ?? "");
  const size = disk.stat(path)?.size ?? 0;
  const lines = readJournaledLines(disk, folder, audit.seq);
  const recovered: Uint8Array[] = [];
  let offset = audit.length;
  for (let sum = audit.sum; offset > 0 && !isEndOfLine(disk, path, offset, size, sum);) {
    const line = lines.get(sum);
    if (line === undefined || line.raw.length > offset) return false;
    recovered.push(line.raw);
    offset -= line.raw.length;
    sum = line.prev;
  }
  const file = disk.open(path);
  try {
    file.truncate(offset);
    writeAll(file, Buffer.concat(recovered.toReversed()));
    await file.sync();
  } finally {
    file.close();
  }
  return true;
}

/** Whether the line with this sum ends at `end`. */
function isEndOfLine(disk: Disk, path: string, end: number, size: number, sum: string): boolean {
  if (end > size) return false;
  const { value } = readLinesBackward(disk, path, end).next();
  return value instanceof Uint8Array && decodeLine(new Uint8Array(value))?.sum === sum;
}

/** The audited lines that the journal still has, by their sums. */
function readJournaledLines(
  disk: Disk,
  folder: string,
  last: number,
): ReadonlyMap<string, JournaledLine> {
  const lines = new Map<string, JournaledLine>();
  for (const { path } of listSegments(disk, folder)) {
    for (const { bytes, isComplete } of readLinesForward(disk, path, 0, Infinity)) {
      const line = isComplete ? decodeLine(bytes) : null;
      if (line?.audit_prev === undefined || (line.audit_seq ?? 0) > last) continue;
      lines.set(line.sum, { prev: line.audit_prev, raw: Buffer.concat([bytes, LF]) });
    }
  }
  return lines;
}

const LF = Buffer.from("\n");
