import {
  chmodSync,
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  ftruncateSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  renameSync,
  rmdirSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
  type Stats,
} from "node:fs";
import { flock } from "./flock.ts";
import { openExclusively } from "./windows-lock.ts";

const isWindows = process.platform === "win32";

/**
 * The file system as the store uses it: one method per system call that matters, so that every one
 * of them can be made to fail. A path that is not there reads as null; everything else throws.
 */
export interface Disk {
  list(folder: string): string[];
  read(path: string): Uint8Array<ArrayBuffer> | null;
  /** At most `length` bytes from `offset` on; fewer where the file ends. */
  readPart(path: string, offset: number, length: number): Uint8Array<ArrayBuffer> | null;
  stat(path: string): FileStat | null;
  /** Bytes that may still be written to the disk a folder is on. */
  freeBytes(folder: string): number;
  /**
   * Opens for appending, but no link; a new file is made for its owner alone (0600). `new` fails
   * with EEXIST where something, if only a link, has that name.
   */
  open(path: string, how?: "new"): OpenFile;
  /** Puts bytes over those that stand there, in place, and syncs them. */
  rewrite(path: string, offset: number, bytes: Uint8Array): Promise<void>;
  rename(from: string, to: string): void;
  link(from: string, to: string): void;
  remove(path: string): void;
  /** A folder that is empty. */
  removeFolder(path: string): void;
  makeFolder(path: string): void;
  setMode(path: string, mode: number): void;
  /** Makes the names in a folder durable: what was created, renamed or removed there. */
  syncFolder(folder: string): Promise<void>;
  /** Null when another process holds it; the lock ends with this process at the latest. */
  lock(path: string): FileLock | null;
  /** The same for a folder itself: it holds whatever becomes of the files in there. */
  lockFolder(folder: string): FolderHandle | null;
}

/**
 * Tells a file or a folder from every other one for as long as it is held open; null on a system
 * that does not say.
 */
export type FileIdentity = string | null;

export interface FileStat {
  readonly mode: number;
  readonly uid: number;
  readonly size: number;
  readonly identity: FileIdentity;
}

export interface OpenFile {
  /** One system call: may write less than it was given, and then says so instead of throwing. */
  write(bytes: Uint8Array): number;
  truncate(size: number): void;
  /** Both syncs run off the main thread. */
  sync(): Promise<void>;
  syncData(): Promise<void>;
  identity(): FileIdentity;
  /** Its first `length` bytes, also when no name leads to it any more. */
  readBack(length: number): Uint8Array<ArrayBuffer>;
  close(): void;
}

export interface FolderHandle {
  readonly identity: FileIdentity;
  release(): void;
}

export interface FileLock extends FolderHandle {
  /** Leaves a note in the lock file for whoever finds it held. */
  note(text: string): void;
}

/** Not through a link: one that leads to nothing looks as if there were no file yet. */
const NO_LINK = constants.O_NOFOLLOW ?? 0;
const APPENDING = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NO_LINK;
const CREATING = APPENDING | constants.O_EXCL;

