import { closeSync, openSync, readSync, statSync, type Stats } from "node:fs";
import { errorCode } from "../../platform/files/system-error.ts";
import { Misuse } from "../frame/options.ts";
import { Failure } from "../frame/command.ts";
import { readStandardInput } from "../frame/terminal.ts";

/** More than any input document has, and little enough for memory. */
const MAX_BYTES = 1024 * 1024;

/** `-` is standard input. */
export const describeInput = (path: string): string => (path === "-" ? "standard input" : path);

/** Reads an input file; `what` completes the message "too large to be …". */
export function readInputBytes(path: string | undefined | null, what: string): Uint8Array {
  if (path == null || path === "")
    throw new Misuse(`${what} is required`, "specify a file, or - for standard input");
  const bytes = readFirstBytes(path, MAX_BYTES + 1, what);
  if (bytes.length > MAX_BYTES) throw tooLargeError(path, what);
  return bytes;
}

/** For a file of any size, which is read in parts; not for standard input. */
export function requireReadableFile(path: string | undefined, what: string): string {
  if (path === undefined || path === "") throw new Misuse(`${what} is required`, "specify a file");
  if (isFolder(path)) throw new Failure(`${path} is a folder`, `specify a file: ${what}`);
  requireRegularFile(path, what);
  try {
    closeSync(openSync(path, "r"));
    return path;
  } catch (error) {
    throw toReadError(error, path);
  }
}

export const tooLargeError = (path: string, what: string): Failure =>
  new Failure(`${describeInput(path)} is too large to be ${what}`, "check the file name");

export const emptyFileError = (path: string): Failure =>
  new Failure(`${describeInput(path)} is empty`, "copy it again from the original");

/** Reads at most `maxBytes` from the beginning: a device or a pipe may never end. */
export function readFirstBytes(path: string, maxBytes: number, what: string): Uint8Array {
  const bytes = Buffer.alloc(maxBytes);
  let length = 0;
  // Systems report different errors for a folder that is opened as a file.
  if (path !== "-" && isFolder(path))
    throw new Failure(`${path} is a folder`, `specify a file: ${what}`);
  try {
    const file = path === "-" ? null : openSync(path, "r");
    try {
      while (length < maxBytes) {
        const read =
          file === null
            ? readStandardInput(bytes, length)
            : readSync(file, bytes, length, maxBytes - length, null);
        if (read === 0) break;
        length += read;
      }
    } finally {
      if (file !== null) closeSync(file);
    }
  } catch (error) {
    throw toReadError(error, path);
  }
  return bytes.subarray(0, length);
}

export const isFolder = (path: string): boolean => statIfReadable(path)?.isDirectory() === true;

/** For a file that is read more than once: a pipe may wait forever, and has its content once. */
export function requireRegularFile(path: string, what: string): void {
  const stats = statIfReadable(path);
  if (stats === null || stats.isFile() || stats.isDirectory()) return;
  throw new Failure(`${path} is not a regular file`, `specify a file: ${what}`);
}

/** Null: a missing or unreadable file, which is reported when it is opened. */
function statIfReadable(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function toReadError(error: unknown, path: string): unknown {
  const name = describeInput(path);
  switch (errorCode(error)) {
    case "ENOENT":
    case "ENOTDIR":
      return new Failure(`${name} does not exist`, "check the file name");
    case "EACCES":
    case "EPERM":
      return new Failure(`permission denied: ${name}`, sudoHint());
    default:
      return error;
  }
}

const sudoHint = (): string =>
  process.getuid?.() === 0
    ? "check the file's permissions and its disk"
    : "run the command with sudo, or copy the file to a folder that you can read";
