import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import { writeAll } from "../platform/files.ts";

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
