import { Histogram } from "../platform/metrics/histogram.ts";
import type { AuditFinding } from "./audit/audit-health.ts";
import { SPARE_BYTES, type DiskFigures } from "./folder/disk-space.ts";

export const STORE_WARNING_CODES = [
  "disk_low",
  "disk_slow",
  "checkpoint_failing",
  "checkpoint_slow",
  "state_missing",
  "file_size_limit",
  "audit_damaged",
] as const;

/** A problem that does not stop the server yet, but will if it is ignored. */
export interface StoreWarning {
  readonly code: (typeof STORE_WARNING_CODES)[number];
  readonly message: string;
}

export interface StoreHealth {
  readonly warnings: readonly StoreWarning[];
  /** Null: the disk does not report it. */
  readonly freeBytes: number | null;
  /** What the next checkpoint needs, with a reserve. */
  readonly requiredBytes: number;
  /** The slowest sync of the last one to two minutes, also one that has not returned. */
  readonly slowestSyncMs: number;
}

const MIB = 1024 * 1024;
const SLOW_SYNC_MS = 1_000;

/** What a store reports about itself. */
export interface StoreHealthInput {
  readonly slowestSyncMs: number;
  /** For how many milliseconds the sync that is under way has not returned; 0: none is. */
  readonly unfinishedSyncMs: number;
  readonly checkpointError: string | null;
  /** For how many milliseconds a checkpoint has been running; null: none is. */
  readonly checkpointRunningMs: number | null;
  /** For how many milliseconds the running checkpoint has stood still; 0: none is running. */
  readonly checkpointStalledMs: number;
  /** `state.json` was removed, and no older state is left. */
  readonly isStateMissing: boolean;
  /** A file reached a size limit. */
  readonly isFileLimited: boolean;
  /** What is wrong with the audit log; null: no damage is known. */
  readonly auditFinding: AuditFinding | null;
}

export function assessStoreHealth(
  folder: string,
  { freeBytes, stateBytes, uncheckpointedBytes, closedBytes }: DiskFigures,
  input: StoreHealthInput,
): StoreHealth {
  const { slowestSyncMs, unfinishedSyncMs, checkpointError, checkpointRunningMs } = input;
  const { checkpointStalledMs, isStateMissing, isFileLimited, auditFinding } = input;
  // All lines after the last checkpoint may have to be copied into the audit log.
  const needed = 2 * stateBytes + uncheckpointedBytes + SPARE_BYTES;
  const warnings: StoreWarning[] = [];
  if (freeBytes !== null && freeBytes < needed) {
    warnings.push({
      code: "disk_low",
      message: `the disk of ${folder} has ${formatMiB(freeBytes)} free; it should have ${formatMiB(needed)}: for the next checkpoint, and a reserve`,
    });
  }
  if (unfinishedSyncMs >= SLOW_SYNC_MS) {
    // Without the time so far: the text must not change with every second.
    warnings.push({
      code: "disk_slow",
      message: `a sync has not returned for more than ${SLOW_SYNC_MS / 1_000} s, and every change waits for it`,
    });
  } else if (slowestSyncMs >= SLOW_SYNC_MS) {
    warnings.push({
      code: "disk_slow",
      message: `a sync took ${(slowestSyncMs / 1_000).toFixed(1)} s within the last minutes, and every change waits for a sync`,
    });
  }
  if (checkpointError !== null) {
    warnings.push({
      code: "checkpoint_failing",
      message: `the last checkpoint failed, and the journal grows until one succeeds: ${checkpointError}`,
    });
  }
  if (checkpointStalledMs > STALLED_MS) {
    warnings.push({
      code: "checkpoint_slow",
      message: `a checkpoint has made no progress for more than a minute, and the journal grows until it is done; it is killed if it hangs`,
    });
  } else if (
    checkpointRunningMs !== null &&
    checkpointRunningMs > estimateCheckpointMs(stateBytes + closedBytes)
  ) {
    warnings.push({
      code: "checkpoint_slow",
      message: `a checkpoint has been running for ${Math.floor(checkpointRunningMs / MINUTE)} minutes, and the journal grows until it is done; it is killed if it hangs`,
    });
  }
  if (isStateMissing) {
    warnings.push({
      code: "state_missing",
      message: `state.json in ${folder} was removed while the server was running, and no older state is left: the next start will refuse the folder`,
    });
  }
  if (isFileLimited) {
    warnings.push({
      code: "file_size_limit",
      message:
        "the journal reached the file size limit (ulimit -f, or LimitFSIZE= of the service); raise the limit: a checkpoint needs larger files than the journal",
    });
  }
  if (auditFinding !== null) {
    warnings.push({
      code: "audit_damaged",
      message: `${auditFinding.message}; ${auditFinding.hint}`,
    });
  }
  return {
    warnings,
    freeBytes,
    requiredBytes: needed,
    slowestSyncMs: Math.max(slowestSyncMs, unfinishedSyncMs),
  };
}

/** A checkpoint that works reads, computes or writes all the time. */
const STALLED_MS = 60_000;

/** Ten times the time that a slow disk needs for so many bytes. */
const estimateCheckpointMs = (bytes: number): number => MINUTE + (bytes / MIB) * 1_000;

const formatMiB = (bytes: number): string => `${(bytes / MIB).toFixed(0)} MiB`;

const MINUTE = 60_000;

/** From a fast disk to one that a request gives up on. */
const SYNC_BOUNDS_SECONDS = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5];

/**
 * The slowest sync of this minute and the one before, so that a short delay is reported and then
 * forgotten.
 */
export class SyncTimes {
  /** All syncs since the start, in seconds. */
  readonly durations = new Histogram(SYNC_BOUNDS_SECONDS);
  #minute = 0;
  #slowestThisMinute = 0;
  #slowestLastMinute = 0;
  /** When the sync that is under way began; null: none is. */
  #beganAt: number | null = null;

  /** Runs what changes wait for, one at a time, so that it is seen while it has not returned. */
  async watch<T>(sync: () => Promise<T>): Promise<T> {
    this.#beganAt = performance.now();
    try {
      return await sync();
    } finally {
      this.#beganAt = null;
    }
  }

  /** For how many milliseconds the sync that is under way has not returned; 0: none is. */
  countUnfinishedMs(): number {
    return this.#beganAt === null ? 0 : performance.now() - this.#beganAt;
  }

  add(durationMs: number): void {
    this.#rollMinute();
    this.durations.observe(durationMs / 1_000);
    this.#slowestThisMinute = Math.max(this.#slowestThisMinute, durationMs);
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
