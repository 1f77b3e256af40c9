import { readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { errorCode, realDisk } from "../../platform/disk.ts";
import { writeAll } from "../../platform/files.ts";
import { FolderRefused } from "../../store/refusal.ts";
import { verify } from "../../store/verify.ts";
import { folderChecks } from "../folder-checks.ts";
import { formatCount } from "../terminal.ts";
import { createFinding, okFinding, type Finding } from "./finding.ts";

/** By the numbers the kernel gives them: where a sync may not mean what it should. */
const FILE_SYSTEMS: Readonly<Record<number, { readonly name: string; readonly why: string }>> = {
  0x01021994: { name: "tmpfs", why: "it is in memory and lost when the machine stops" },
  0x6969: { name: "NFS", why: "locks and syncs depend on another machine" },
  0xff534d42: { name: "CIFS", why: "locks and syncs depend on another machine" },
  0xfe534d42: { name: "SMB", why: "locks and syncs depend on another machine" },
  0x65735546: { name: "FUSE", why: "whether a sync reaches a disk depends on its driver" },
  0x794c7630: { name: "overlayfs", why: "a container's own layer is deleted with the container" },
};

const OTHERS = 0o077;
const MIB = 1024 * 1024;
const LOW_FREE_BYTES = 256 * MIB;
const SYNC_ROUNDS = 5;
const SLOW_SYNC_MS = 100;

/** The data folder: who may read it, what disk it is on, and whether all of it is whole. */
export async function checkDataFolder(folder: string): Promise<Finding[]> {
  const stat = realDisk.stat(folder);
  if (stat === null) {
    return [createFinding("data folder", "error", `${folder} does not exist`, "check --data")];
  }
  return [
    checkPermissions(folder, stat.mode),
    fileSystemFinding(statfsSync(folder).type),
    diskSpaceFinding(realDisk.freeBytes(folder)),
    await checkSyncSpeed(folder),
    ...(await checkIntegrity(folder)),
  ];
}

function checkPermissions(folder: string, mode: number): Finding {
  if ((mode & OTHERS) !== 0) {
    const advice = `chmod 700 ${folder}`;
    return createFinding("permissions", "warning", `other users can open ${folder}`, advice);
  }
  const open = readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .find((path) => ((realDisk.stat(path)?.mode ?? 0) & OTHERS) !== 0);
  return open === undefined
    ? okFinding("permissions", "only the folder's owner can read it")
    : createFinding("permissions", "warning", `other users can read ${open}`, `chmod go= ${open}`);
}

export function fileSystemFinding(type: number): Finding {
  const doubtful = FILE_SYSTEMS[type];
  if (doubtful === undefined)
    return okFinding("file system", "no network or memory file system detected");
  const { name, why } = doubtful;
  return createFinding(
    "file system",
    "warning",
    `${name}: ${why}`,
    "use a local disk, ext4 or xfs",
  );
}

export function diskSpaceFinding(free: number): Finding {
  const found = `${(free / MIB / 1024).toFixed(1)} GiB free`;
  return free < LOW_FREE_BYTES
    ? createFinding(
        "disk space",
        "warning",
        found,
        "free disk space: with a full disk no new slots are granted",
      )
    : okFinding("disk space", found);
}

/** Every answer waits for one of these. */
async function checkSyncSpeed(folder: string): Promise<Finding> {
  try {
    return syncSpeedFinding(await measureSyncs(join(folder, "doctor.new")));
  } catch (error) {
    const code = errorCode(error);
    if (code === null) throw error;
    const advice = "free disk space, or check the disk and the folder's owner";
    return createFinding("disk speed", "warning", `cannot write to the folder (${code})`, advice);
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

export function syncSpeedFinding(times: readonly number[]): Finding {
  const median = times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
  const found = `a sync takes ${median.toFixed(2)} ms`;
  return median > SLOW_SYNC_MS
    ? createFinding(
        "disk speed",
        "warning",
        found,
        "every change waits for one sync: use a faster disk",
      )
    : okFinding("disk speed", found);
}

async function checkIntegrity(folder: string): Promise<Finding[]> {
  try {
    const { head, auditLog, auditGaps, auditDamage } = await verify(realDisk, folder, {
      ...folderChecks,
      allowAuditDamage: true,
    });
    const gaps = auditGaps.length === 0 ? "" : `, ${formatCount(auditGaps.length, "declared gap")}`;
    const chained = `${auditLog.lines} lines of the audit log, chained${gaps}`;
    if (auditDamage === null) return [okFinding("data", `intact: ${head.seq} changes, ${chained}`)];
    return [
      okFinding("data", `intact: ${head.seq} changes`),
      createFinding("audit log", "warning", auditDamage.message, auditDamage.hint),
    ];
  } catch (error) {
    if (!(error instanceof FolderRefused)) throw error;
    return [createFinding("data", "error", error.message, error.hint)];
  }
}
