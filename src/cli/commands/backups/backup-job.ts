import { wallClock } from "../../../platform/clock.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { makeStoredBackup, readBackupFolder } from "../../../operations/backups/backup-folder.ts";
import type { AuditFinding } from "../../../operations/audit/audit-maintenance.ts";
import { folderChecks } from "../../../operations/folder/folder-checks.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { Misuse } from "../../frame/options.ts";

/** What the server reads from the output; the times are milliseconds since 1970. */
export type BackupJobOutput = ReturnType<typeof readBackupFolder> & {
  readonly newName: string | null;
  /** Why older backups beyond KEEP are still there; null: they are not. */
  readonly removalFault: string | null;
  /** What the new backup found wrong with the audit log; null: nothing. */
  readonly auditFinding: AuditFinding | null;
};

/**
 * Started by the server as a child process: the backup folder may be on a network share, which can
 * stop answering at any time. With KEEP, makes a backup first, and keeps so many.
 */
export const backupJobCommand = defineCommand({
  name: "backup-job",
  summary: "make and list scheduled backups (started by the server)",
  isHidden: true,
  options: { json: option.json },
  arguments: ["FOLDER", "DIRECTORY", "[KEEP]"],
  async run(_values, { args: [dataFolder, directory, keep = ""] }) {
    if (dataFolder === undefined || directory === undefined || !/^\d*$/.test(keep)) {
      const message = "FOLDER and DIRECTORY are required";
      throw new Misuse(message, "the server runs this command itself");
    }
    const parent = process.ppid;
    const mayRemove = (): boolean => process.ppid === parent;
    const location = { dataFolder, directory };
    const checks = folderChecks;
    const options = { ...location, keep: Number(keep), mayRemove, now: wallClock(), checks };
    const backup = keep === "" ? null : await makeStoredBackup(realDisk, options);
    const { name: newName = null, removalFault = null, auditFinding = null } = backup ?? {};
    const result = { newName, removalFault, auditFinding };
    return { json: { ...result, ...readBackupFolder(realDisk, location) }, text: [] };
  },
});
