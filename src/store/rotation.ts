import { dirname, join } from "node:path";
import { isOpenFailure, type Disk, type OpenFile } from "../platform/disk.ts";
import { segmentName, STATE } from "./files.ts";
import { StorageError } from "./group-commit.ts";
import type { GoodSegment } from "./replay.ts";

const MIB = 1024 * 1024;
const SMALLEST = 8 * MIB;
const LARGEST = 64 * MIB;
const OLDEST = 60 * 60 * 1_000;

/** Is a segment of this size and age to be closed and folded? */
function isDue(disk: Disk, folder: string, size: number, age: number): boolean {
  if (size === 0) return false;
  // A large state is worth a longer journal: half of it written again is as much as it should cost.
  const state = size < SMALLEST ? 0 : (disk.stat(join(folder, STATE))?.size ?? 0);
  return size >= Math.min(Math.max(SMALLEST, state / 2), LARGEST) || age >= OLDEST;
}

/** Of the longest a file can be. */
const ALMOST = 0.75;

/** How long the segment in use stays in use. */
export class SegmentTerm {
  readonly #disk: Disk;
  readonly #folder: string;
  #since = performance.now();
  #longest = Infinity;

  constructor({ disk, folder }: { readonly disk: Disk; readonly folder: string }) {
    this.#disk = disk;
    this.#folder = folder;
  }

  begin(): void {
    this.#since = performance.now();
  }

  /** Files may not grow beyond what a segment of this size came up against. */
  limitTo(size: number): void {
    this.#longest = size;
    this.begin();
  }

  get isLimited(): boolean {
    return this.#longest < Infinity;
  }

  isOver(size: number): boolean {
    const age = performance.now() - this.#since;
    return size >= this.#longest * ALMOST || isDue(this.#disk, this.#folder, size, age);
  }
}

/**
 * A new segment of the journal, whose name is durable before anything is written to it. Where the
 * folder cannot even be opened, nothing is in doubt: the segment is taken back and the one in use
 * goes on. Left there, it would stand in the way of the lines that the old one still gets.
 */
export async function openSegment(disk: Disk, path: string): Promise<OpenFile> {
  const file = disk.open(path);
  try {
    await disk.syncFolder(dirname(path));
  } catch (error) {
    file.close();
    if (isOpenFailure(error) && isRemoved(disk, path)) throw error;
    throw new StorageError({ code: "storage_failed" }, error);
  }
  return file;
}

function isRemoved(disk: Disk, path: string): boolean {
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
export async function nextSegment(
  disk: Disk,
  folder: string,
  number: number,
): Promise<GoodSegment | null> {
  const path = join(folder, segmentName(number));
  try {
    (await openSegment(disk, path)).close();
    return { number, path, size: 0 };
  } catch (error) {
    if (error instanceof StorageError) throw error.cause;
    return null;
  }
}
