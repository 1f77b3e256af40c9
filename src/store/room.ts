import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import { HISTORY, isStoreFile, STATE } from "./files.ts";
import { writeAll } from "../platform/files.ts";

const MIB = 1024 * 1024;
/** Beyond the next checkpoint: room for people to notice. */
export const SPARE = 16 * MIB;

/** Would a copy of all a folder holds, beside it, leave the server what it needs to go on? */
export function hasRoomForCopy(disk: Disk, folder: string): boolean {
  const sizeOf = (path: string): number => disk.stat(path)?.size ?? 0;
  const kept = disk.list(folder).filter((name) => isStoreFile(name) && name !== HISTORY);
  const record = disk.list(join(folder, HISTORY)).map((name) => join(HISTORY, name));
  const copy = [...kept, ...record].reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
  return disk.freeBytes(folder) >= copy + 2 * sizeOf(join(folder, STATE)) + SPARE;
}

const PROBE = "probe";
const BYTES = 256 * 1024;

/** Is there room again? Asked with a real write, synced: free space is not always what it says. */
export async function hasRoom(disk: Disk, folder: string): Promise<boolean> {
  const path = join(folder, PROBE);
  try {
    const file = disk.open(path);
    try {
      writeAll(file, new Uint8Array(BYTES));
      await file.sync();
    } finally {
      file.close();
      disk.remove(path);
    }
    return true;
  } catch {
    return false;
  }
}
