import type { Disk } from "../../platform/files/disk.ts";
import { parseLinePrefix, type LinePrefix } from "../journal/journal.ts";
import { readLinesForward } from "../journal/line-reader.ts";

const WINDOW = 64 * 1024;

/**
 * Finds where the last matching line of a file ends, with a few small reads. Lines are in order, so
 * the matching ones come first. Returns 0 if none matches. Bytes that are no line are skipped: in
 * the middle they are damage, and at the end a write may be in progress.
 */
export function findEndOfMatches(
  disk: Disk,
  path: string,
  size: number,
  isWanted: (start: LinePrefix) => boolean,
): number {
  // A matching line, or the file, begins at `low`; none begins at `high` or after it.
  let low = 0;
  let high = size;
  while (high - low > WINDOW) {
    const middle = low + Math.floor((high - low) / 2);
    const next = findLineAfter(disk, path, middle, high);
    if (next !== null && isWanted(next.start)) low = next.offset;
    else high = middle;
  }
  let end = 0;
  for (const { bytes, offset, isComplete } of readLinesForward(disk, path, low, size)) {
    if (offset >= high || !isComplete) break;
    const start = parseLinePrefix(bytes);
    if (start !== null && isWanted(start)) end = offset + bytes.length + 1;
  }
  return end;
}

/** The first line that begins after `from` and before `end`. */
function findLineAfter(disk: Disk, path: string, from: number, end: number) {
  for (const { bytes, offset, isComplete } of readLinesForward(disk, path, from, end)) {
    const start = parseLinePrefix(bytes);
    if (start !== null) return { start, offset };
    if (!isComplete) break;
  }
  return null;
}
