import { err, type Result } from "../../domain/result.ts";
import { errorCode } from "../../platform/files/system-error.ts";

/**
 * Why nothing can be made durable: no space for now, a disk that cannot be trusted any more, or in
 * a pair, another host that leads, or a log that cannot be reached.
 */
export type StorageFault =
  /** `isFileLimit`: the disk is not full, but the file reached a size limit (`ulimit -f`). */
  | { readonly code: "storage_full"; readonly isFileLimit?: true }
  /** `isHanging`: a sync has not returned for long; it may still return. */
  | { readonly code: "storage_failed"; readonly isHanging?: true; readonly isFileLimit?: never }
  /** `url`: where clients reach the host that leads; absent: it is not known. */
  | {
      readonly code: "standby";
      readonly url?: string;
      /** The name of that host; absent: it is not known. */
      readonly leader?: string;
      readonly isFileLimit?: never;
    }
  | { readonly code: "log_unavailable"; readonly isFileLimit?: never }
  /** The folder of a pair without its log: only the host that leads can make changes. */
  | { readonly code: "pair_read_only"; readonly leader: string; readonly isFileLimit?: never }
  /** In a pair: a file that both hosts have would be larger than `bytes`. */
  | {
      readonly code: "shared_file_too_large";
      readonly file: string;
      readonly bytes: number;
      readonly isFileLimit?: never;
    };

/** Whether the disk of this host is the reason, and not what the pair agreed on. */
export const isDiskFault = (fault: StorageFault | null): boolean =>
  fault?.code === "storage_full" || fault?.code === "storage_failed";

/** Whether the disk may go on by itself. */
export const isHangingDisk = (fault: StorageFault | null): boolean =>
  fault?.code === "storage_failed" && fault.isHanging === true;

export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly fault: StorageFault;

  constructor(fault: StorageFault, cause: unknown) {
    super(fault.code, { cause });
    this.fault = fault;
  }
}

/** A sync has not returned for long. What waited for it may still become durable. */
export class DiskHangs extends StorageError {
  /** Resolves when it is durable after all; rejects with a `StorageError` if that failed. */
  readonly outcome: Promise<void>;

  constructor(outcome: Promise<void>) {
    super(HANGING_DISK, null);
    this.outcome = outcome;
  }
}

export const HANGING_DISK: StorageFault = { code: "storage_failed", isHanging: true };

/** Waits as long as the disk takes. Rejects with what made it fail. */
export async function waitForOutcome(waiting: Promise<void> | null): Promise<void> {
  for (let outcome = waiting; ;) {
    try {
      await outcome;
      return;
    } catch (error) {
      if (!(error instanceof DiskHangs)) throw error;
      ({ outcome } = error);
    }
  }
}

/** The log of a pair has the batch, so it is durable, but the journal of this host lacks it. */
export class CopyError extends StorageError {}

const NO_SPACE_CODES = new Set(["ENOSPC", "EDQUOT"]);

/** The fault that a failed write means for its caller. */
export function toStorageFault(error: unknown): StorageFault {
  const code = errorCode(error) ?? "";
  if (code === "EFBIG") return { code: "storage_full", isFileLimit: true };
  return { code: NO_SPACE_CODES.has(code) ? "storage_full" : "storage_failed" };
}

/** The result of a failed write for all callers that waited for it. */
export function toFaultResult(error: unknown): Result<never, StorageFault> {
  if (error instanceof StorageError) return err(error.fault);
  throw error;
}
