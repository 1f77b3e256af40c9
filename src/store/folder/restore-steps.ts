import { join } from "node:path";
import type { Restore } from "../../domain/model/state.ts";
import { messageOfError } from "../../platform/error-message.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { writeAll } from "../../platform/files/files.ts";
import { generationName, AUDIT_FOLDER, isStoreFile, segmentName, STATE_FILE } from "./files.ts";
import { encodeLine, type ChainHead } from "../journal/journal.ts";
import { RestoreUnfinished } from "./refusal.ts";

/**
 * A backup replaces the contents of a folder in three steps, each of which can be repeated. First,
 * everything is written into `restore.new` and synced. Second, the rename to `restoring-<stamp>`
 * makes it take effect, and the old files move to `replaced-<stamp>`. Third, it is renamed to
 * `arriving-<stamp>`, and its files move up. After an interruption, the name tells a start which
 * step comes next.
 */
const STAGING_FOLDER = "restore.new";
const RESTORING_PATTERN = /^restoring-(\d{8}T\d{6}Z-[0-9a-f]{8})$/;
const ARRIVING_PATTERN = /^arriving-(\d{8}T\d{6}Z-[0-9a-f]{8})$/;

const replacedName = (stamp: string): string => `replaced-${stamp}`;

/** The time is for people; the lineage distinguishes two restores within one second. */
const formatStamp = ({ at, lineage }: Restore): string =>
  `${new Date(at).toISOString().replaceAll(/[-:]/g, "").slice(0, 15)}Z-${lineage.slice(0, 8)}`;

export interface RestorePlan {
  /** The backup as a disk, and the path of the folder on it. */
  readonly backupDisk: Disk;
  readonly backupPath: string;
  readonly fileNames: readonly string[];
  readonly coveredSeq: number;
  readonly lastSegmentSeq: number;
  readonly head: ChainHead;
  readonly restore: Restore;
  /** Whether the appliance moves here from another host. */
  readonly isMove: boolean;
  /** A host joins a pair: its journal must end where the backup ends. */
  readonly isJoin: boolean;
}

/** Writes everything beside what it will replace; nothing takes effect yet. */
export async function stageRestore(disk: Disk, folder: string, plan: RestorePlan): Promise<void> {
  const stagingPath = join(folder, STAGING_FOLDER);
  removeAll(disk, stagingPath);
  try {
    await writeStagedFiles(disk, stagingPath, plan);
  } catch (error) {
    // The usual cause is a full disk, and a server on the folder needs the space.
    removeAll(disk, stagingPath);
    throw error;
  }
}

/**
 * Makes the staged files take effect and moves them into place. Errors after that point are thrown
 * as `RestoreUnfinished`, because the folder has changed.
 */
export async function applyRestore(
  disk: Disk,
  folder: string,
  { restore, isMove }: Pick<RestorePlan, "restore" | "isMove">,
): Promise<{ readonly replaced: string | null }> {
  const restoring = join(folder, `restoring-${formatStamp(restore)}`);
  disk.rename(join(folder, STAGING_FOLDER), restoring);
  try {
    await disk.syncFolder(folder);
    return { replaced: (await moveStagedFiles(disk, folder))?.replaced ?? null };
  } catch (error) {
    const operation = isMove ? "move" : "restore";
    throw new RestoreUnfinished(
      `the ${operation} took effect, but not all files are in place in ${folder}: ${messageOfError(error)}`,
      isMove
        ? "start the server here: it finishes the move; do not cancel the move on the old host, and do not move the file in anywhere else: two servers would grant the same slots"
        : "start the server: it finishes the restore",
    );
  }
}

async function writeStagedFiles(disk: Disk, stagingPath: string, plan: RestorePlan): Promise<void> {
  const { backupDisk, backupPath, fileNames, coveredSeq, lastSegmentSeq } = plan;
  disk.makeFolder(join(stagingPath, AUDIT_FOLDER));
  for (const name of fileNames)
    await copyFile(backupDisk, join(backupPath, name), disk, join(stagingPath, name));
  // So that there is always a generation to go back to.
  await copyFile(
    backupDisk,
    join(backupPath, STATE_FILE),
    disk,
    join(stagingPath, generationName(coveredSeq)),
  );
  const journal = disk.open(join(stagingPath, segmentName(lastSegmentSeq)));
  try {
    if (!plan.isJoin) writeAll(journal, Buffer.from(encodeRestore(plan)));
    await journal.sync();
  } finally {
    journal.close();
  }
  await disk.syncFolder(join(stagingPath, AUDIT_FOLDER));
  await disk.syncFolder(stagingPath);
}

