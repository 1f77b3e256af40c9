import {
  chmodSync,
  closeSync,
  constants,
  fdatasync,
  fstatSync,
  fsync,
  ftruncateSync,
  linkSync,
  lstatSync,
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
import { refillReserve, withReserve } from "./descriptor-reserve.ts";
import { flock } from "./flock.ts";
import { errorCode } from "./system-error.ts";
import { openExclusively } from "./windows-lock.ts";

const isWindows = process.platform === "win32";

/**
 * The file system as the store uses it: one method per relevant system call, so that tests can make
 * each of them fail. Reading a path that does not exist returns null; all other errors throw.
 */
export interface Disk {
  list(folder: string): string[];
  read(path: string): Uint8Array<ArrayBuffer> | null;
  /** At most `length` bytes from `offset`; fewer at the end of the file. */
  readPart(path: string, offset: number, length: number): Uint8Array<ArrayBuffer> | null;
  stat(path: string): FileStat | null;
  /** Not a folder, a pipe or a device, nor a link to a file. */
  isRegularFile(path: string): boolean;
  /** Free bytes of the disk that a folder is on. */
  freeBytes(folder: string): number;
  /**
   * Opens for appending, without following a link; a new file gets mode 0600. `new` fails with
   * EEXIST if the path exists, even as a link.
   */
  open(path: string, how?: "new"): OpenFile;
  /** Overwrites bytes in place, and syncs them. */
  rewrite(path: string, offset: number, bytes: Uint8Array): Promise<void>;
  rename(from: string, to: string): void;
  link(from: string, to: string): void;
  remove(path: string): void;
  /** The folder must be empty. */
  removeFolder(path: string): void;
  makeFolder(path: string): void;
  setMode(path: string, mode: number): void;
  /** Makes changes of names in a folder durable: created, renamed and removed files. */
  syncFolder(folder: string): Promise<void>;
  /** Null when another process has the lock. It ends with this process at the latest. */
  lock(path: string): FileLock | null;
  /** The same for a folder: the lock stays even if files in the folder are replaced. */
  lockFolder(folder: string): FolderHandle | null;
}

/**
 * Identifies a file or a folder uniquely while it is open; null on systems without such an
 * identity.
 */
export type FileIdentity = string | null;

export interface FileStat {
  readonly mode: number;
  readonly uid: number;
  readonly size: number;
  readonly identity: FileIdentity;
}

export interface OpenFile {
  /** One system call: may write fewer bytes, and returns how many. */
  write(bytes: Uint8Array): number;
  truncate(size: number): void;
  /** Both syncs run off the main thread. */
  sync(): Promise<void>;
  syncData(): Promise<void>;
  identity(): FileIdentity;
  /** The first `length` bytes, also after the file was renamed or removed. */
  readBack(length: number): Uint8Array<ArrayBuffer>;
  close(): void;
}

export interface FolderHandle {
  readonly identity: FileIdentity;
  /** Whether the folder is gone, and not only its name; false if the disk does not say. */
  isRemoved(): boolean;
  release(): void;
}

export interface FileLock extends Omit<FolderHandle, "isRemoved"> {
  /** Writes a note to the lock file, for processes that find it locked. */
  note(text: string): void;
}

/** Does not follow links: a dangling link would look like a file that does not exist yet. */
const NO_LINK = constants.O_NOFOLLOW ?? 0;
const APPENDING = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | NO_LINK;
const CREATING = APPENDING | constants.O_EXCL;

export const realDisk: Disk = {
  list: (folder) => valueIfAbsent([], () => withReserve(() => readdirSync(folder))),
  read: (path) =>
    valueIfAbsent(null, () =>
      addPathToError(path, () => {
        const { buffer, byteOffset, byteLength } = withReserve(() => readFileSync(path));
        // A view: to copy a state of a million registrations takes a quarter of a second.
        return new Uint8Array(buffer, byteOffset, byteLength);
      }),
    ),
  readPart: (path, offset, length) =>
    valueIfAbsent(null, () =>
      addPathToError(path, () => {
        const fd = openDescriptor(path, constants.O_RDONLY);
        try {
          return readAt(fd, offset, length);
        } finally {
          closeDescriptor(fd);
        }
      }),
    ),
  freeBytes(folder) {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize;
  },
  stat: (path) => valueIfAbsent(null, () => toFileStat(statSync(path))),
  isRegularFile: (path) => valueIfAbsent(false, () => lstatSync(path).isFile()),
  open: (path, how) =>
    createOpenFile(openDescriptor(path, how === "new" ? CREATING : APPENDING, 0o600), path),
  async rewrite(path, offset, bytes) {
    const fd = openDescriptor(path, constants.O_WRONLY);
    try {
      for (let written = 0; written < bytes.length;) {
        written += writeSync(fd, bytes, written, bytes.length - written, offset + written);
      }
      await toPromise((finished) => fsync(fd, finished));
    } finally {
      closeDescriptor(fd);
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
    // Windows cannot sync a folder; NTFS journals names itself.
    if (isWindows) return;
    const fd = openDescriptor(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      await toPromise((done) => fsync(fd, done));
    } finally {
      closeDescriptor(fd);
    }
  },
  lock(path) {
    if (isWindows) return lockOnWindows(path);
    const fd = openDescriptor(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    if (!flock(fd)) {
      closeDescriptor(fd);
      return null;
    }
    return {
      identity: fileIdentity(fstatSync(fd)),
      note(text) {
        ftruncateSync(fd, 0);
        writeSync(fd, text, 0);
      },
      release: () => closeDescriptor(fd),
    };
  },
  lockFolder(folder) {
    // Windows cannot open a folder.
    if (isWindows) return { identity: null, isRemoved: () => false, release() {} };
    const fd = openDescriptor(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    if (!flock(fd)) {
      closeDescriptor(fd);
      return null;
    }
    return {
      identity: fileIdentity(fstatSync(fd)),
      isRemoved: () => fstatSync(fd).nlink === 0,
      release: () => closeDescriptor(fd),
    };
  },
};

const openDescriptor = (path: string, flags: number, mode?: number): number =>
  withReserve(() => openSync(path, flags, mode));

function closeDescriptor(fd: number): void {
  closeSync(fd);
  refillReserve();
}

/** Without a note: no other process could read it. */
function lockOnWindows(path: string): FileLock | null {
  const release = openExclusively(path);
  return release && { identity: null, note() {}, release };
}

/** The real disk with one file opened now, because this process may lose the right to open it. */
export function withOpenFile(path: string): Disk {
  const fd = openDescriptor(path, constants.O_RDONLY);
  return {
    ...realDisk,
    stat: (other) => (other === path ? toFileStat(fstatSync(fd)) : realDisk.stat(other)),
    readPart: (other, offset, length) =>
      other === path ? readAt(fd, offset, length) : realDisk.readPart(other, offset, length),
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
  let total = 0;
  for (let count = -1; count !== 0 && total < length; total += count) {
    count = readSync(fd, bytes, total, length - total, offset + total);
  }
  return bytes.subarray(0, total);
}

function createOpenFile(fd: number, path: string): OpenFile {
  return {
    write: (bytes) => addPathToError(path, () => writeSync(fd, bytes)),
    truncate: (size) => ftruncateSync(fd, size),
    sync: () => toPromise((done) => fsync(fd, done)),
    syncData: () => toPromise((done) => fdatasync(fd, done)),
    identity: () => fileIdentity(fstatSync(fd)),
    readBack(length) {
      // `fd` is write-only. This opens the same file, even if another one has its path now.
      const readOnly = openDescriptor(`/proc/self/fd/${fd}`, constants.O_RDONLY);
      try {
        return readAt(readOnly, 0, length);
      } finally {
        closeDescriptor(readOnly);
      }
    },
    close: () => closeDescriptor(fd),
  };
}

function toPromise(start: (done: (error: Error | null) => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    start((error) => (error ? reject(error) : resolve()));
  });
}

function valueIfAbsent<T>(fallback: T, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (errorCode(error) === "ENOENT") return fallback;
    throw error;
  }
}

/** A folder can be opened like a file, but the error of reading it has no path, so it is added. */
function addPathToError<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof Error && !("path" in error)) throw Object.assign(error, { path });
    throw error;
  }
}
