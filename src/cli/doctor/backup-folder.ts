import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { findingReport, passedReport, type HealthReport } from "../../operations/health/finding.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import type { ServeSettings } from "../serve/settings.ts";
import { allowsWritingTo, isHiddenByUnit, servicePaths } from "../service/unit.ts";

/**
 * Checks, as the owner of the data folder, whether backups can be written to the folder of
 * `backup_dir`. The server creates the folder inside the data folder itself.
 */
export function checkBackupFolder(
  { backupDir, backupSchedule }: Pick<ServeSettings, "backupDir" | "backupSchedule">,
  isService: boolean,
): HealthReport[] {
  if (backupDir === null || backupSchedule === null) return [];
  if (isService && isHiddenByUnit(backupDir)) {
    return [
      findingReport("backup_dir_unusable", "warning", {
        summary: `The service cannot use the backup folder ${backupDir}`,
        remedy:
          "Its unit hides home folders, /tmp and /var/tmp: set backup_dir to another folder, " +
          "such as /mnt/backups/berth",
      }),
    ];
  }
  const path = quoteIfNeeded(backupDir);
  if (realDisk.stat(backupDir) === null) {
    return [
      findingReport("backup_dir_unusable", "warning", {
        summary: `The backup folder ${backupDir} does not exist`,
        remedy: "Mount its disk, or create it for the user of the server",
        command: isService ? `install -d -o berth -g berth -m 700 ${path}` : `mkdir -m 700 ${path}`,
      }),
    ];
  }
  const code = findWriteError(backupDir);
  if (code !== null) {
    return [
      findingReport("backup_dir_unusable", "warning", {
        summary: `The server cannot write to the backup folder ${backupDir} (${code})`,
        remedy: "Let the user of the server write there",
        command: isService ? `chown berth ${path}` : null,
      }),
    ];
  }
  if (isService && !isAllowedByUnit(backupDir)) {
    return [
      findingReport("backup_dir_unusable", "warning", {
        summary: `The unit of the service does not let it write to the backup folder ${backupDir}`,
        remedy: "Write the unit again, then restart the service",
        command: "berth service install",
      }),
    ];
  }
  return [passedReport("backups", `Backups can be written to ${backupDir}`)];
}

const PROBE_FILE = "berth-doctor.new";

/** By a real write: only that finds a read-only file system. */
function findWriteError(folder: string): string | null {
  const path = join(folder, PROBE_FILE);
  try {
    realDisk.open(path).close();
    realDisk.remove(path);
    return null;
  } catch (error) {
    const code = errorCode(error);
    if (code === null) throw error;
    return code;
  }
}

const isAllowedByUnit = (folder: string): boolean =>
  folder.startsWith(`${servicePaths.data}/`) ||
  !existsSync(servicePaths.unit) ||
  allowsWritingTo(readFileSync(servicePaths.unit, "utf8"), folder);
