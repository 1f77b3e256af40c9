import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";

/** The file names in a data folder. */
export const STATE_FILE = "state.json";
export const AUDIT_FOLDER = "history";
export const IDENTITY_FILE = "identity.jwk";
/** Files that a server created for download; removed by the next start at the latest. */
export const DOWNLOADS_FOLDER = "downloads";
/** Scheduled backups, unless the operator names another folder for them. */
export const BACKUPS_FOLDER = "backups";
/** Figures of the past, computed from the audit log: without them, they are computed again. */
export const USAGE_FOLDER = "usage";
export const FOLDER_LOCK_FILE = "lock";
export const CHECKPOINT_LOCK_FILE = "checkpoint.lock";

/** Files that belong to the license data, and are replaced when a backup is restored. */
export const isStoreFile = (name: string): boolean =>
  name === IDENTITY_FILE ||
  name === AUDIT_FOLDER ||
  /^(?:state(?:-\d+)?\.json(?:\.new)?|journal-\d+\.jsonl(?:\..*torn)?)$/.test(name);

export const segmentName = (firstSeq: number): string => `journal-${firstSeq}.jsonl`;

/** An older checkpoint that is kept, named by the last line it covers. */
export const generationName = (covers: number): string => `state-${covers}.json`;

export interface NumberedFile {
  readonly number: number;
  readonly path: string;
}

/** Journal segments by their first line, in order. */
export const listSegments = (disk: Disk, folder: string): NumberedFile[] =>
  listNumberedFiles(disk, folder, /^journal-([1-9]\d{0,15})\.jsonl$/);

/** Kept generations by the last line they cover, oldest first. */
export const listGenerations = (disk: Disk, folder: string): NumberedFile[] =>
  listNumberedFiles(disk, folder, /^state-(0|[1-9]\d{0,15})\.json$/);

function listNumberedFiles(disk: Disk, folder: string, pattern: RegExp): NumberedFile[] {
  const files: NumberedFile[] = [];
  for (const name of disk.list(folder)) {
    const digits = pattern.exec(name)?.[1];
    if (digits !== undefined) files.push({ number: Number(digits), path: join(folder, name) });
  }
  return files.toSorted((a, b) => a.number - b.number);
}
