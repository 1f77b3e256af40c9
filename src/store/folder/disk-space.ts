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

export const formatMiB = (bytes: number): string => `${(bytes / MIB).toFixed(2)} MiB`;

/** The bytes of each segment of the journal that the state does not cover; the last one is open. */
const listUncheckpointedBytes = (disk: Disk, folder: string, covers: number): number[] =>
  listSegments(disk, folder)
    .filter(({ number }) => number > covers)
    .map(({ path }) => disk.stat(path)?.size ?? 0);

const sumOf = (sizes: readonly number[]): number => sizes.reduce((sum, size) => sum + size, 0);

/** What the disk says about the space that the next checkpoint needs. */
export interface DiskFigures {
  /** Null: the disk does not report it. */
  readonly freeBytes: number | null;
  readonly stateBytes: number;
  readonly uncheckpointedBytes: number;
  /** Of them, those that a checkpoint which is running reads. */
  readonly closedBytes: number;
}

function readDiskFigures(disk: Disk, folder: string, coveredSeq: number): DiskFigures {
  const sizes = listUncheckpointedBytes(disk, folder, coveredSeq);
  return {
    freeBytes: readFreeBytes(disk, folder),
    stateBytes: disk.stat(join(folder, STATE_FILE))?.size ?? 0,
    uncheckpointedBytes: sumOf(sizes),
    closedBytes: sumOf(sizes.slice(0, -1)),
  };
}

const FIGURES_VALID_MS = 1_000;

/**
 * Remembers the figures for a second: a monitor may ask for the health many times a second, and
 * asking the disk costs more than all the rest of that request.
 */
export class DiskFigureCache {
  readonly #read: (coveredSeq: number) => DiskFigures;
  readonly #monotonicMs: () => number;
  #figures: DiskFigures | null = null;
  #coveredSeq = 0;
  #readAt = 0;

  constructor(disk: Disk, folder: string, monotonicMs: () => number) {
    this.#read = (coveredSeq) => readDiskFigures(disk, folder, coveredSeq);
    this.#monotonicMs = monotonicMs;
  }

  /** `coveredSeq` is the last line that the state covers; a checkpoint changes it. */
  read(coveredSeq: number): DiskFigures {
    const now = this.#monotonicMs();
    const isCurrent = coveredSeq === this.#coveredSeq && now - this.#readAt < FIGURES_VALID_MS;
    if (this.#figures !== null && isCurrent) return this.#figures;
    this.#coveredSeq = coveredSeq;
    this.#readAt = now;
    return (this.#figures = this.#read(coveredSeq));
  }
}

/** The bytes of a copy of everything that a backup contains. */
export function countCopyBytes(disk: Disk, folder: string): number {
  const storeFiles = disk.list(folder).filter((name) => isStoreFile(name) && name !== AUDIT_FOLDER);
  const auditFiles = disk.list(join(folder, AUDIT_FOLDER)).map((name) => join(AUDIT_FOLDER, name));
  const sizes = [...storeFiles, ...auditFiles].map((name) => sizeOf(disk, join(folder, name)));
  return sizes.reduce((sum, size) => sum + size, 0);
}

/** The bytes that a server needs on the disk of its folder to continue for a while. */
export const countServerReserve = (disk: Disk, folder: string): number =>
  2 * sizeOf(disk, join(folder, STATE_FILE)) + SPARE_BYTES;

/** Whether a copy of the folder on the same disk leaves the server enough space to continue. */
export const hasSpaceForCopy = (disk: Disk, folder: string): boolean =>
  disk.freeBytes(folder) >= countCopyBytes(disk, folder) + countServerReserve(disk, folder);

const sizeOf = (disk: Disk, path: string): number => disk.stat(path)?.size ?? 0;

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
