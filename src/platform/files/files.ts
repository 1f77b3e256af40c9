import { dirname } from "node:path";
import type { Disk, OpenFile } from "./disk.ts";
import { errorCode } from "./system-error.ts";

/** New content of a file, already on disk under another name. */
export interface PreparedFile {
  /** Atomic: the path has either the old or the new content. */
  commit(): Promise<void>;
  discard(): void;
}

/** Does everything that needs disk space; `commit` only renames the file. */
export async function prepareFile(
  disk: Disk,
  path: string,
  bytes: Uint8Array,
): Promise<PreparedFile> {
  const temporaryPath = `${path}.new`;
  if (disk.stat(temporaryPath) !== null) disk.remove(temporaryPath);
  const file = disk.open(temporaryPath);
  try {
    writeAll(file, bytes);
    await file.sync();
  } finally {
    file.close();
  }
  return {
    async commit() {
      disk.rename(temporaryPath, path);
      await disk.syncFolder(dirname(path));
    },
    discard: () => disk.remove(temporaryPath),
  };
}

/** What file systems without hard links say, such as those of most USB sticks. */
const NO_LINKS = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** Renames a file, but never over another one: throws EEXIST if the new name exists by now. */
export function renameToNewName(disk: Disk, from: string, to: string): void {
  try {
    disk.link(from, to);
  } catch (error) {
    if (!NO_LINKS.has(errorCode(error) ?? "")) throw error;
    // An empty file of our own, which only this rename replaces.
    disk.open(to, "new").close();
    return disk.rename(from, to);
  }
  disk.remove(from);
}

/** Replaces a small file atomically. */
export async function replaceFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  await (await prepareFile(disk, path, bytes)).commit();
}

/** Writes all bytes: on a full disk the first write is short, and only the next one fails. */
export function writeAll(file: OpenFile, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) written += file.write(bytes.subarray(written));
}

/** Appends durably, all or nothing. Creates the file if it does not exist. */
export async function appendFile(disk: Disk, path: string, text: string): Promise<void> {
  const size = disk.stat(path)?.size;
  const file = disk.open(path);
  try {
    writeAll(file, Buffer.from(text));
    await file.sync();
  } catch (error) {
    await truncateBack(file, size ?? 0);
    throw error;
  } finally {
    file.close();
  }
  if (size === undefined) await disk.syncFolder(dirname(path));
}

/** Removes an incomplete append. Its own errors are ignored: the first error is reported. */
async function truncateBack(file: OpenFile, size: number): Promise<void> {
  try {
    file.truncate(size);
    await file.sync();
  } catch {
    // The disk refuses this too, so readers of the file must expect an incomplete last line.
  }
}
