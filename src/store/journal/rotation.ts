import { dirname, join } from "node:path";
import type { Disk, OpenFile } from "../../platform/files/disk.ts";
import { isOpenFailure } from "../../platform/files/system-error.ts";
import { segmentName, STATE_FILE } from "../folder/files.ts";
import { StorageError } from "./storage-fault.ts";
import type { ValidSegment } from "./replay.ts";

const MIB = 1024 * 1024;
const MIN_SEGMENT_BYTES = 8 * MIB;
const MAX_SEGMENT_BYTES = 64 * MIB;
const MAX_SEGMENT_AGE = 60 * 60 * 1_000;

/** Whether a segment of this size and age should be closed, and a checkpoint made. */
function isSegmentDue(disk: Disk, folder: string, size: number, age: number): boolean {
  if (size === 0) return false;
  // A large state allows a longer journal: a checkpoint rewrites the whole state, so the journal
  // should be at least half as large.
  const stateBytes =
    size < MIN_SEGMENT_BYTES ? 0 : (disk.stat(join(folder, STATE_FILE))?.size ?? 0);
  return (
    size >= Math.min(Math.max(MIN_SEGMENT_BYTES, stateBytes / 2), MAX_SEGMENT_BYTES) ||
    age >= MAX_SEGMENT_AGE
  );
}

/** The part of the file size limit at which a segment is closed. */
const SIZE_LIMIT_SHARE = 0.75;

/** Decides when to close the open segment. */
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

  /** The open segment hit a file size limit at this size. */
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
 * Creates a segment whose name is durable before anything is written to it. If the folder cannot
 * even be opened, the state of the disk is certain: the new segment is removed, and the current one
 * stays in use. If the new segment stayed, its number would collide with lines still written to the
 * current one.
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
 * Creates an empty segment that begins with this line; null: none can be created now. An error of
 * the sync is thrown as the disk reported it.
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
