import { join } from "node:path";
import { realDisk } from "../../platform/files/disk.ts";
import { CheckpointHung } from "../../store/checkpoint/checkpoint-runner.ts";
import { AUDIT_FOLDER, listSegments, STATE_FILE, USAGE_FOLDER } from "../../store/folder/files.ts";
import { checkpointWithUsage } from "../usage/checkpoint-with-usage.ts";
import { isLockedBy } from "../../store/folder/lock.ts";
import { AuditDamaged } from "../../store/folder/refusal.ts";

export interface CheckpointJob {
  /** The first line of the segment that is still being written. */
  readonly openSegment: number;
  /** Months of the audit log to keep besides the current one; 0: all of it. */
  readonly keepMonths: number;
  /** Months of usage to keep besides the current one. */
  readonly usageMonths: number;
  /** The process that holds the folder; without it the checkpoint is not wanted any more. */
  readonly holderPid: number;
  /** Called unless another process updates the usage files; null: they are updated. */
  readonly onUsageUpdate: (error: string | null) => void;
}

/** Writes the closed segments of the journal into the state, the audit log and the usage files. */
export function runCheckpoint(folder: string, job: CheckpointJob): Promise<void> {
  const { openSegment, keepMonths, usageMonths, holderPid, onUsageUpdate } = job;
  return checkpointWithUsage(realDisk, folder, openSegment, {
    keepMonths,
    usageMonths,
    isStillWanted: () => isLockedBy(realDisk, folder, holderPid),
    onUsageUpdate,
  });
}

/** Why a checkpoint process failed, in a way that the server must react to. */
export type CheckpointFailure =
  | { readonly reason: "hung"; readonly message: string }
  | { readonly reason: "audit_damaged"; readonly message: string; readonly hint: string };

/** The error with which `WireOptions.checkpoint` reports a failure. */
export const checkpointError = (failure: CheckpointFailure): Error =>
  failure.reason === "hung"
    ? new CheckpointHung(failure.message)
    : new AuditDamaged(failure.message, failure.hint);

const sizeOf = (path: string): number => realDisk.stat(path)?.size ?? 0;

/** How much a checkpoint has to read. */
export const countBytesToRead = (folder: string): number =>
  listSegments(realDisk, folder).reduce(
    (sum, { path }) => sum + sizeOf(path),
    sizeOf(join(folder, STATE_FILE)),
  );

/** How much it has written. Null: unknown for now; an error must not end the supervision. */
export function countBytesWritten(folder: string): number | null {
  try {
    const auditFiles = realDisk
      .list(join(folder, AUDIT_FOLDER))
      .map((name) => join(AUDIT_FOLDER, name));
    const usageFiles = realDisk
      .list(join(folder, USAGE_FOLDER))
      .map((name) => join(USAGE_FOLDER, name));
    const names = [`${STATE_FILE}.new`, ...auditFiles, ...usageFiles];
    return names.reduce((sum, name) => sum + sizeOf(join(folder, name)), 0);
  } catch {
    return null;
  }
}
