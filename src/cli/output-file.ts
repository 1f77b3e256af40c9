import { lstatSync } from "node:fs";
import { dirname } from "node:path";
import { realDisk, type OpenFile } from "../platform/disk.ts";
import { writeAll } from "../platform/files.ts";
import { randomBytes } from "../platform/random.ts";
import { Failure } from "./command.ts";

/**
 * Writes a file into a folder where others may write too: under a name nobody can foresee, and
 * never through a link that waits there, so that root writes nowhere but where it was asked to.
 * `check` looks at the whole file before it gets its name; one that fails leaves nothing behind.
 */
export async function writeOutput<T>(
  out: string,
  fill: (file: OpenFile) => Promise<void> | void,
  check?: (path: string) => T,
): Promise<T | undefined> {
  refuseSpecialFile(out);
  const fresh = `${out}.${randomBytes(8)}.new`;
  const file = realDisk.open(fresh, "new");
  try {
    try {
      await fill(file);
      await file.sync();
    } finally {
      file.close();
    }
    const checked = check?.(fresh);
    realDisk.rename(fresh, out);
    await realDisk.syncFolder(dirname(out));
    return checked;
  } catch (error) {
    if (realDisk.stat(fresh) !== null) realDisk.remove(fresh);
    throw error;
  }
}

export async function writeOutputText(out: string, text: string): Promise<void> {
  await writeOutput(out, (file) => writeAll(file, Buffer.from(text)));
}

/**
 * A link may lead where nobody meant to write. A device, such as /dev/null, or a pipe would be
 * replaced by a file.
 */
export function refuseSpecialFile(path: string): void {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() === true) {
    throw new Failure(`${path} is a symbolic link`, "specify the file itself, or remove the link");
  }
  if (found !== undefined && !found.isFile() && !found.isDirectory()) {
    throw new Failure(`${path} is not a regular file`, "choose a new file name");
  }
}

/** For what is only ever written anew. */
export function refuseToReplace(path: string): void {
  refuseSpecialFile(path);
  if (realDisk.stat(path) !== null) {
    throw new Failure(`${path} already exists`, "choose a new file name");
  }
}
