import { HOUR, type Instant } from "../../domain/time.ts";
import { formatDay } from "../../platform/rfc3339.ts";
import type { BackupStatus } from "../backups/backup-status.ts";
import { createFinding, type Finding, type HealthReport } from "./finding.ts";

/** A backup waits for other jobs, and is retried: only then is it late. */
const OVERDUE_AFTER = HOUR;

/** Checks whether a recent backup would survive the loss of the disk. */
export function checkBackups(status: BackupStatus, now: Instant): HealthReport {
  const findings = [
    ...missingFindings(status),
    ...failureFindings(status),
    ...overdueFindings(status, now),
    ...sameDiskFindings(status),
  ];
  const { newestAt } = status;
  const isHealthy = findings.every(({ severity }) => severity === "note");
  return {
    findings,
    passed:
      isHealthy && newestAt !== null
        ? [{ check: "backups", summary: `The newest backup is of ${formatDay(newestAt)}` }]
        : [],
  };
}

/** A note: the server does not know of backups that are made in other ways. */
function missingFindings({ schedule, newestAt }: BackupStatus): Finding[] {
  if (schedule !== null || newestAt !== null) return [];
  return [
    createFinding("backup_none", "note", {
      summary: "No backup is known, and no schedule is set",
      remedy: "Set backup_schedule, or make backups in another way",
      command: "berth backup now",
    }),
  ];
}

function failureFindings({ lastFault }: BackupStatus): Finding[] {
  if (lastFault === null) return [];
  return [
    createFinding("backup_failed", "warning", {
      summary: `The backup of ${formatDay(lastFault.at)} failed: ${lastFault.message}`,
      remedy: "Remove the cause, then back up now",
      command: "berth backup now",
    }),
  ];
}

function overdueFindings(
  { schedule, newestAt, nextAt, runningSince, lastFault }: BackupStatus,
  now: Instant,
): Finding[] {
  const isOverdue = nextAt !== null && now - nextAt > OVERDUE_AFTER;
  // A failed backup is one finding: it is also the reason why the next one is late.
  if (schedule === null || !isOverdue || runningSince !== null || lastFault !== null) return [];
  const newest =
    newestAt === null ? "there is none yet" : `the newest is of ${formatDay(newestAt)}`;
  return [
    createFinding("backup_overdue", "warning", {
      summary: `The backup of ${formatDay(nextAt)} was not made: ${newest}`,
      remedy: "Back up now, and look for the cause in the server's log",
      command: "berth backup now",
    }),
  ];
}

function sameDiskFindings({ schedule, isSameDisk, directory }: BackupStatus): Finding[] {
  if (schedule === null || !isSameDisk) return [];
  return [
    createFinding("backup_same_disk", "note", {
      summary: `Backups in ${directory} are on the disk of the data folder, and are lost with it`,
      remedy: "Set backup_dir to another disk, or copy the backups to another machine",
    }),
  ];
}
