import type { AuditFinding } from "../../store/audit/audit-health.ts";
import { join, sep } from "node:path";
import { isFromFuture } from "../../domain/backups/backup-schedule.ts";
import { instant, type Instant } from "../../domain/time.ts";
import { keyIdOf, parsePrivateKey } from "../../license/documents/keys.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import {
  countCopyBytes,
  countServerReserve,
  formatMiB,
  readFreeBytes,
} from "../../store/folder/disk-space.ts";
import { BACKUPS_FOLDER, IDENTITY_FILE } from "../../store/folder/files.ts";
import { BackupRefused, DiskSpaceMissing } from "../../store/folder/refusal.ts";
import { Archive } from "./archive.ts";
import { MANIFEST_FILE, parseManifest, type BackupManifest } from "./backup-manifest.ts";
import { makeBackup, UNFINISHED_SUFFIX } from "./backup.ts";
import type { VerifyOptions } from "../folder/verify.ts";

/** A backup that a server made by its schedule or on request. */
export interface StoredBackup {
  readonly name: string;
  readonly madeAt: Instant;
  readonly size: number;
  /** The last line of the journal that it contains; null: unknown. */
  readonly seq: number | null;
  /**
   * Why it cannot be used; null: it is complete, and was verified when it was made. Only `verify`
   * notices damage after that.
   */
  readonly finding: string | null;
}

export interface BackupFolderReport {
  /** Newest first. */
  readonly backups: readonly StoredBackup[];
  /** Whether they are on the disk of the data folder. */
  readonly isSameDisk: boolean;
}

/** Where backups are kept, and of which data folder. */
export interface BackupLocation {
  readonly dataFolder: string;
  readonly directory: string;
}

/** About the size of a backup, without reading the files. */
export const countBackupBytes = (disk: Disk, dataFolder: string): number =>
  countCopyBytes(disk, dataFolder);

export const defaultBackupDirectory = (dataFolder: string): string =>
  join(dataFolder, BACKUPS_FOLDER);

const FILE_PATTERN = /^berth-([0-9A-Z]{16})-(\d{8}T\d{6})Z(?:-\d{1,3})?\.berth$/;

const formatStamp = (at: Instant): string =>
  new Date(at).toISOString().replaceAll(/[-:]/g, "").slice(0, 15);

/** The time in a file name, to the second. */
const parseStamp = (stamp: string): Instant =>
  instant(
    Date.parse(stamp.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)$/, "$1-$2-$3T$4:$5:$6Z")) ||
      0,
  );

/** Null: the folder has no readable key. */
export function readApplianceId(disk: Disk, dataFolder: string): string | null {
  try {
    const bytes = disk.read(join(dataFolder, IDENTITY_FILE));
    const key = bytes && parsePrivateKey(JSON.parse(new TextDecoder().decode(bytes)));
    return key && keyIdOf(key);
  } catch {
    return null;
  }
}

/** Lists the backups of the appliance, or of every appliance if its key cannot be read. */
export function readBackupFolder(
  disk: Disk,
  { dataFolder, directory }: BackupLocation,
): BackupFolderReport {
  const appliance = readApplianceId(disk, dataFolder);
  const backups = disk
    .list(directory)
    .map((name) => readStoredBackup(disk, directory, name, appliance))
    .filter((backup) => backup !== null)
    .toSorted((a, b) => b.madeAt - a.madeAt || (a.name < b.name ? 1 : -1));
  return { backups, isSameDisk: isSameDisk(disk, dataFolder, directory) };
}

/**
 * Null: not a backup of the appliance, by its name. Nor are folders, pipes and links, which others
 * may have put into a shared folder: behind a link could be any file that the server can read.
 */
function readStoredBackup(
  disk: Disk,
  directory: string,
  name: string,
  appliance: string | null,
): StoredBackup | null {
  const [, owner, stamp = ""] = FILE_PATTERN.exec(name) ?? [];
  if (owner === undefined || (appliance !== null && owner !== appliance)) return null;
  const path = join(directory, name);
  const size = disk.isRegularFile(path) ? disk.stat(path)?.size : undefined;
  if (size === undefined) return null;
  const facts = { name, madeAt: parseStamp(stamp), size, seq: null };
  const manifest = readManifest(disk, path);
  if ("finding" in manifest) return { ...facts, ...manifest };
  if (manifest.appliance !== owner) return { ...facts, finding: "it is of another appliance" };
  const madeAt = instant(Date.parse(manifest.made_at) || facts.madeAt);
  return { ...facts, madeAt, seq: manifest.seq, finding: null };
}

function readManifest(disk: Disk, path: string): BackupManifest | { readonly finding: string } {
  const damaged = { finding: "it is damaged, or not complete" };
  try {
    const bytes = new Archive(disk, path).read(join(path, MANIFEST_FILE));
    return (bytes && parseManifest(bytes)) ?? damaged;
  } catch (error) {
    if (error instanceof BackupRefused) return damaged;
    const code = errorCode(error);
    if (code === null) throw error;
    return { finding: `it cannot be read (${code})` };
  }
}

/** Compares the numbers of the devices; a folder that does not exist is on that of its parent. */
function isSameDisk(disk: Disk, dataFolder: string, directory: string): boolean {
  const deviceOf = (path: string): string | undefined => disk.stat(path)?.identity?.split(":")[0];
  const device = deviceOf(directory) ?? deviceOf(join(directory, ".."));
  return device === deviceOf(dataFolder);
}

