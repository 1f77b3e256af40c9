import { existsSync, statSync } from "node:fs";
import { dirname } from "node:path";

interface Said {
  readonly message: string;
  readonly hint: string;
}

const CHECK = "check the path, its owner, and the room on its disk";

/** What the kernel refused, in words, with its own word behind them for whoever looks it up. */
export function inWords(error: Error, code: string): Said {
  const path = "path" in error && typeof error.path === "string" ? error.path : null;
  const said = path === null ? WITHOUT_PATH[code] : aboutPath(code, path);
  if (said === undefined || said === null) return { message: error.message, hint: CHECK };
  return { ...said, message: `${said.message} (${code})` };
}

const WITHOUT_PATH: Readonly<Record<string, Said>> = {
  EISDIR: { message: "a folder was named where a file is meant", hint: "name a file" },
  ENOSPC: { message: "the disk is full", hint: "make room" },
  EFBIG: {
    message: "a file may not grow beyond the limit on the size of files",
    hint: "raise the limit: ulimit -f, or LimitFSIZE= of the service",
  },
};

function aboutPath(code: string, path: string): Said | null {
  switch (code) {
    case "EACCES":
    case "EPERM": {
      const isRoot = process.getuid?.() === 0;
      const hint = isRoot ? CHECK : `sudo, if it is the service's; ${CHECK}`;
      return { message: `${path} is not for this user`, hint };
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
    case "ELOOP":
      return { message: `${path} is a symbolic link`, hint: "remove it, or name another place" };
    case "EISDIR":
      return { message: `${path} is a folder`, hint: "name a file" };
    case "ENOSPC":
      return { message: `there is no room for ${path}`, hint: "make room on its disk" };
    case "EROFS":
      return { message: `${path} is on a disk that can only be read`, hint: CHECK };
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
