import type { Disk } from "../platform/disk.ts";

/** Some bytes of a file between two line feeds. */
export interface RawLine {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly offset: number;
  /** False for what stands behind the last line feed. */
  readonly whole: boolean;
}

const SMALLEST = 4 * 1024;
const PART = 64 * 1024;
const LARGEST = 1024 * 1024;
const LF = 10;

/**
 * The lines from `from` on, part by part: a record of ten years does not have to fit into memory.
 * The first part is small, for those who only look at the first line.
 */
export function* readLinesForward(
  disk: Pick<Disk, "readPart">,
  path: string,
  from: number,
  end: number,
) {
  // A line whose end was not read yet. Put together once: what is damaged may have no end at all.
  let begun: Uint8Array<ArrayBuffer>[] = [];
  let offset = from;
  let size = SMALLEST;
  for (let next = from; next < end;) {
    const part = disk.readPart(path, next, Math.min(size, end - next));
    if (part === null || part.length === 0) break;
    next += part.length;
    size = Math.min(LARGEST, size * 4);
    let start = 0;
    for (let feed = part.indexOf(LF); feed >= 0; feed = part.indexOf(LF, start)) {
      begun.push(part.subarray(start, feed));
      const bytes = joinParts(begun);
      begun = [];
      yield { bytes, offset, whole: true } satisfies RawLine;
      offset += bytes.length + 1;
      start = feed + 1;
    }
    if (start < part.length) begun.push(part.subarray(start));
  }
  if (begun.length > 0) yield { bytes: joinParts(begun), offset, whole: false } satisfies RawLine;
}

/**
 * The lines that end at or before `end`, the last one first, part by part. Ends early when the file
 * is no longer what it was.
 */
export function* readLinesBackward(disk: Disk, path: string, end: number) {
  // Empty, or the end of a line whose beginning was not read yet, with its line feed.
  let rest: Uint8Array<ArrayBuffer> = new Uint8Array();
  let size = PART;
  for (let from = end; from > 0;) {
    const length = Math.min(size, from);
    const part = disk.readPart(path, from - length, length);
    if (part?.length !== length) return;
    from -= length;
    const bytes = joinParts([part, rest]);
    // A line that is longer than a part: larger steps, or it would be copied again for each.
    size *= 2;
    let feed = bytes.lastIndexOf(LF);
    for (let last = feed; last > 0; feed = last) {
      last = bytes.lastIndexOf(LF, feed - 1);
      if (last < 0) break;
      yield bytes.subarray(last + 1, feed);
      size = PART;
    }
    rest = bytes.subarray(0, feed + 1);
  }
  if (rest.length > 0) yield rest.subarray(0, -1);
}

function joinParts(parts: readonly Uint8Array<ArrayBuffer>[]): Uint8Array<ArrayBuffer> {
  const [only, ...more] = parts;
  return only !== undefined && more.length === 0 ? only : new Uint8Array(Buffer.concat(parts));
}
