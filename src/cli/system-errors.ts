import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { errorCode } from "../platform/disk.ts";

interface Said {
  readonly message: string;
  readonly hint: string;
}

/** A command may have become the owner of a folder since. */
const startedAsRoot = process.getuid?.() === 0;

export const BUG_HINT =
  "this is a bug in berth: report it with the file that berth support-bundle FILE writes";

/** The kernel's code, `ENOSPC` for one; null: it is no error of the system. */
export function systemCode(error: unknown): string | null {
  const code = errorCode(error);
  return code !== null && /^E[A-Z0-9]+$/.test(code) ? code : null;
}

/**
 * What the system refused, in words and with its code for whoever looks it up. Everything else that
 * arrives here is a bug: its stack helps to find it.
 */
export function describeUnexpected(error: unknown): Said {
  const code = systemCode(error);
  if (!(error instanceof Error) || code === null) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    return { message: `internal error: ${text}`, hint: BUG_HINT };
  }
  const path = "path" in error && typeof error.path === "string" ? error.path : null;
  const said = (path === null ? null : aboutPath(code, path)) ?? WITHOUT_PATH[code];
  if (said !== undefined) return { ...said, message: `${said.message} (${code})` };
  const hint = `the system refused it with ${code}; berth doctor looks at the folder and its disk`;
  return { message: error.message, hint };
}

const WITHOUT_PATH: Readonly<Record<string, Said>> = {
  EACCES: { message: "permission denied", hint: "run it with sudo" },
  EBUSY: { message: "it is in use by another process", hint: "try again when that has ended" },
  EDQUOT: { message: "the disk quota is used up", hint: "make room, or raise the quota" },
  EFBIG: {
    message: "a file may not grow beyond the limit on the size of files",
    hint: "raise the limit: ulimit -f, or LimitFSIZE= of the service",
  },
  EIO: { message: "the disk or the medium failed", hint: "look after the disk: journalctl -k" },
  EISDIR: { message: "a folder was named where a file is meant", hint: "name a file" },
  EMFILE: { message: "too many open files", hint: "raise the limit: ulimit -n" },
  ENAMETOOLONG: { message: "a path is too long", hint: "name a shorter one" },
  ENFILE: { message: "too many open files on this machine", hint: "see sysctl fs.file-max" },
  ENOMEM: { message: "there is not enough memory", hint: "free some, or end other processes" },
  ENOSPC: { message: "the disk is full", hint: "make room" },
};

function aboutPath(code: string, path: string): Said | null {
  switch (code) {
    case "EACCES":
    case "EPERM": {
      const hint = startedAsRoot ? `see who may: ls -ld ${dirname(path)}` : "run it with sudo";
      return { message: `permission denied: ${path}`, hint };
    }
    case "ENOENT": {
      const missing = existsSync(dirname(path)) ? path : dirname(path);
      return { message: `${missing} is not there`, hint: "make it, or name another place" };
    }
    case "EEXIST":
    case "ENOTDIR": {
      const file = fileOn(path);
      return file === null ? null : { message: `${file} is not a folder`, hint: "name a folder" };
    }
    case "EBUSY":
      return { message: `${path} is in use`, hint: "try again when that has ended" };
    case "EDQUOT":
      return { message: `${path} does not fit the disk quota`, hint: "make room, or raise it" };
    case "EIO":
      return {
        message: `the disk or the medium failed: ${path}`,
        hint: "look after the disk: journalctl -k",
      };
    case "ELOOP":
      return { message: `${path} is a symbolic link`, hint: "remove it, or name another place" };
    case "ENAMETOOLONG":
      return { message: `${path} is too long a path`, hint: "name a shorter one" };
    case "EISDIR":
      return { message: `${path} is a folder`, hint: "name a file" };
    case "ENOSPC":
      return { message: `there is no room for ${path}`, hint: "make room on its disk" };
    case "EROFS":
      return {
        message: `${path} is on a disk that can only be read`,
        hint: "name another place, or mount it for writing",
      };
    default:
      return null;
  }
}

/** What stands where the path needs a folder. */
function fileOn(path: string): string | null {
  for (let at = path; at !== dirname(at); at = dirname(at)) {
    try {
      return statSync(at).isDirectory() ? null : at;
    } catch {
      // Further up, then.
    }
  }
  return null;
}
