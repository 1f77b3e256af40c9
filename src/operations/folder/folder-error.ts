import { FolderChanged } from "../../store/folder/folder-changed.ts";
import { FolderBusy, FolderServed } from "../../store/folder/lock.ts";
import {
  AuditDamaged,
  AuditExportRefused,
  BackupRefused,
  DiskSpaceMissing,
  FolderRefused,
  MigrationFailed,
  PairRefused,
  RestoreUnfinished,
} from "../../store/folder/refusal.ts";
import { LogUnavailable } from "../../store/log/shared-log.ts";

/** The first class that matches counts, so a class must come before the class it extends. */
const ERROR_CLASSES = [
  [BackupRefused, "backup_refused"],
  [PairRefused, "pair_refused"],
  [MigrationFailed, "migration_failed"],
  [DiskSpaceMissing, "storage_full"],
  [AuditExportRefused, "export_refused"],
  [RestoreUnfinished, "restore_unfinished"],
  [AuditDamaged, "audit_damaged"],
  [FolderRefused, "folder_refused"],
  [FolderBusy, "folder_in_use"],
  [LogUnavailable, "log_unavailable"],
  [FolderChanged, "folder_changed"],
] as const;

/** Why an operation on a data folder, a backup or an exported audit log was refused. */
export interface FolderError {
  readonly code: (typeof ERROR_CLASSES)[number][1];
  readonly message: string;
  /** What the operator can do. */
  readonly hint: string;
  /** The folder cannot be used as it is; otherwise only this operation failed. */
  readonly needsOperator: boolean;
}

/** Whether a server uses the folder, which commands should reach through its socket. */
export const isServed = (error: unknown): error is Error => error instanceof FolderServed;

/** Recognizes what the operations of this folder, and opening a data folder, throw. */
export function findFolderError(error: unknown): FolderError | null {
  for (const [errorClass, code] of ERROR_CLASSES) {
    if (!(error instanceof errorClass)) continue;
    const { message, hint } = error;
    return { code, message, hint, needsOperator: error instanceof FolderRefused };
  }
  return null;
}
