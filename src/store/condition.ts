import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import type { AuditFinding } from "./audit-health.ts";
import { STATE } from "./files.ts";
import { freeIn, SPARE, unfoldedBytes } from "./room.ts";

/** Something that does not stop the server yet, and will if nobody looks. */
export interface Trouble {
  readonly code:
    | "disk_low"
    | "disk_slow"
    | "checkpoint_failing"
    | "checkpoint_slow"
    | "file_size_limit"
    | "audit_damaged";
  readonly message: string;
}

export interface Condition {
  readonly troubles: readonly Trouble[];
  /** Null when the disk does not say. */
  readonly freeBytes: number | null;
  /** Milliseconds; of the last one to two minutes. */
  readonly slowestSync: number;
}

const MIB = 1024 * 1024;
const SLOW = 1_000;

/** What a store knows of itself. */
export interface Known {
  /** The last line the state covers. */
  readonly covers: number;
  readonly slowestSync: number;
  readonly checkpointError: string | null;
  /** For how many milliseconds a checkpoint has been under way; null: none is. */
  readonly checkpointFor: number | null;
  /** A file could not grow as long as it should. */
  readonly isFileLimited: boolean;
  /** What is wrong with the audit log; null: nothing that is known. */
  readonly audit: AuditFinding | null;
}

export function conditionOf(disk: Disk, folder: string, known: Known): Condition {
  const { covers, slowestSync, checkpointError, checkpointFor, isFileLimited, audit } = known;
  const freeBytes = freeIn(disk, folder);
  const state = disk.stat(join(folder, STATE))?.size ?? 0;
  // Of what is not folded yet, all may have to go into the audit log.
  const unfolded = unfoldedBytes(disk, folder, covers);
  const needed = 2 * state + unfolded + SPARE;
  const troubles: Trouble[] = [];
  if (freeBytes !== null && freeBytes < needed) {
    troubles.push({
      code: "disk_low",
      message: `the disk of ${folder} has ${mib(freeBytes)} free; the next checkpoint needs ${mib(needed)}`,
    });
  }
  if (slowestSync >= SLOW) {
    troubles.push({
      code: "disk_slow",
      message: `a sync took ${(slowestSync / 1_000).toFixed(1)} s within the last minutes, and every change waits for a sync`,
    });
  }
  if (checkpointError !== null) {
    troubles.push({
      code: "checkpoint_failing",
      message: `the last checkpoint failed, and the journal grows until one succeeds: ${checkpointError}`,
    });
  }
  if (checkpointFor !== null && checkpointFor > expectedTime(state + unfolded)) {
    troubles.push({
      code: "checkpoint_slow",
      message: `a checkpoint has been running for ${Math.floor(checkpointFor / MINUTE)} minutes, and the journal grows until it is done; it is killed if it hangs`,
    });
  }
  if (isFileLimited) {
    troubles.push({
      code: "file_size_limit",
      message:
        "the journal reached the file size limit (ulimit -f, or LimitFSIZE= of the service); raise the limit: a checkpoint needs larger files than the journal",
    });
  }
  if (audit !== null) {
    troubles.push({ code: "audit_damaged", message: `${audit.message}; ${audit.hint}` });
  }
  return { troubles, freeBytes, slowestSync };
}

/** Ten times what a slow disk takes for so many bytes. */
const expectedTime = (bytes: number): number => MINUTE + (bytes / MIB) * 1_000;

const mib = (bytes: number): string => `${(bytes / MIB).toFixed(0)} MiB`;

const MINUTE = 60_000;

/** The slowest sync of this minute and the one before: a bad moment is seen, and forgotten. */
export class SyncTimes {
  #minute = 0;
  #now = 0;
  #before = 0;

  add(took: number): void {
    this.#turn();
    this.#now = Math.max(this.#now, took);
  }

  get slowest(): number {
    this.#turn();
    return Math.max(this.#now, this.#before);
  }

  #turn(): void {
    const minute = Math.floor(performance.now() / MINUTE);
    if (minute === this.#minute) return;
    this.#before = minute === this.#minute + 1 ? this.#now : 0;
    this.#now = 0;
    this.#minute = minute;
  }
}
