import { closeSync, openSync, readSync } from "node:fs";
import { errorCode } from "../platform/disk.ts";
import { Misuse } from "../platform/options.ts";
import { Failure } from "./command.ts";

/** Far more than anything that is read whole needs, far less than would hurt. */
const MOST_BYTES = 1024 * 1024;

/** `-` is standard input. */
export const nameOfInput = (path: string): string => (path === "-" ? "standard input" : path);

/** Reads a file that a person named; `what` finishes "too large to be …". */
export function readInputBytes(path: string | undefined | null, what: string): Uint8Array {
  if (path == null || path === "")
    throw new Misuse(`${what} must be named`, "name a file, or - for standard input");
  const bytes = firstBytes(path, MOST_BYTES + 1, what);
  if (bytes.length > MOST_BYTES) throw tooLarge(path, what);
  return bytes;
}

export const tooLarge = (path: string, what: string): Failure =>
  new Failure(`${nameOfInput(path)} is too large to be ${what}`, "check the name of the file");

export const isEmptyFile = (path: string): Failure =>
  new Failure(`${nameOfInput(path)} is empty`, "copy it again from where it came from");

/** At most so many bytes from the beginning: a device or a pipe may never end. */
export function firstBytes(path: string, most: number, what: string): Uint8Array {
  const bytes = Buffer.alloc(most);
  let length = 0;
  try {
    const file = path === "-" ? 0 : openSync(path, "r");
    try {
      while (length < most) {
        const read = readSync(file, bytes, length, most - length, null);
        if (read === 0) break;
        length += read;
      }
    } finally {
      if (file !== 0) closeSync(file);
    }
  } catch (error) {
    throw unreadable(error, path, what);
  }
  return bytes.subarray(0, length);
}

function unreadable(error: unknown, path: string, what: string): unknown {
  const name = nameOfInput(path);
  switch (errorCode(error)) {
    case "ENOENT":
    case "ENOTDIR":
      return new Failure(`${name} is not there`, "check the name");
    case "EISDIR":
      return new Failure(`${name} is a folder`, `name ${what}, a file`);
    case "EACCES":
    case "EPERM":
      return new Failure(`permission denied: ${name}`, sudoHint());
    default:
      return error;
  }
}

const sudoHint = (): string =>
  process.getuid?.() === 0
    ? "check who may read it, and the disk it is on"
    : "run it with sudo, or copy the file to a place where you may read it";
