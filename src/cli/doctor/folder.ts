import { readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { realDisk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { writeAll } from "../../platform/files/files.ts";
import { verify } from "../../operations/folder/verify.ts";
import { folderChecks } from "../../operations/folder/folder-checks.ts";
import { findFolderError } from "../../operations/folder/folder-error.ts";
import { formatCount } from "../frame/terminal.ts";
import { createFinding, okFinding, type Finding } from "./finding.ts";

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
const MIB = 1024 * 1024;
const LOW_FREE_BYTES = 256 * MIB;
const SYNC_ROUNDS = 5;
const SLOW_SYNC_MS = 100;

/** Checks the data folder: its permissions, its disk, and whether all data is intact. */
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
  if ((mode & GROUP_AND_OTHERS) !== 0) {
    const advice = `chmod 700 ${folder}`;
    return createFinding("permissions", "warning", `other users can open ${folder}`, advice);
  }
  const exposed = readdirSync(folder, { recursive: true })
    .map((name) => join(folder, String(name)))
    .find((path) => ((realDisk.stat(path)?.mode ?? 0) & GROUP_AND_OTHERS) !== 0);
  return exposed === undefined
    ? okFinding("permissions", "only the folder's owner can read it")
    : createFinding(
        "permissions",
        "warning",
        `other users can read ${exposed}`,
        `chmod go= ${exposed}`,
      );
}

export function fileSystemFinding(type: number): Finding {
  const unsafe = UNSAFE_FILE_SYSTEMS[type];
  if (unsafe === undefined)
    return okFinding("file system", "no network or memory file system detected");
  const { name, reason } = unsafe;
  return createFinding(
    "file system",
    "warning",
    `${name}: ${reason}`,
    "use a local disk, ext4 or xfs",
  );
}

export function diskSpaceFinding(free: number): Finding {
  const text = `${(free / MIB / 1024).toFixed(1)} GiB free`;
  return free < LOW_FREE_BYTES
    ? createFinding(
        "disk space",
        "warning",
        text,
        "free disk space: with a full disk no new slots are granted",
      )
    : okFinding("disk space", text);
}

/** Every change waits for a sync before it is answered. */
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
  const text = `a sync takes ${median.toFixed(2)} ms`;
  return median > SLOW_SYNC_MS
    ? createFinding(
        "disk speed",
        "warning",
        text,
        "every change waits for one sync: use a faster disk",
      )
    : okFinding("disk speed", text);
}

async function checkIntegrity(folder: string): Promise<Finding[]> {
  try {
    const { head, auditLog, auditGaps, auditDamage } = await verify(realDisk, folder, {
      ...folderChecks,
      allowAuditDamage: true,
    });
    const gaps = auditGaps.length === 0 ? "" : `, ${formatCount(auditGaps.length, "declared gap")}`;
    const chained = `${formatCount(auditLog.lines, "line")} of the audit log, chained${gaps}`;
    if (auditDamage === null) return [okFinding("data", `intact: ${head.seq} changes, ${chained}`)];
    return [
      okFinding("data", `intact: ${head.seq} changes`),
      createFinding("audit log", "warning", auditDamage.message, auditDamage.hint),
    ];
  } catch (error) {
    const refusal = findFolderError(error);
    if (refusal?.needsOperator !== true) throw error;
    return [createFinding("data", "error", refusal.message, refusal.hint)];
  }
}
