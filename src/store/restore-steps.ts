import { join } from "node:path";
import type { Restore } from "../domain/state.ts";
import type { Disk } from "../platform/disk.ts";
import { writeAll } from "../platform/files.ts";
import { generationName, AUDIT_FOLDER, isStoreFile, segmentName, STATE_FILE } from "./files.ts";
import { encodeLine, type ChainHead } from "./journal.ts";
import { RestoreUnfinished } from "./refusal.ts";

/**
 * A backup takes the place of what a folder holds in three steps, each of which can be repeated:
 * everything is written into `restore.new` and synced; renamed to `restoring-<stamp>` it counts,
 * and what was there moves to `replaced-<stamp>`; renamed to `arriving-<stamp>`, its files move up.
 * A start finds by the name how far it came, and goes on from there.
 */
const STAGING_FOLDER = "restore.new";
const RESTORING_PATTERN = /^restoring-(\d{8}T\d{6}Z-[0-9a-f]{8})$/;
const ARRIVING_PATTERN = /^arriving-(\d{8}T\d{6}Z-[0-9a-f]{8})$/;

const replacedName = (stamp: string): string => `replaced-${stamp}`;

/** For people by its time, for two in one second by its lineage. */
const formatStamp = ({ at, lineage }: Restore): string =>
  `${new Date(at).toISOString().replaceAll(/[-:]/g, "").slice(0, 15)}Z-${lineage.slice(0, 8)}`;

export interface RestorePlan {
  /** A backup as a disk, with the folder on it. */
  readonly backupDisk: Disk;
  readonly backupPath: string;
  readonly fileNames: readonly string[];
  readonly coveredSeq: number;
  readonly lastSegmentSeq: number;
  readonly head: ChainHead;
  readonly restore: Restore;
  /** Whether it comes from another host, to go on here. */
  readonly isMove: boolean;
}

/** Writes everything beside what it will replace; nothing counts yet. */
export async function stageRestore(
  disk: Disk,
  folder: string,
  staging: RestorePlan,
): Promise<void> {
  const staged = join(folder, STAGING_FOLDER);
  removeAll(disk, staged);
  try {
    await writeStagedFiles(disk, staged, staging);
  } catch (error) {
    // Most likely for want of room, which a server on the folder would miss, too.
    removeAll(disk, staged);
    throw error;
  }
}

/**
 * Makes what was staged count and moves it in. An error that comes once it counts is a
 * `RestoreUnfinished`: the folder is not as it was, whatever the operator is told otherwise.
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
    const what = isMove ? "move" : "restore";
    throw new RestoreUnfinished(
      `the ${what} took effect, but not all files are in place in ${folder}: ${formatError(error)}`,
      isMove
        ? "start the server here: it finishes the move; do not cancel the move on the old host, and do not move the file in anywhere else: two servers would grant the same slots"
        : "start the server: it finishes the restore",
    );
  }
}

async function writeStagedFiles(disk: Disk, staged: string, staging: RestorePlan): Promise<void> {
  const { backupDisk, backupPath, fileNames, coveredSeq, lastSegmentSeq, head, restore, isMove } =
    staging;
  disk.makeFolder(join(staged, AUDIT_FOLDER));
  for (const name of fileNames)
    await copyFile(backupDisk, join(backupPath, name), disk, join(staged, name));
  // There is always a generation to go back to.
  await copyFile(
    backupDisk,
    join(backupPath, STATE_FILE),
    disk,
    join(staged, generationName(coveredSeq)),
  );
  const journal = disk.open(join(staged, segmentName(lastSegmentSeq)));
  try {
    const type = isMove ? "MovedIn" : "Restored";
    const { text } = encodeLine(head, null, restore.at, [{ type, at: restore.at, restore }]);
    writeAll(journal, Buffer.from(text));
    await journal.sync();
  } finally {
    journal.close();
  }
  await disk.syncFolder(join(staged, AUDIT_FOLDER));
  await disk.syncFolder(staged);
}

/** A restore that was decided and not finished; also what an interrupted one left behind. */
export const hasUnfinishedRestore = (disk: Disk, folder: string): boolean =>
  disk.list(folder).some((name) => RESTORING_PATTERN.test(name) || ARRIVING_PATTERN.test(name));

/** Where what was replaced is now, if anything was; null when no restore was under way. */
export async function finishRestore(
  disk: Disk,
  folder: string,
): Promise<{ readonly replaced: string | null } | null> {
  // A killed one never counted, and holds a copy of the key.
  removeAll(disk, join(folder, STAGING_FOLDER));
  if (!hasUnfinishedRestore(disk, folder)) return null;
  try {
    return await moveStagedFiles(disk, folder);
  } catch (error) {
    throw new RestoreUnfinished(
      `an interrupted restore of ${folder} took effect but cannot be finished yet: ${formatError(error)}`,
      "check the disk, then start the server: it finishes the restore",
    );
  }
}

async function moveStagedFiles(
  disk: Disk,
  folder: string,
): Promise<{ readonly replaced: string | null } | null> {
  const leaving = findStamp(disk, folder, RESTORING_PATTERN);
  if (leaving !== null) {
    const kept = join(folder, replacedName(leaving));
    const old = disk.list(folder).filter(isStoreFile);
    if (old.length > 0) disk.makeFolder(kept);
    for (const name of old) disk.rename(join(folder, name), join(kept, name));
    // Also when all of it was moved before, by one that was interrupted here.
    if (disk.stat(kept) !== null) await disk.syncFolder(kept);
    await disk.syncFolder(folder);
    disk.rename(join(folder, `restoring-${leaving}`), join(folder, `arriving-${leaving}`));
    await disk.syncFolder(folder);
  }
  const arriving = findStamp(disk, folder, ARRIVING_PATTERN);
  if (arriving === null) return null;
  const staged = join(folder, `arriving-${arriving}`);
  for (const name of disk.list(staged)) disk.rename(join(staged, name), join(folder, name));
  await disk.syncFolder(folder);
  await disk.syncFolder(staged);
  disk.removeFolder(staged);
  await disk.syncFolder(folder);
  const kept = join(folder, replacedName(arriving));
  return { replaced: disk.stat(kept) === null ? null : kept };
}

const formatError = (error: unknown): string =>
  error instanceof Error ? error.message : String(error);

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
    for (let at = 0; at < size; at += PART_BYTES) {
      const part = from.readPart(source, at, Math.min(PART_BYTES, size - at));
      if (part === null || part.length === 0) throw new Error(`${source} ended early`);
      writeAll(file, part);
    }
    await file.sync();
  } finally {
    file.close();
  }
}

/** What an interrupted staging left; it never counted. */
function removeAll(disk: Disk, folder: string): void {
  if (disk.stat(folder) === null) return;
  for (const name of disk.list(folder)) {
    const path = join(folder, name);
    if (name === AUDIT_FOLDER) removeAll(disk, path);
    else disk.remove(path);
  }
  disk.removeFolder(folder);
}
