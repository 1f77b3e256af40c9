import { existsSync, lstatSync, readlinkSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { quoteForShell } from "../../platform/shell-quote.ts";
import { errorCode, errorPath } from "../../platform/files/system-error.ts";

interface MessageWithHint {
  readonly message: string;
  readonly hint: string;
}

interface DescribedError extends MessageWithHint {
  /** The message without the error code. */
  readonly statement: string;
}

/** Determined at the start: a command may later switch to the user that owns the data folder. */
const startedAsRoot = process.getuid?.() === 0;

const BUG_HINT =
  "this is a bug in berth: report it with the file that berth support-bundle FILE writes";

/** The kernel's error code, for example `ENOSPC`; null: not a system error. */
export function systemCode(error: unknown): string | null {
  const code = errorCode(error);
  return code !== null && isSystemCode(code) ? code : null;
}

/**
 * Describes a system error, with its code so that it can be looked up. Any other error that arrives
 * here is a bug: its stack helps to find it.
 */
export function describeUnexpected(error: unknown): DescribedError {
  const code = systemCode(error);
  if (!(error instanceof Error) || code === null) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    const statement = `internal error: ${text}`;
    return { message: statement, statement, hint: BUG_HINT };
  }
  const path = errorPath(error);
  const description =
    (path === null ? null : describePathError(code, path)) ?? MESSAGES_WITHOUT_PATH[code];
  if (description !== undefined) {
    const { message: statement, hint } = description;
    return { message: withSystemCode(statement, code), statement, hint };
  }
  const hint = `the system returned ${code}; check the folder and its disk with berth doctor`;
  return { message: error.message, statement: error.message, hint };
}

/** Adds the code of a system error to a message, so that it can be looked up. */
export const withSystemCode = (statement: string, code: string): string =>
  isSystemCode(code) ? `${statement} (${code})` : statement;

const isSystemCode = (code: string): boolean => /^E[A-Z0-9]+$/.test(code);

const MESSAGES_WITHOUT_PATH: Readonly<Record<string, MessageWithHint>> = {
  EACCES: { message: "permission denied", hint: "run the command with sudo" },
  EBUSY: {
    message: "the file is in use by another process",
    hint: "try again when that process has ended",
  },
  EDQUOT: { message: "the disk quota is used up", hint: "free disk space, or raise the quota" },
  EFBIG: {
    message: "a file reached the file size limit",
    hint: "raise the limit: ulimit -f, or LimitFSIZE= of the service",
  },
  EIO: { message: "the disk or the medium failed", hint: "check the disk: journalctl -k" },
  EISDIR: { message: "a file is required, not a folder", hint: "specify a file" },
  EMFILE: { message: "too many open files", hint: "raise the limit: ulimit -n" },
  ENAMETOOLONG: { message: "a path is too long", hint: "use a shorter path" },
  ENFILE: {
    message: "too many open files on this machine",
    hint: "raise the limit: sysctl fs.file-max",
  },
  ENOMEM: { message: "there is not enough memory", hint: "free memory, or stop other processes" },
  ENOSPC: { message: "the disk is full", hint: "free disk space" },
};

function describePathError(code: string, path: string): MessageWithHint | null {
  switch (code) {
    case "EACCES":
    case "EPERM": {
      return { message: `permission denied: ${path}`, hint: permissionHint(path) };
    }
    case "ENOENT": {
      const missing = existsSync(dirname(path)) ? path : dirname(path);
      return { message: `${missing} does not exist`, hint: "create it, or choose another path" };
    }
    case "EEXIST":
    case "ENOTDIR": {
      const target = readDanglingLink(path);
      if (target !== null) {
        const message = `${path} is a link to ${target}, which does not exist`;
        return { message, hint: "create that folder, or remove the link" };
      }
      const file = findBlockingFile(path);
      return file === null
        ? null
        : { message: `${file} is not a folder`, hint: "specify a folder" };
    }
    case "EBUSY":
      return {
        message: `${path} is in use by another process`,
        hint: "try again when that process has ended",
      };
    case "EDQUOT":
      return {
        message: `${path} exceeds the disk quota`,
        hint: "free disk space, or raise the quota",
      };
    case "EIO":
      return {
        message: `the disk or the medium failed: ${path}`,
        hint: "check the disk: journalctl -k",
      };
    case "ELOOP":
      return { message: `${path} is a symbolic link`, hint: "remove it, or choose another path" };
    case "ENAMETOOLONG":
      return { message: `the path ${path} is too long`, hint: "use a shorter path" };
    case "EISDIR":
      return { message: `${path} is a folder`, hint: "specify a file" };
    case "ENOSPC":
      return { message: `not enough disk space for ${path}`, hint: "free space on its disk" };
    case "EROFS":
      return {
        message: `${path} is on a read-only file system`,
        hint: "choose another path, or remount the file system read-write",
      };
    default:
      return null;
  }
}

/** As root, the command works as the user that owns the data folder. */
function permissionHint(path: string): string {
  if (hasForeignOwner(path)) {
    const chown = `chown --reference=${quoteForShell(dirname(path))} ${quoteForShell(path)}`;
    return `it belongs to another user than its folder; give it to the same one: ${startedAsRoot ? "" : "sudo "}${chown}`;
  }
  return startedAsRoot
    ? `check the permissions: ls -ld ${dirname(path)}`
    : "run the command with sudo";
}

function hasForeignOwner(path: string): boolean {
  try {
    return lstatSync(path).uid !== statSync(dirname(path)).uid;
  } catch {
    return false;
  }
}

/** Where a link leads if nothing is there; else null. */
function readDanglingLink(path: string): string | null {
  try {
    return existsSync(path) ? null : readlinkSync(path);
  } catch {
    return null;
  }
}

/** The nearest existing part of the path if it is not a folder; else null. */
function findBlockingFile(path: string): string | null {
  for (let ancestor = path; ancestor !== dirname(ancestor); ancestor = dirname(ancestor)) {
    try {
      return statSync(ancestor).isDirectory() ? null : ancestor;
    } catch {
      // It does not exist: try its parent.
    }
  }
  return null;
}
