import { dirname, join } from "node:path";
import { isOpenFailure, type Disk, type OpenFile } from "../platform/disk.ts";
import { segmentName, STATE_FILE } from "./files.ts";
import { StorageError } from "./group-commit.ts";
import type { ValidSegment } from "./replay.ts";

const MIB = 1024 * 1024;
const MIN_SEGMENT_BYTES = 8 * MIB;
const MAX_SEGMENT_BYTES = 64 * MIB;
const MAX_SEGMENT_AGE = 60 * 60 * 1_000;

/** Is a segment of this size and age to be closed and folded? */
function isSegmentDue(disk: Disk, folder: string, size: number, age: number): boolean {
  if (size === 0) return false;
  // A large state is worth a longer journal: half of it written again is as much as it should cost.
  const state = size < MIN_SEGMENT_BYTES ? 0 : (disk.stat(join(folder, STATE_FILE))?.size ?? 0);
  return (
    size >= Math.min(Math.max(MIN_SEGMENT_BYTES, state / 2), MAX_SEGMENT_BYTES) ||
    age >= MAX_SEGMENT_AGE
  );
}

/** Of the longest a file can be. */
const SIZE_LIMIT_SHARE = 0.75;

/** How long the segment in use stays in use. */
export class RotationSchedule {
  readonly #disk: Disk;
  readonly #folder: string;
  #startedAt = performance.now();
  #sizeLimit = Infinity;

  constructor({ disk, folder }: { readonly disk: Disk; readonly folder: string }) {
    this.#disk = disk;
    this.#folder = folder;
  }

  restart(): void {
    this.#startedAt = performance.now();
  }

  /** Files may not grow beyond what a segment of this size came up against. */
  limitSize(size: number): void {
    this.#sizeLimit = size;
    this.restart();
  }

  get isSizeLimited(): boolean {
    return this.#sizeLimit < Infinity;
  }

  isRotationDue(size: number): boolean {
    const age = performance.now() - this.#startedAt;
    return (
      size >= this.#sizeLimit * SIZE_LIMIT_SHARE ||
      isSegmentDue(this.#disk, this.#folder, size, age)
    );
  }
}

/**
 * A new segment of the journal, whose name is durable before anything is written to it. Where the
 * folder cannot even be opened, nothing is in doubt: the segment is taken back and the one in use
 * goes on. Left there, it would stand in the way of the lines that the old one still gets.
 */
export async function createSegment(disk: Disk, path: string): Promise<OpenFile> {
  const file = disk.open(path);
  try {
    await disk.syncFolder(dirname(path));
  } catch (error) {
    file.close();
    if (isOpenFailure(error) && tryRemove(disk, path)) throw error;
    throw new StorageError({ code: "storage_failed" }, error);
  }
  return file;
}

function tryRemove(disk: Disk, path: string): boolean {
  try {
    disk.remove(path);
    return true;
  } catch {
    return false;
  }
}

/**
 * An empty segment that begins with this line; null when none can be opened now. A sync that fails
 * is thrown as the disk said it.
 */
export async function createNextSegment(
  disk: Disk,
  folder: string,
  number: number,
): Promise<ValidSegment | null> {
  const path = join(folder, segmentName(number));
  try {
    (await createSegment(disk, path)).close();
    return { number, path, size: 0 };
  } catch (error) {
    if (error instanceof StorageError) throw error.cause;
    return null;
  }
}
