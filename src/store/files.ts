import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";

/** The names in a data folder. */
export const STATE_FILE = "state.json";
export const AUDIT_FOLDER = "history";
export const IDENTITY_FILE = "identity.jwk";
/** Files that a server made for somebody to take away; gone with the next start at the latest. */
export const DOWNLOADS_FOLDER = "downloads";
export const FOLDER_LOCK_FILE = "lock";
export const CHECKPOINT_LOCK_FILE = "checkpoint.lock";

/** What belongs to one line of events, and leaves with it when a backup takes its place. */
export const isStoreFile = (name: string): boolean =>
  name === IDENTITY_FILE ||
  name === AUDIT_FOLDER ||
  /^(?:state(?:-\d+)?\.json(?:\.new)?|journal-\d+\.jsonl(?:\..*torn)?)$/.test(name);

export const segmentName = (firstSeq: number): string => `journal-${firstSeq}.jsonl`;

/** A checkpoint kept beside the current one, named by the last line it covers. */
export const generationName = (covers: number): string => `state-${covers}.json`;

export interface NumberedFile {
  readonly number: number;
  readonly path: string;
}

/** Journal segments by their first seq, in order. */
export const listSegments = (disk: Disk, folder: string): NumberedFile[] =>
  listNumberedFiles(disk, folder, /^journal-([1-9]\d{0,15})\.jsonl$/);

/** Kept generations by what they cover, oldest first. */
export const listGenerations = (disk: Disk, folder: string): NumberedFile[] =>
  listNumberedFiles(disk, folder, /^state-(0|[1-9]\d{0,15})\.json$/);

function listNumberedFiles(disk: Disk, folder: string, pattern: RegExp): NumberedFile[] {
  const found: NumberedFile[] = [];
  for (const name of disk.list(folder)) {
    const digits = pattern.exec(name)?.[1];
    if (digits !== undefined) found.push({ number: Number(digits), path: join(folder, name) });
  }
  return found.toSorted((a, b) => a.number - b.number);
}

/** For a command that is printed to be copied into a shell. */
export const quoteForShell = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`;
