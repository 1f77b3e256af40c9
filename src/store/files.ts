import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";

/** The names in a data folder. */
export const STATE = "state.json";
export const HISTORY = "history";
export const IDENTITY = "identity.jwk";
/** Files that a server made for somebody to take away; gone with the next start at the latest. */
export const DOWNLOADS = "downloads";
export const FOLDER_LOCK = "lock";
export const CHECKPOINT_LOCK = "checkpoint.lock";

/** What belongs to one line of events, and leaves with it when a backup takes its place. */
export const isStoreFile = (name: string): boolean =>
  name === IDENTITY ||
  name === HISTORY ||
  /^(?:state(?:-\d+)?\.json(?:\.new)?|journal-\d+\.jsonl(?:\..*torn)?)$/.test(name);

export const segmentName = (firstSeq: number): string => `journal-${firstSeq}.jsonl`;

/** A checkpoint kept beside the current one, named by the last line it covers. */
export const generationName = (covers: number): string => `state-${covers}.json`;

export interface Numbered {
  readonly number: number;
  readonly path: string;
}

/** Journal segments by their first seq, in order. */
export const segmentsIn = (disk: Disk, folder: string): Numbered[] =>
  numbered(disk, folder, /^journal-([1-9]\d{0,15})\.jsonl$/);

/** Kept generations by what they cover, oldest first. */
export const generationsIn = (disk: Disk, folder: string): Numbered[] =>
  numbered(disk, folder, /^state-(0|[1-9]\d{0,15})\.json$/);

function numbered(disk: Disk, folder: string, pattern: RegExp): Numbered[] {
  const found: Numbered[] = [];
  for (const name of disk.list(folder)) {
    const digits = pattern.exec(name)?.[1];
    if (digits !== undefined) found.push({ number: Number(digits), path: join(folder, name) });
  }
  return found.toSorted((a, b) => a.number - b.number);
}

/** For a command that is printed to be copied into a shell. */
export const quoted = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`;
