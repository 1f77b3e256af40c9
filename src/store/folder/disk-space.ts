import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { AUDIT_FOLDER, isStoreFile, listSegments, STATE_FILE } from "./files.ts";
import { DiskSpaceMissing } from "./refusal.ts";
import { writeAll } from "../../platform/files/files.ts";

const MIB = 1024 * 1024;
/** Space beyond the next checkpoint, so that there is time to react to the warning. */
export const SPARE_BYTES = 16 * MIB;

/** Space the journal may need while a checkpoint of this many bytes is written. */
export const computeJournalReserve = (bytes: number): number =>
  Math.min(MIB, Math.max(MIN_JOURNAL_RESERVE, bytes));

const MIN_JOURNAL_RESERVE = 64 * 1024;

/** Null: the disk does not report it. */
export function readFreeBytes(disk: Disk, folder: string): number | null {
  try {
    return disk.freeBytes(folder);
  } catch {
    return null;
  }
}

/**
 * Refuses a checkpoint that would not leave enough space for the journal: both would fail, and
 * requests with them. The exact size is computed only if an estimate, which is never too low, does
 * not fit.
 */
export function requireDiskSpace(
  disk: Disk,
  folder: string,
  estimate: number,
  measure: () => number,
): void {
  const free = readFreeBytes(disk, folder);
  if (free === null || free >= estimate + computeJournalReserve(estimate)) return;
  const bytes = measure();
  const needed = bytes + computeJournalReserve(bytes);
  if (free >= needed) return;
  throw new DiskSpaceMissing(
    `the next checkpoint needs ${formatMiB(needed)} on the disk of ${folder}, but only ${formatMiB(free)} are free`,
    "free space on that disk: until then the journal grows; nothing is lost",
  );
}

const formatMiB = (bytes: number): string => `${(bytes / MIB).toFixed(2)} MiB`;

/** The bytes of the journal that the state does not cover. */
export const countUncheckpointedBytes = (disk: Disk, folder: string, covers: number): number =>
  listSegments(disk, folder)
    .filter(({ number }) => number > covers)
    .reduce((sum, { path }) => sum + (disk.stat(path)?.size ?? 0), 0);

/** Whether a copy of the folder on the same disk leaves the server enough space to continue. */
export function hasSpaceForCopy(disk: Disk, folder: string): boolean {
  const sizeOf = (path: string): number => disk.stat(path)?.size ?? 0;
  const storeFiles = disk.list(folder).filter((name) => isStoreFile(name) && name !== AUDIT_FOLDER);
  const auditFiles = disk.list(join(folder, AUDIT_FOLDER)).map((name) => join(AUDIT_FOLDER, name));
  const copyBytes = [...storeFiles, ...auditFiles].reduce(
    (sum, name) => sum + sizeOf(join(folder, name)),
    0,
  );
  return disk.freeBytes(folder) >= copyBytes + 2 * sizeOf(join(folder, STATE_FILE)) + SPARE_BYTES;
}

const PROBE_FILE = "probe";
const PROBE_BYTES = 256 * 1024;

/** Tests for disk space with a real, synced write: the reported free space is not always usable. */
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
