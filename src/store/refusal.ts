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

/** A backup cannot be made or brought back as asked; the data folder is as it was. Exit code 1. */
export class BackupRefused extends Error {
  readonly hint: string;

  constructor(message: string, hint: string) {
    super(message);
    this.name = "BackupRefused";
    this.hint = hint;
  }
}
