import type { Disk } from "../../platform/files/disk.ts";
import { replaceFile } from "../../platform/files/files.ts";

/**
 * Moves the rest of an interrupted write, which never counted, to another file, whose path it
 * returns. Under the desk's lock.
 */
export async function cutFile(
  disk: Disk,
  path: string,
  end: number,
  rest: number,
): Promise<string> {
  const tornPath = `${path}.${end}.torn`;
  await replaceFile(disk, tornPath, disk.readPart(path, end, rest) ?? new Uint8Array());
  const file = disk.open(path);
  try {
    file.truncate(end);
    await file.sync();
  } finally {
    file.close();
  }
  return tornPath;
}
