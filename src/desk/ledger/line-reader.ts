import type { Disk } from "../../platform/files/disk.ts";

/** A complete line, without its line feed. */
interface RawLine {
  readonly bytes: Buffer;
  /** The offset of its first byte in the file. */
  readonly from: number;
  /** The offset after its line feed. */
  readonly end: number;
}

const LF = 10;
const PART_BYTES = 4 * 1024 * 1024;

/** The lines of a file, which is read in parts: a large one takes no memory. */
export class LineReader implements Iterable<RawLine> {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #from: number;
  /** The bytes after the last line feed; known when the last line was read. */
  rest = 0;

  constructor(disk: Disk, path: string, from = 0) {
    this.#disk = disk;
    this.#path = path;
    this.#from = from;
  }

  *[Symbol.iterator](): Generator<RawLine> {
    let [offset, length] = [this.#from, PART_BYTES];
    for (;;) {
      const { buffer, byteOffset, byteLength } =
        this.#disk.readPart(this.#path, offset, length) ?? new Uint8Array();
      const part = Buffer.from(buffer, byteOffset, byteLength);
      let from = 0;
      for (let end = part.indexOf(LF); end >= 0; end = part.indexOf(LF, from)) {
        yield { bytes: part.subarray(from, end), from: offset + from, end: offset + end + 1 };
        from = end + 1;
      }
      this.rest = part.length - from;
      if (part.length < length) return;
      // The next part begins with the line that this one does not have as a whole.
      offset += from;
      length = from === 0 ? 2 * length : PART_BYTES;
    }
  }
}