export interface StoredBackupOptions extends BackupLocation {
  /** How many to keep: the newest. */
  readonly keep: number;
  /** False: the server that started it is gone, and the next one may keep more. */
  readonly mayRemove?: () => boolean;
  readonly now: Instant;
  readonly checks: VerifyOptions;
}

/**
 * Makes a verified backup and removes those that are too many. If it fails, all others are kept:
 * nothing is removed before the new one is verified and on disk.
 */
export async function makeStoredBackup(
  disk: Disk,
  options: StoredBackupOptions,
): Promise<{
  readonly name: string;
  readonly removalFault: string | null;
  /** Of the audit log; null: it is intact. */
  readonly auditFinding: AuditFinding | null;
}> {
  const { dataFolder, directory, keep, mayRemove = () => true, now, checks } = options;
  const appliance = readApplianceId(disk, dataFolder);
  if (appliance === null) {
    throw new BackupRefused(`${dataFolder} has no readable key`, "check it with berth verify");
  }
  try {
    prepareDirectory(disk, options);
    removeUnfinished(disk, directory, appliance);
    requireSpace(disk, options);
    const name = chooseName(disk, directory, appliance, now);
    const { auditDamage } = await makeBackup(disk, dataFolder, join(directory, name), now, checks);
    const auditFinding = auditDamage && { message: auditDamage.message, hint: auditDamage.hint };
    if (!mayRemove()) return { name, removalFault: null, auditFinding };
    const { backups } = readBackupFolder(disk, options);
    const surplus = findSurplusBackups(backups, keep, now).map((backup) => backup.name);
    return { name, removalFault: removeFiles(disk, directory, surplus), auditFinding };
  } catch (error) {
    throw explainWriteError(error, directory);
  }
}

/**
 * Those that are older than the newest `keep`. Only what can be restored counts: a file that is
 * damaged, of another appliance or from the future is neither counted nor removed.
 */
const findSurplusBackups = (
  backups: readonly StoredBackup[],
  keep: number,
  now: Instant,
): readonly StoredBackup[] =>
  backups
    .filter(({ finding, madeAt }) => finding === null && !isFromFuture(madeAt, now))
    .toSorted((a, b) => b.madeAt - a.madeAt)
    .slice(Math.max(1, keep));

/** Only the folder inside the data folder is created: another one may be a disk that is missing. */
function prepareDirectory(disk: Disk, { dataFolder, directory }: BackupLocation): void {
  const isDefault = directory === defaultBackupDirectory(dataFolder);
  if (!isDefault && `${directory}${sep}`.startsWith(`${dataFolder}${sep}`)) {
    throw new BackupRefused(
      `the backup folder ${directory} is inside the data folder`,
      `set backup_dir to a folder outside of ${dataFolder}, or leave it out`,
    );
  }
  if (disk.stat(directory) !== null) return;
  if (isDefault) return disk.makeFolder(directory);
  throw new BackupRefused(
    `the backup folder ${directory} does not exist`,
    "create it or mount its disk, or set backup_dir to another folder",
  );
}

function removeUnfinished(disk: Disk, directory: string, appliance: string): void {
  const names = disk.list(directory).filter((name) => {
    const finished = name.replace(UNFINISHED_SUFFIX, "");
    const isUnfinished = finished !== name && FILE_PATTERN.exec(finished)?.[1] === appliance;
    return isUnfinished && disk.isRegularFile(join(directory, name));
  });
  removeFiles(disk, directory, names);
}

/**
 * Why not all were removed, or null. Some storage lets nobody delete files, and others may own
 * files in a shared folder: that must not keep the next backup from being made.
 */
function removeFiles(disk: Disk, directory: string, names: readonly string[]): string | null {
  let fault: string | null = null;
  for (const name of names) {
    try {
      disk.remove(join(directory, name));
    } catch (error) {
      const code = errorCode(error);
      if (code === null) throw error;
      fault ??= `${name} cannot be deleted (${code})`;
    }
  }
  return fault;
}

/**
 * On the disk of the data folder, a backup must leave enough space for the server, and for another
 * copy: else the backups would use up the disk.
 */
function requireSpace(disk: Disk, { dataFolder, directory }: BackupLocation): void {
  const copy = countCopyBytes(disk, dataFolder);
  const needed = isSameDisk(disk, dataFolder, directory)
    ? 2 * copy + countServerReserve(disk, dataFolder)
    : copy;
  const free = readFreeBytes(disk, directory);
  if (free === null || free >= needed) return;
  throw new DiskSpaceMissing(
    `a backup needs ${formatMiB(needed)} of free space on the disk of ${directory}, but only ${formatMiB(free)} are free`,
    "free space on that disk, lower backup_keep, or set backup_dir to a folder on another disk",
  );
}

/** With a number if there is one of the same second. */
function chooseName(disk: Disk, directory: string, appliance: string, now: Instant): string {
  const base = `berth-${appliance}-${formatStamp(now)}Z`;
  for (let number = 1; ; number += 1) {
    const name = `${base}${number === 1 ? "" : `-${number}`}.berth`;
    if (disk.stat(join(directory, name)) === null) return name;
  }
}

const NOT_WRITABLE = new Set(["EACCES", "EPERM", "EROFS"]);

/** The reason is nearly always the owner of the folder, or the unit of the service. */
function explainWriteError(error: unknown, directory: string): unknown {
  const code = errorCode(error);
  if (code === null || !NOT_WRITABLE.has(code)) return error;
  return new BackupRefused(
    `the server cannot write to the backup folder ${directory} (${code})`,
    "let the server's user write there; for a service, sudo berth service install then allows it in the unit",
  );
}