export const realDisk: Disk = {
  list: (folder) => valueIfAbsent([], () => readdirSync(folder)),
  read: (path) =>
    valueIfAbsent(null, () => addPathToError(path, () => new Uint8Array(readFileSync(path)))),
  readPart: (path, offset, length) =>
    valueIfAbsent(null, () =>
      addPathToError(path, () => {
        const fd = openSync(path, constants.O_RDONLY);
        try {
          return readAt(fd, offset, length);
        } finally {
          closeSync(fd);
        }
      }),
    ),
  freeBytes(folder) {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  },
  stat: (path) => valueIfAbsent(null, () => toFileStat(statSync(path))),
  open: (path, how) => createOpenFile(openSync(path, how === "new" ? CREATING : APPENDING, 0o600)),
  async rewrite(path, offset, bytes) {
    const fd = openSync(path, constants.O_WRONLY);
    try {
      for (let done = 0; done < bytes.length;) {
        done += writeSync(fd, bytes, done, bytes.length - done, offset + done);
      }
      await toPromise((finished) => fsync(fd, finished));
    } finally {
      closeSync(fd);
    }
  },
  rename: renameSync,
  link: linkSync,
  remove: (path) => rmSync(path),
  removeFolder: rmdirSync,
  makeFolder: (path) => {
    mkdirSync(path, { recursive: true, mode: 0o700 });
  },
  setMode: chmodSync,
  async syncFolder(folder) {
    // No folder can be synced there; NTFS keeps a journal of its names by itself.
    if (isWindows) return;
    const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await toPromise((done) => fsync(fd, done));
    } finally {
      closeSync(fd);
    }
  },
  lock(path) {
    if (isWindows) return lockOnWindows(path);
    const fd = openSync(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    if (!flock(fd)) {
      closeSync(fd);
      return null;
    }
    return {
      identity: fileIdentity(fstatSync(fd)),
      note(text) {
        ftruncateSync(fd, 0);
        writeSync(fd, text, 0);
      },
      release: () => closeSync(fd),
    };
  },
  lockFolder(folder) {
    // No folder can be opened there.
    if (isWindows) return { identity: null, release() {} };
    const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    if (!flock(fd)) {
      closeSync(fd);
      return null;
    }
    return { identity: fileIdentity(fstatSync(fd)), release: () => closeSync(fd) };
  },
};

/** Nobody else could read a note in it. */
function lockOnWindows(path: string): FileLock | null {
  const release = openExclusively(path);
  return release && { identity: null, note() {}, release };
}

/** The real disk, with one file opened now, for when this process may no longer do so later. */
export function withOpenFile(path: string): Disk {
  const fd = openSync(path, constants.O_RDONLY);
  return {
    ...realDisk,
    stat: (asked) => (asked === path ? toFileStat(fstatSync(fd)) : realDisk.stat(asked)),
    readPart: (asked, offset, length) =>
      asked === path ? readAt(fd, offset, length) : realDisk.readPart(asked, offset, length),
  };
}

const toFileStat = (stats: Stats): FileStat => ({
  mode: stats.mode & 0o777,
  uid: stats.uid,
  size: stats.size,
  identity: fileIdentity(stats),
});

const fileIdentity = ({ dev, ino }: Stats): FileIdentity => (isWindows ? null : `${dev}:${ino}`);

function readAt(fd: number, offset: number, length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length);
  let got = 0;
  for (let count = -1; count !== 0 && got < length; got += count) {
    count = readSync(fd, bytes, got, length - got, offset + got);
  }
  return bytes.subarray(0, got);
}

function createOpenFile(fd: number): OpenFile {
  return {
    write: (bytes) => writeSync(fd, bytes),
    truncate: (size) => ftruncateSync(fd, size),
    sync: () => toPromise((done) => fsync(fd, done)),
    syncData: () => toPromise((done) => fdatasync(fd, done)),
    identity: () => fileIdentity(fstatSync(fd)),
    readBack(length) {
      // It was opened for writing alone. This opens the file itself, not whatever has its name now.
      const again = openSync(`/proc/self/fd/${fd}`, constants.O_RDONLY);
      try {
        return readAt(again, 0, length);
      } finally {
        closeSync(again);
      }
    },
    close: () => closeSync(fd),
  };
}

function toPromise(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error ? reject(error) : resolve()));
  });
}

function valueIfAbsent<T>(absent: T, look: () => T): T {
  try {
    return look();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return absent;
    throw error;
  }
}

/** A folder can be opened like a file; that it cannot be read is said without its name. */
function addPathToError<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && !("path" in error)) throw Object.assign(error, { path });
    throw error;
  }
}

/** A file or folder could not be opened: nothing of it was written, and no sync has failed. */
export const isOpenFailure = (error: unknown): boolean =>
  error instanceof Error && "syscall" in error && error.syscall === "open";

/** The kernel's word for what went wrong (`ENOSPC`, `EIO`, …), if that is what this error is. */
export function errorCode(error: unknown): string | null {
  if (!(error instanceof Error) || !("code" in error)) return null;
  return typeof error.code === "string" ? error.code : null;
}
