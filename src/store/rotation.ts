import { dirname, join } from "node:path";
import { isOpenFailure, type Disk, type OpenFile } from "../platform/disk.ts";
import { STATE } from "./files.ts";
import { StorageError } from "./group-commit.ts";

const MIB = 1024 * 1024;
const SMALLEST = 8 * MIB;
const LARGEST = 64 * MIB;
const OLDEST = 60 * 60 * 1_000;

/** Is a segment of this size and age to be closed and folded? */
export function isDue(disk: Disk, folder: string, size: number, age: number): boolean {
  if (size === 0) return false;
  // A large state is worth a longer journal: half of it written again is as much as it should cost.
  const state = size < SMALLEST ? 0 : (disk.stat(join(folder, STATE))?.size ?? 0);
  return size >= Math.min(Math.max(SMALLEST, state / 2), LARGEST) || age >= OLDEST;
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
