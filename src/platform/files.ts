import { dirname } from "node:path";
import type { Disk, OpenFile } from "./disk.ts";

/** A small file replaced as one: the name leads to the old content or to the new, never to half. */
export async function replaceFile(disk: Disk, path: string, bytes: Uint8Array): Promise<void> {
  const fresh = `${path}.new`;
  if (disk.stat(fresh) !== null) disk.remove(fresh);
  const file = disk.open(fresh);
  try {
    writeAll(file, bytes);
    await file.sync();
  } finally {
    file.close();
  }
  disk.rename(fresh, path);
  await disk.syncFolder(dirname(path));
}

/** Writes all of it: a full disk shows as a short count first and only then as an error. */
export function writeAll(file: OpenFile, bytes: Uint8Array): void {
  let written = 0;
  while (written < bytes.length) written += file.write(bytes.subarray(written));
}

/** Adds to a file's end, durably; the file is made if it is not there. */
export async function appendFile(disk: Disk, path: string, text: string): Promise<void> {
  const isNew = disk.stat(path) === null;
  const file = disk.open(path);
  try {
    writeAll(file, Buffer.from(text));
    await file.sync();
  } finally {
    file.close();
  }
  if (isNew) await disk.syncFolder(dirname(path));
}
