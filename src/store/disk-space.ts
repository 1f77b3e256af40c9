import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import { AUDIT_FOLDER, isStoreFile, listSegments, STATE_FILE } from "./files.ts";
import { DiskSpaceMissing } from "./refusal.ts";
import { writeAll } from "../platform/files.ts";

const MIB = 1024 * 1024;
/** Beyond the next checkpoint: room for people to notice. */
export const SPARE_BYTES = 16 * MIB;

/** What the journal may need while a checkpoint of so many bytes is made. */
export const computeJournalReserve = (bytes: number): number =>
  Math.min(MIB, Math.max(MIN_JOURNAL_RESERVE, bytes));

const MIN_JOURNAL_RESERVE = 64 * 1024;

/** Null when the disk does not say. */
export function readFreeBytes(disk: Disk, folder: string): number | null {
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
export function requireDiskSpace(
  disk: Disk,
  folder: string,
  estimate: number,
  count: () => number,
): void {
  const free = readFreeBytes(disk, folder);
  if (free === null || free >= estimate + computeJournalReserve(estimate)) return;
  const bytes = count();
  const needed = bytes + computeJournalReserve(bytes);
  if (free >= needed) return;
  throw new DiskSpaceMissing(
    `the next checkpoint needs ${formatMiB(needed)} on the disk of ${folder}, but only ${formatMiB(free)} are free`,
    "free space on that disk: until then the journal grows; nothing is lost",
  );
}

const formatMiB = (bytes: number): string => `${(bytes / MIB).toFixed(2)} MiB`;

/** How much of the journal the state does not cover. */
export const countUnfoldedBytes = (disk: Disk, folder: string, covers: number): number =>
  listSegments(disk, folder)
    .filter(({ number }) => number > covers)
    .reduce((sum, { path }) => sum + (disk.stat(path)?.size ?? 0), 0);

/** Would a copy of all a folder holds, beside it, leave the server what it needs to go on? */
export function hasSpaceForCopy(disk: Disk, folder: string): boolean {
  const sizeOf = (path: string): number => disk.stat(path)?.size ?? 0;
  const kept = disk.list(folder).filter((name) => isStoreFile(name) && name !== AUDIT_FOLDER);
  const record = disk.list(join(folder, AUDIT_FOLDER)).map((name) => join(AUDIT_FOLDER, name));
  const copy = [...kept, ...record].reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
  return disk.freeBytes(folder) >= copy + 2 * sizeOf(join(folder, STATE_FILE)) + SPARE_BYTES;
}

const PROBE_FILE = "probe";
const PROBE_BYTES = 256 * 1024;

/** Is there room again? Asked with a real write, synced: free space is not always what it says. */
export async function canWriteProbe(disk: Disk, folder: string): Promise<boolean> {
  const path = join(folder, PROBE_FILE);
  try {
    const file = disk.open(path);
    try {
      writeAll(file, new Uint8Array(PROBE_BYTES));
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
