import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import { realDisk, type OpenFile } from "../../platform/files/disk.ts";
import { writeAll } from "../../platform/files/files.ts";
import { randomBytes } from "../../platform/crypto/random.ts";
import { Failure } from "../frame/command.ts";

/**
 * Writes a file into a folder that others may write to. It uses an unpredictable temporary name and
 * follows no link, so that root writes only where the operator asked. `check` reads the complete
 * file before it gets its name; if that fails, nothing is left behind.
 */
export async function writeOutput<T>(
  out: string,
  fill: (file: OpenFile) => Promise<void> | void,
  check: (path: string) => T,
): Promise<T> {
  refuseSpecialFile(out);
  const temporary = `${out}.${randomBytes(8)}.new`;
  const file = realDisk.open(temporary, "new");
  try {
    try {
      await fill(file);
      await file.sync();
    } finally {
      file.close();
    }
    const result = check(temporary);
    realDisk.rename(temporary, out);
    await realDisk.syncFolder(dirname(out));
    return result;
  } catch (error) {
    if (realDisk.stat(temporary) !== null) realDisk.remove(temporary);
    throw error;
  }
}

export async function writeOutputText(out: string, text: string): Promise<void> {
  await writeOutput(out, (file) => writeAll(file, Buffer.from(text)), noCheck);
}

/** For content that cannot be checked. */
export const noCheck = (): void => {};

/**
 * A link may lead to a path that the operator did not mean. A device, such as /dev/null, or a pipe
 * would be replaced by a file.
 */
export function refuseSpecialFile(path: string): void {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry?.isSymbolicLink() === true) {
    throw new Failure(`${path} is a symbolic link`, "specify the file itself, or remove the link");
  }
  if (entry !== undefined && !entry.isFile() && !entry.isDirectory()) {
    throw new Failure(`${path} is not a regular file`, "choose a new file name");
  }
}

/** For files that must not replace an existing one. */
export function refuseToReplace(path: string): void {
  refuseSpecialFile(path);
  if (realDisk.stat(path) !== null) {
    throw new Failure(`${path} already exists`, "choose a new file name");
  }
}
