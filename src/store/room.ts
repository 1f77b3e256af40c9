import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import { HISTORY, isStoreFile, segmentsIn, STATE } from "./files.ts";
import { NoRoom } from "./refusal.ts";
import { writeAll } from "../platform/files.ts";

const MIB = 1024 * 1024;
/** Beyond the next checkpoint: room for people to notice. */
export const SPARE = 16 * MIB;

/** What the journal may need while a checkpoint of so many bytes is made. */
export const journalRoom = (bytes: number): number => Math.min(MIB, Math.max(SMALLEST_ROOM, bytes));

const SMALLEST_ROOM = 64 * 1024;

/** Null when the disk does not say. */
export function freeIn(disk: Disk, folder: string): number | null {
  try {
    return disk.freeBytes(folder);
  } catch {
    return null;
  }
}

/**
 * Refuses a checkpoint that would not leave the journal what it needs meanwhile: it would fail, and
 * answers with it. What it writes is counted only where an estimate, never too low, does not fit.
 */
export function needRoom(disk: Disk, folder: string, estimate: number, count: () => number): void {
  const free = freeIn(disk, folder);
  if (free === null || free >= estimate + journalRoom(estimate)) return;
  const bytes = count();
  const needed = bytes + journalRoom(bytes);
  if (free >= needed) return;
  throw new NoRoom(
    `the next checkpoint needs ${inMiB(needed)} on the disk of ${folder}, but only ${inMiB(free)} are free`,
    "free space on that disk: until then the journal grows; nothing is lost",
  );
}

const inMiB = (bytes: number): string => `${(bytes / MIB).toFixed(2)} MiB`;

/** How much of the journal the state does not cover. */
export const unfoldedBytes = (disk: Disk, folder: string, covers: number): number =>
  segmentsIn(disk, folder)
    .filter(({ number }) => number > covers)
    .reduce((sum, { path }) => sum + (disk.stat(path)?.size ?? 0), 0);

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
