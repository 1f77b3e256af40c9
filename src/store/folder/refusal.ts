/**
 * The data folder is not in the expected state, and guessing the intention would be dangerous.
 * `hint` is the command that helps; the process ends with exit code 78.
 */
export class FolderRefused extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "FolderRefused";
    this.hint = hint;
  }
}

/** Nothing is damaged: it is of another version of Berth, which this one cannot read. */
export class FormatRefused extends FolderRefused {}

/** The audit log is damaged; the license state does not depend on it. */
export class AuditDamaged extends FolderRefused {}

/** A folder of an older format could not be migrated, and is unchanged. Exit code 1. */
export class MigrationFailed extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "MigrationFailed";
    this.hint = hint;
  }
}

/** A checkpoint would not fit on the disk, and was not started. Exit code 1. */
export class DiskSpaceMissing extends Error {
  readonly code = "ENOSPC";
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "DiskSpaceMissing";
    this.hint = hint;
  }
}

/** A backup cannot be made or restored as requested; the data folder is unchanged. Exit code 1. */
export class BackupRefused extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "BackupRefused";
    this.hint = hint;
  }
}

/** A restore failed after it took effect: the next start finishes it. Exit code 1. */
export class RestoreUnfinished extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "RestoreUnfinished";
    this.hint = hint;
  }
}

/** A file is not an audit log as it was exported. Exit code 1. */
export class AuditExportRefused extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "AuditExportRefused";
    this.hint = hint;
  }
}

/** A host cannot join or leave a pair as requested; nothing was changed. Exit code 1. */
export class PairRefused extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "PairRefused";
    this.hint = hint;
  }
}
