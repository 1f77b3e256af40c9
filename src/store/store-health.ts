import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import type { AuditFinding } from "./audit/audit-health.ts";
import { STATE_FILE } from "./files.ts";
import { readFreeBytes, SPARE_BYTES, countUnfoldedBytes } from "./disk-space.ts";

/** Something that does not stop the server yet, and will if nobody looks. */
export interface StoreWarning {
  readonly code:
    | "disk_low"
    | "disk_slow"
    | "checkpoint_failing"
    | "checkpoint_slow"
    | "file_size_limit"
    | "audit_damaged";
  readonly message: string;
}

export interface StoreHealth {
  readonly warnings: readonly StoreWarning[];
  /** Null when the disk does not say. */
  readonly freeBytes: number | null;
  /** Milliseconds; of the last one to two minutes. */
  readonly slowestSyncMs: number;
}

const MIB = 1024 * 1024;
const SLOW_SYNC_MS = 1_000;

/** What a store knows of itself. */
export interface StoreHealthInput {
  /** The last line the state covers. */
  readonly coveredSeq: number;
  readonly slowestSyncMs: number;
  readonly checkpointError: string | null;
  /** For how many milliseconds a checkpoint has been under way; null: none is. */
  readonly checkpointRunningMs: number | null;
  /** A file could not grow as long as it should. */
  readonly isFileLimited: boolean;
  /** What is wrong with the audit log; null: nothing that is known. */
  readonly auditFinding: AuditFinding | null;
}

export function assessStoreHealth(
  disk: Disk,
  folder: string,
  known: StoreHealthInput,
): StoreHealth {
  const {
    coveredSeq,
    slowestSyncMs,
    checkpointError,
    checkpointRunningMs,
    isFileLimited,
    auditFinding,
  } = known;
  const freeBytes = readFreeBytes(disk, folder);
  const state = disk.stat(join(folder, STATE_FILE))?.size ?? 0;
  // Of what is not folded yet, all may have to go into the audit log.
  const unfolded = countUnfoldedBytes(disk, folder, coveredSeq);
  const needed = 2 * state + unfolded + SPARE_BYTES;
  const troubles: StoreWarning[] = [];
  if (freeBytes !== null && freeBytes < needed) {
    troubles.push({
      code: "disk_low",
      message: `the disk of ${folder} has ${formatMiB(freeBytes)} free; the next checkpoint needs ${formatMiB(needed)}`,
    });
  }
  if (slowestSyncMs >= SLOW_SYNC_MS) {
    troubles.push({
      code: "disk_slow",
      message: `a sync took ${(slowestSyncMs / 1_000).toFixed(1)} s within the last minutes, and every change waits for a sync`,
    });
  }
  if (checkpointError !== null) {
    troubles.push({
      code: "checkpoint_failing",
      message: `the last checkpoint failed, and the journal grows until one succeeds: ${checkpointError}`,
    });
  }
  if (
    checkpointRunningMs !== null &&
    checkpointRunningMs > estimateCheckpointMs(state + unfolded)
  ) {
    troubles.push({
      code: "checkpoint_slow",
      message: `a checkpoint has been running for ${Math.floor(checkpointRunningMs / MINUTE)} minutes, and the journal grows until it is done; it is killed if it hangs`,
    });
  }
  if (isFileLimited) {
    troubles.push({
      code: "file_size_limit",
      message:
        "the journal reached the file size limit (ulimit -f, or LimitFSIZE= of the service); raise the limit: a checkpoint needs larger files than the journal",
    });
  }
  if (auditFinding !== null) {
    troubles.push({
      code: "audit_damaged",
      message: `${auditFinding.message}; ${auditFinding.hint}`,
    });
  }
  return { warnings: troubles, freeBytes, slowestSyncMs };
}

/** Ten times what a slow disk takes for so many bytes. */
const estimateCheckpointMs = (bytes: number): number => MINUTE + (bytes / MIB) * 1_000;

const formatMiB = (bytes: number): string => `${(bytes / MIB).toFixed(0)} MiB`;

const MINUTE = 60_000;

/** The slowest sync of this minute and the one before: a bad moment is seen, and forgotten. */
export class SyncTimes {
  #minute = 0;
  #slowestThisMinute = 0;
  #slowestLastMinute = 0;

  add(took: number): void {
    this.#rollMinute();
    this.#slowestThisMinute = Math.max(this.#slowestThisMinute, took);
  }

  get slowest(): number {
    this.#rollMinute();
    return Math.max(this.#slowestThisMinute, this.#slowestLastMinute);
  }

  #rollMinute(): void {
    const minute = Math.floor(performance.now() / MINUTE);
    if (minute === this.#minute) return;
    this.#slowestLastMinute = minute === this.#minute + 1 ? this.#slowestThisMinute : 0;
    this.#slowestThisMinute = 0;
    this.#minute = minute;
  }
}