function encodeRestore({ head, restore, isMove }: RestorePlan): string {
  const type = isMove ? "MovedIn" : "Restored";
  return encodeLine(head, null, restore.at, [{ type, at: restore.at, restore }]).text;
}

/** Whether a restore took effect but is not finished, for example because it was interrupted. */
export const hasUnfinishedRestore = (disk: Disk, folder: string): boolean =>
  disk.list(folder).some((name) => RESTORING_PATTERN.test(name) || ARRIVING_PATTERN.test(name));

/**
 * Returns the folder with the replaced files, if there were any; null: no restore was unfinished.
 */
export async function finishRestore(
  disk: Disk,
  folder: string,
): Promise<{ readonly replaced: string | null } | null> {
  // A restore killed while staging never took effect, but left a copy of the key.
  removeAll(disk, join(folder, STAGING_FOLDER));
  if (!hasUnfinishedRestore(disk, folder)) return null;
  try {
    return await moveStagedFiles(disk, folder);
  } catch (error) {
    throw new RestoreUnfinished(
      `an interrupted restore of ${folder} took effect but cannot be finished yet: ${messageOfError(error)}`,
      "check the disk, then start the server: it finishes the restore",
    );
  }
}

async function moveStagedFiles(
  disk: Disk,
  folder: string,
): Promise<{ readonly replaced: string | null } | null> {
  const restoringStamp = findStamp(disk, folder, RESTORING_PATTERN);
  if (restoringStamp !== null) {
    const replacedFolder = join(folder, replacedName(restoringStamp));
    const oldNames = disk.list(folder).filter(isStoreFile);
    if (oldNames.length > 0) disk.makeFolder(replacedFolder);
    for (const name of oldNames) disk.rename(join(folder, name), join(replacedFolder, name));
    // Also if an interrupted attempt moved all files before.
    if (disk.stat(replacedFolder) !== null) await disk.syncFolder(replacedFolder);
    await disk.syncFolder(folder);
    disk.rename(
      join(folder, `restoring-${restoringStamp}`),
      join(folder, `arriving-${restoringStamp}`),
    );
    await disk.syncFolder(folder);
  }
  const arrivingStamp = findStamp(disk, folder, ARRIVING_PATTERN);
  if (arrivingStamp === null) return null;
  const stagingPath = join(folder, `arriving-${arrivingStamp}`);
  for (const name of disk.list(stagingPath))
    disk.rename(join(stagingPath, name), join(folder, name));
  await disk.syncFolder(folder);
  await disk.syncFolder(stagingPath);
  disk.removeFolder(stagingPath);
  await disk.syncFolder(folder);
  const replacedFolder = join(folder, replacedName(arrivingStamp));
  return { replaced: disk.stat(replacedFolder) === null ? null : replacedFolder };
}

const findStamp = (disk: Disk, folder: string, pattern: RegExp): string | null =>
  disk
    .list(folder)
    .map((name) => pattern.exec(name)?.[1])
    .find((stamp) => stamp !== undefined) ?? null;

const PART_BYTES = 1024 * 1024;

async function copyFile(from: Disk, source: string, disk: Disk, to: string): Promise<void> {
  const size = from.stat(source)?.size ?? 0;
  const file = disk.open(to);
  try {
    for (let offset = 0; offset < size; offset += PART_BYTES) {
      const part = from.readPart(source, offset, Math.min(PART_BYTES, size - offset));
      if (part === null || part.length === 0) throw new Error(`${source} is shorter than expected`);
      writeAll(file, part);
    }
    await file.sync();
  } finally {
    file.close();
  }
}

/** Removes what an interrupted staging left; it never took effect. */
function removeAll(disk: Disk, folder: string): void {
  if (disk.stat(folder) === null) return;
  for (const name of disk.list(folder)) {
    const path = join(folder, name);
    if (name === AUDIT_FOLDER) removeAll(disk, path);
    else disk.remove(path);
  }
  disk.removeFolder(folder);
}
