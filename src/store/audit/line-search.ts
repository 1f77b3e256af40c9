import type { Disk } from "../../platform/disk.ts";
import { parseLinePrefix, type LinePrefix } from "../journal.ts";
import { readLinesForward } from "../line-reader.ts";

const WINDOW = 64 * 1024;

/**
 * Where the last wanted line of a file ends, in a few small reads: lines stand in order, so those
 * that are wanted come first. 0: none is. Whatever is no line is passed over, in the middle, where
 * it is damage, as well as at the end, where a write may be under way.
 */
export function findEndOfMatches(
  disk: Disk,
  path: string,
  size: number,
  isWanted: (start: LinePrefix) => boolean,
): number {
  // A wanted line begins at `low`, or the file does; none begins at `high` or behind it.
  let low = 0;
  let high = size;
  while (high - low > WINDOW) {
    const middle = low + Math.floor((high - low) / 2);
    const next = findLineAfter(disk, path, middle, high);
    if (next !== null && isWanted(next.start)) low = next.offset;
    else high = middle;
  }
  let end = 0;
  for (const { bytes, offset, whole } of readLinesForward(disk, path, low, size)) {
    if (offset >= high || !whole) break;
    const start = parseLinePrefix(bytes);
    if (start !== null && isWanted(start)) end = offset + bytes.length + 1;
  }
  return end;
}

/** The first line that begins behind `from` and before `end`. */
function findLineAfter(disk: Disk, path: string, from: number, end: number) {
  for (const { bytes, offset, whole } of readLinesForward(disk, path, from, end)) {
    const start = parseLinePrefix(bytes);
    if (start !== null) return { start, offset };
    if (!whole) break;
  }
  return null;
}
