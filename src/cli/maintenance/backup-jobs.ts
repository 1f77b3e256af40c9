import { err, ok, type Result } from "../../domain/result.ts";
import { MINUTE } from "../../domain/time.ts";
import type { MaintenanceFault } from "../../faults/fault-types.ts";
import type { AuditFinding } from "../../operations/audit/audit-maintenance.ts";
import type { BackupJobs } from "../../operations/backups/backup-scheduler.ts";
import {
  countBackupBytes,
  defaultBackupDirectory,
  readBackupFolder,
} from "../../operations/backups/backup-folder.ts";
import type { Environment } from "../../platform/environment.ts";
import { realDisk } from "../../platform/files/disk.ts";
import type { BackupJobOutput } from "../commands/backups/backup-job.ts";
import { EXIT_OK } from "../frame/command.ts";
import { runChildCommand } from "./child-command.ts";
import type { JobQueue } from "../../operations/job-queue.ts";
import { toMaintenanceFault } from "./maintenance-fault.ts";

const MIB = 1024 * 1024;

/** A second per MiB, after ten minutes: a share that does not answer must not block other jobs. */
const computeTimeLimit = (bytes: number): number => 10 * MINUTE + (bytes / MIB) * 1_000;

/** Runs the jobs of the backup scheduler in child processes, with those of the admin API. */
export function createBackupJobs(
  dataFolder: string,
  environment: Environment,
  queue: JobQueue,
  reportAuditFinding: (finding: AuditFinding | null) => void,
): BackupJobs {
  const run = (args: readonly string[], isAlways = false) =>
    queue[isAlways ? "runJobAlways" : "runJob"](null, async (cancel) => {
      const limit = computeTimeLimit(countBackupBytes(realDisk, dataFolder));
      const timeout = AbortSignal.timeout(limit);
      const signal = AbortSignal.any([cancel, timeout]);
      const exit = await runChildCommand([...args, "--json"], environment, signal);
      if (exit.ok || cancel.aborted || !timeout.aborted) return exit;
      const reason = `it took longer than ${Math.round(limit / MINUTE)} minutes and was stopped`;
      return err({ code: "maintenance_failed", reason });
    });
  const runJob = async (
    directory: string,
    keep: number | null,
  ): Promise<Result<BackupJobOutput, MaintenanceFault>> => {
    const numbers = keep === null ? [] : [String(keep)];
    // One backup is made at a time, and readers with many requests must not prevent it.
    const exit = await run(["backup-job", dataFolder, directory, ...numbers], keep !== null);
    if (!exit.ok) return exit;
    if (exit.value.exitCode !== EXIT_OK) return err(toMaintenanceFault(exit.value));
    return ok(JSON.parse(exit.value.stdout) as BackupJobOutput);
  };
  return {
    list: async (directory) =>
      // The journal is on the same disk: the server needs that one in any case.
      directory === defaultBackupDirectory(dataFolder)
        ? ok(readBackupFolder(realDisk, { dataFolder, directory }))
        : runJob(directory, null),
    async make(directory, keep) {
      const output = await runJob(directory, keep);
      if (!output.ok) return output;
      const { newName, auditFinding, ...report } = output.value;
      reportAuditFinding(auditFinding);
      return ok({ ...report, newName: newName ?? "" });
    },
    async verify(path) {
      const exit = await run(["verify", path, `--data=${dataFolder}`]);
      if (!exit.ok) return exit;
      const { exitCode, refusal } = exit.value;
      if (exitCode === EXIT_OK) return ok(null);
      if (refusal?.code === "backup_refused") return ok(refusal.message);
      return err(toMaintenanceFault(exit.value));
    },
  };
}
