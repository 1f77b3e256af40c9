import { Misuse } from "../platform/options.ts";
import { FolderBusy } from "../store/lock.ts";
import {
  AuditDamaged,
  BackupRefused,
  FolderRefused,
  MigrationFailed,
  DiskSpaceMissing,
  AuditExportRefused,
  RestoreUnfinished,
} from "../store/refusal.ts";
import { DeskRefused } from "../desk/desk-refused.ts";
import { FAILED, Failure, INTERRUPTED, MISUSED, NEEDS_OPERATOR } from "./command.ts";
import { describeUnexpected, systemCode } from "./system-errors.ts";
import { Interrupted } from "./terminal.ts";

/** Why a command did not do what it was asked to. */
export interface Refusal {
  /** The server's code where the server refused, the kernel's where it did, else one of these. */
  readonly code: string;
  readonly message: string;
  readonly hint: string;
}

interface Described {
  readonly refusal: Refusal;
  readonly exitCode: number;
}

/** The first that fits counts: a class stands before the one it extends. */
const KINDS = [
  [Misuse, "misuse", MISUSED],
  [Failure, "failed", FAILED],
  [Interrupted, "interrupted", INTERRUPTED],
  [DeskRefused, "desk_refused", FAILED],
  [BackupRefused, "backup_refused", FAILED],
  [MigrationFailed, "migration_failed", FAILED],
  [DiskSpaceMissing, "storage_full", FAILED],
  [AuditExportRefused, "export_refused", FAILED],
  [RestoreUnfinished, "restore_unfinished", FAILED],
  [AuditDamaged, "audit_damaged", NEEDS_OPERATOR],
  [FolderRefused, "folder_refused", NEEDS_OPERATOR],
  [FolderBusy, "folder_in_use", FAILED],
] as const;

/** What a command threw, for a person and for a program. */
export function describeError(error: unknown): Described {
  for (const [kind, named, exitCode] of KINDS) {
    if (!(error instanceof kind)) continue;
    const code = error instanceof Failure ? (error.code ?? named) : named;
    return { refusal: { code, message: error.message, hint: error.hint }, exitCode };
  }
  const code = systemCode(error) ?? "internal_error";
  return { refusal: { code, ...describeUnexpected(error) }, exitCode: FAILED };
}
