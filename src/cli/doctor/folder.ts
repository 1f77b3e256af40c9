import { readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { writeAll } from "../../platform/files/files.ts";
import { verify } from "../../operations/folder/verify.ts";
import { folderChecks } from "../../operations/folder/folder-checks.ts";
import { findFolderError } from "../../operations/folder/folder-error.ts";
import {
  capitalize,
  findingReport,
  mergeReports,
  passedReport,
  type HealthReport,
} from "../../operations/health/finding.ts";
import { USAGE_REMEDY } from "../../operations/health/usage.ts";
import { findUsageProblem } from "../../operations/usage/check-usage-files.ts";
import { quoteIfNeeded } from "../../platform/shell-quote.ts";
import { formatCount } from "../frame/terminal.ts";

/** By the kernel's type numbers: file systems on which a sync may not make data durable. */
const UNSAFE_FILE_SYSTEMS: Readonly<
  Record<number, { readonly name: string; readonly reason: string }>
> = {
  0x01021994: { name: "tmpfs", reason: "it is in memory and lost when the machine stops" },
  0x6969: { name: "NFS", reason: "locks and syncs depend on another machine" },
  0xff534d42: { name: "CIFS", reason: "locks and syncs depend on another machine" },
  0xfe534d42: { name: "SMB", reason: "locks and syncs depend on another machine" },
  0x65735546: { name: "FUSE", reason: "whether a sync reaches a disk depends on its driver" },
  0x794c7630: {
    name: "overlayfs",
    reason: "a container's own layer is deleted with the container",
  },
};

const GROUP_AND_OTHERS = 0o077;
const SYNC_ROUNDS = 5;
const SLOW_SYNC_MS = 100;

/** Checks the data folder: its permissions, its disk, and whether all data is intact. */
export async function checkDataFolder(folder: string): Promise<HealthReport> {
  const stat = realDisk.stat(folder);
  if (stat === null) {
    const summary = `The data folder ${folder} does not exist`;
    return findingReport("folder_missing", "error", { summary, remedy: "Check --data" });
  }
  return mergeReports([
    checkPermissions(folder, stat.mode),
    checkFileSystem(statfsSync(folder).type),
    await checkSyncSpeed(folder),
    await checkIntegrity(folder),
  ]);
}

function checkPermissions(folder: string, mode: number): HealthReport {
  if ((mode & GROUP_AND_OTHERS) !== 0) return readableFinding(folder, "chmod 700");
  const exposed = readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .find((path) => ((realDisk.stat(path)?.mode ?? 0) & GROUP_AND_OTHERS) !== 0);
  return exposed === undefined
    ? passedReport("permissions", "Only the owner of the data folder can read it")
    : readableFinding(exposed, "chmod go=");
}

const readableFinding = (path: string, command: string): HealthReport =>
  findingReport("folder_readable", "warning", {
    summary: `Other users can read ${path}`,
    remedy: "Allow only the owner to read it",
    command: `${command} ${quoteIfNeeded(path)}`,
    subject: path,
  });

export function checkFileSystem(type: number): HealthReport {
  const unsafe = UNSAFE_FILE_SYSTEMS[type];
  if (unsafe === undefined)
    return passedReport("file_system", "The data folder is not in memory or on a network");
  const { name, reason } = unsafe;
  return findingReport("file_system_unsafe", "warning", {
    summary: `The data folder is on ${name}: ${reason}`,
    remedy: "Use a local disk, ext4 or xfs",
    subject: name,
  });
}

/** Every change waits for a sync before it is answered. */
async function checkSyncSpeed(folder: string): Promise<HealthReport> {
  try {
    return rateSyncSpeed(await measureSyncs(join(folder, "doctor.new")));
  } catch (error) {
    const code = errorCode(error);
    if (code === null) throw error;
    return findingReport("folder_not_writable", "warning", {
      summary: `Cannot write to ${folder} (${code})`,
      remedy: "Free disk space, or check the disk and the folder's owner",
    });
  }
}

async function measureSyncs(path: string): Promise<number[]> {
  const file = realDisk.open(path);
  const times: number[] = [];
  try {
    for (let round = 0; round < SYNC_ROUNDS; round += 1) {
      const started = performance.now();
      writeAll(file, Buffer.alloc(512));
      await file.syncData();
      times.push(performance.now() - started);
    }
  } finally {
    file.close();
    realDisk.remove(path);
  }
  return times;
}

export function rateSyncSpeed(times: readonly number[]): HealthReport {
  const median = times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
  const summary = `A sync of the disk takes ${median.toFixed(2)} ms`;
  if (median <= SLOW_SYNC_MS) return passedReport("disk_speed", summary);
  const remedy = "Use a faster disk: every change waits for a sync";
  return findingReport("sync_slow", "warning", { summary, remedy });
}

async function checkIntegrity(folder: string): Promise<HealthReport> {
  try {
    const { head, auditLog, auditGaps, auditDamage } = await verify(realDisk, folder, {
      ...folderChecks,
      allowAuditDamage: true,
    });
    const gaps = auditGaps.length === 0 ? "" : `, ${formatCount(auditGaps.length, "declared gap")}`;
    const chained = `${formatCount(auditLog.lines, "line")} of the audit log, chained${gaps}`;
    const changes = `The data is intact: ${formatCount(head.seq, "change")}`;
    const usage = await checkUsageFiles(folder, auditLog.to);
    if (auditDamage === null)
      return mergeReports([passedReport("data", `${changes}, ${chained}`), usage]);
    return mergeReports([
      usage,
      passedReport("data", changes),
      findingReport("audit_damaged", "warning", {
        summary: capitalize(auditDamage.message),
        remedy: capitalize(auditDamage.hint),
      }),
    ]);
  } catch (error) {
    const refusal = findFolderError(error);
    if (refusal?.needsOperator !== true) throw error;
    return findingReport("data_damaged", "error", {
      summary: capitalize(refusal.message),
      remedy: capitalize(refusal.hint),
    });
  }
}

/** A running server updates these files a moment after its checkpoint. */
const USAGE_UPDATE_MS = 1_000;

/** Nothing is lost with these files: what they lack is read from the audit log. */
async function checkUsageFiles(folder: string, auditSeq: number): Promise<HealthReport> {
  const findProblem = (): string | null => findUsageProblem(realDisk, folder, auditSeq);
  if (findProblem() !== null) await Bun.sleep(USAGE_UPDATE_MS);
  const problem = findProblem();
  return problem === null
    ? passedReport("usage", "The usage files cover the last checkpoint")
    : findingReport("usage_outdated", "note", { summary: capitalize(problem), ...USAGE_REMEDY });
}
