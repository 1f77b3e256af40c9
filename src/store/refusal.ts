/**
 * The data folder is not what it should be, and no program should guess what is meant. `hint` is
 * the command that helps; the process ends with exit code 78.
 */
export class FolderRefused extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "FolderRefused";
    this.hint = hint;
  }
}

/** Nothing is wrong with it: another Berth wrote it, which this one does not know, or no longer. */
export class FormatRefused extends FolderRefused {}

/** The audit log is not what was written; license state does not hang on it. */
export class AuditDamaged extends FolderRefused {}

/** A folder of an older format could not be made one of today's; it is as it was. Exit code 1. */
export class MigrationFailed extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "MigrationFailed";
    this.hint = hint;
  }
}

/** A checkpoint would not fit on the disk, and was not begun. Exit code 1. */
export class DiskSpaceMissing extends Error {
  readonly code = "ENOSPC";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "NoRoom";
    this.hint = hint;
  }
}

/** A backup cannot be made or brought back as asked; the data folder is as it was. Exit code 1. */
export class BackupRefused extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "BackupRefused";
    this.hint = hint;
  }
}

/** A restore failed when it already counted: the next start finishes it. Exit code 1. */
export class RestoreUnfinished extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "RestoreUnfinished";
    this.hint = hint;
  }
}

/** A file is not a record as it was exported. Exit code 1. */
export class AuditExportRefused extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "RecordRefused";
    this.hint = hint;
  }
}
