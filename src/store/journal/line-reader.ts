import type { Disk } from "../../platform/files/disk.ts";

/** The bytes of a file between two line feeds. */
export interface RawLine {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly offset: number;
  /** False for bytes after the last line feed. */
  readonly isComplete: boolean;
}

const FIRST_PART_BYTES = 4 * 1024;
const PART_BYTES = 64 * 1024;
const MAX_PART_BYTES = 1024 * 1024;
const LF = 10;

/**
 * The lines from `from` on, read in parts: ten years of audit log need not fit into memory. The
 * first part is small, because some callers need only the first line.
 */
export function* readLinesForward(
  disk: Pick<Disk, "readPart">,
  path: string,
  from: number,
  end: number,
) {
  // The parts of a line whose end was not read yet. They are joined once, because a damaged line
  // may have no end.
  let pendingParts: Uint8Array<ArrayBuffer>[] = [];
  let offset = from;
  let size = FIRST_PART_BYTES;
  for (let next = from; next < end;) {
    const part = disk.readPart(path, next, Math.min(size, end - next));
    if (part === null || part.length === 0) break;
    next += part.length;
    size = Math.min(MAX_PART_BYTES, size * 4);
    let start = 0;
    for (let lineEnd = part.indexOf(LF); lineEnd >= 0; lineEnd = part.indexOf(LF, start)) {
      pendingParts.push(part.subarray(start, lineEnd));
      const bytes = joinParts(pendingParts);
      pendingParts = [];
      yield { bytes, offset, isComplete: true } satisfies RawLine;
      offset += bytes.length + 1;
      start = lineEnd + 1;
    }
    if (start < part.length) pendingParts.push(part.subarray(start));
  }
  if (pendingParts.length > 0)
    yield { bytes: joinParts(pendingParts), offset, isComplete: false } satisfies RawLine;
}

/**
 * The lines that end at or before `end`, last line first, read in parts. Ends early if the file has
 * become shorter meanwhile.
 */
export function* readLinesBackward(disk: Disk, path: string, end: number) {
  // Empty, or the end of a line whose beginning was not read yet, with its line feed.
  let rest: Uint8Array<ArrayBuffer> = new Uint8Array();
  let size = PART_BYTES;
  for (let from = end; from > 0;) {
    const length = Math.min(size, from);
    const part = disk.readPart(path, from - length, length);
    if (part?.length !== length) return;
    from -= length;
    const bytes = joinParts([part, rest]);
    // For a line longer than a part: with larger steps it is not copied again for each part.
    size *= 2;
    let lineEnd = bytes.lastIndexOf(LF);
    for (let previousEnd = lineEnd; previousEnd > 0; lineEnd = previousEnd) {
      previousEnd = bytes.lastIndexOf(LF, lineEnd - 1);
      if (previousEnd < 0) break;
      yield bytes.subarray(previousEnd + 1, lineEnd);
      size = PART_BYTES;
    }
    rest = bytes.subarray(0, lineEnd + 1);
  }
  if (rest.length > 0) yield rest.subarray(0, -1);
}

function joinParts(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const [only, ...more] = parts;
  return only !== undefined && more.length === 0 ? only : new Uint8Array(Buffer.concat(parts));
}
