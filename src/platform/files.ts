import { dirname } from "node:path";
import type { Disk, OpenFile } from "./disk.ts";

/** A file's next content, durable beside its place. */
export interface PreparedFile {
  /** The name leads to the old content or to the new, never to half. */
  commit(): Promise<void>;
  discard(): void;
}

/** What can run out of room is done here; `put` only gives the file its name. */
export async function prepareFile(
  disk: Disk,
  path: string,
  bytes: Uint8Array,
): Promise<PreparedFile> {
  const fresh = `${path}.new`;
  if (disk.stat(fresh) !== null) disk.remove(fresh);
  const file = disk.open(fresh);
  try {
    writeAll(file, bytes);
    await file.sync();
  } finally {
    file.close();
  }
  return {
    async commit() {
      disk.rename(fresh, path);
      await disk.syncFolder(dirname(path));
    },
    discard: () => disk.remove(fresh),
  };
}

/** A small file replaced as one. */
export async function replaceFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  await (await prepareFile(disk, path, bytes)).commit();
}

/** Writes all of it: a full disk shows as a short count first and only then as an error. */
export function writeAll(file: OpenFile, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) written += file.write(bytes.subarray(written));
}

/** Adds to a file's end, durably, all of it or nothing; the file is made if it is not there. */
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

/** What was not written as a whole must not stay; what went wrong first is what is reported. */
async function truncateBack(file: OpenFile, size: number): Promise<void> {
  try {
    file.truncate(size);
    await file.sync();
  } catch {
    // A disk that does not even do that; who reads the file has to expect half a line at its end.
  }
}
