// A data folder in memory: cheap enough to copy, damage and start from a hundred thousand times.
// Its disk can run out of space at any byte, as a real disk does.
import { linkSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type {
  Disk,
  FileLock,
  FolderHandle,
  OpenFile,
  FileStat,
} from "../../../src/platform/files/disk.ts";
import { makeDiskError } from "../../support/faulty-disk.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** A file's content; two names may share one. The bytes are replaced, never modified. */
export interface Inode {
  readonly bytes: Bytes;
}

/** Files by their path in the data folder: `state.json`, `history/2026-03.jsonl`. */
export type FileTree = ReadonlyMap<string, Inode>;

/** The path under which a `MemoryDisk` has its tree. */
export const MEMORY_FOLDER = "/srv/berth";

/** Written by every start, also by one that is refused. */
export const LOCK_FILES: ReadonlySet<string> = new Set(["lock", "checkpoint.lock"]);

export const fileBytes = (tree: FileTree, name: string): Bytes =>
  tree.get(name)?.bytes ?? new Uint8Array();

/** Damages a file as a bad sector does: under every name that it has. */
export function replaceInode(tree: FileTree, name: string, bytes: Bytes): FileTree {
  const before = tree.get(name);
  const after: Inode = { bytes };
  return new Map(
    [...tree].map(([otherName, inode]) => [otherName, inode === before ? after : inode]),
  );
}

/** Puts a new file under a name, as a copy does; other names keep the old content. */
export const replaceFile = (tree: FileTree, name: string, bytes: Bytes): FileTree =>
  new Map([...tree, [name, { bytes }]]);

export const withoutFiles = (tree: FileTree, ...names: readonly string[]): FileTree =>
  new Map([...tree].filter(([name]) => !names.includes(name)));

export const isSameBytes = (first: Bytes, second: Bytes): boolean =>
  first.length === second.length && Buffer.compare(first, second) === 0;

/** Names of the files that differ between two trees, without lock files. */
export function changedFiles(before: FileTree, after: FileTree): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => {
    const [first, second] = [before.get(name)?.bytes, after.get(name)?.bytes];
    if (first === second || LOCK_FILES.has(name)) return false;
    return first === undefined || second === undefined || !isSameBytes(first, second);
  });
}

/** Reads a real folder; names with the same inode share one `Inode`. */
export function readTree(folder: string): FileTree {
  const inodes = new Map<number, Inode>();
  const tree = new Map<string, Inode>();
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const { ino } = statSync(path);
    const inode = inodes.get(ino) ?? { bytes: new Uint8Array(readFileSync(path)) };
    inodes.set(ino, inode);
    tree.set(relative(folder, path), inode);
  }
  return tree;
}

/** Writes a tree as a new real folder. */
export function writeTree(tree: FileTree, folder: string): void {
  const written = new Map<Inode, string>();
  mkdirSync(folder, { mode: 0o700 });
  for (const [name, inode] of tree) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const existingPath = written.get(inode);
    if (existingPath === undefined) writeFileSync(path, inode.bytes, { mode: 0o600 });
    else linkSync(existingPath, path);
    written.set(inode, path);
  }
}

interface MemoryFile {
  bytes: Bytes;
}

/** A disk with one tree, at `MEMORY_FOLDER`. */
export class MemoryDisk implements Disk {
  readonly #files = new Map<string, MemoryFile>();
  /** Its size in bytes; when it is full, a write is short and the next one fails. */
  capacity = Infinity;
  /** The number of free bytes it reports; null: the true number. */
  claimedFreeBytes: number | null = null;
  /** Number of bytes appended so far. */
  writtenBytes = 0;
  /** False: not even an empty file can be created. */
  canCreateFiles = true;

  constructor(tree: FileTree) {
    const byInode = new Map<Inode, MemoryFile>();
    for (const [name, inode] of tree) {
      const file = byInode.get(inode) ?? { bytes: inode.bytes };
      byInode.set(inode, file);
      this.#files.set(name, file);
    }
  }

  toTree(): FileTree {
    const inodes = new Map<MemoryFile, Inode>();
    const tree = new Map<string, Inode>();
    for (const [name, file] of this.#files) {
      const inode = inodes.get(file) ?? { bytes: file.bytes };
      inodes.set(file, inode);
      tree.set(name, inode);
    }
    return tree;
  }

  get usedBytes(): number {
    let sum = 0;
    for (const file of new Set(this.#files.values())) sum += file.bytes.length;
    return sum;
  }

  list(folder: string): string[] {
    const prefix = folder === MEMORY_FOLDER ? "" : `${relativeName(folder)}/`;
    const names = [...this.#files.keys()].filter((name) => name.startsWith(prefix));
    return [...new Set(names.map((name) => name.slice(prefix.length).split("/")[0] ?? ""))];
  }

  read(path: string): Bytes | null {
    return this.#files.get(relativeName(path))?.bytes ?? null;
  }

  readPart(path: string, offset: number, length: number): Bytes | null {
    return this.read(path)?.subarray(offset, offset + length) ?? null;
  }

  freeBytes(): number {
    return this.claimedFreeBytes ?? this.capacity - this.usedBytes;
  }

  async rewrite(path: string, offset: number, bytes: Uint8Array): Promise<void> {
    const file = this.#find(path);
    const rest = file.bytes.subarray(offset + bytes.length);
    file.bytes = concatBytes(file.bytes.subarray(0, offset), bytes, rest);
  }

  isRegularFile(path: string): boolean {
    return this.#files.has(relativeName(path));
  }

  stat(path: string): FileStat | null {
    if (path === MEMORY_FOLDER) return { mode: 0o700, uid: 0, size: 0, identity: null };
    const file = this.#files.get(relativeName(path));
    if (file === undefined) return null;
    return { mode: 0o600, uid: 0, size: file.bytes.length, identity: null };
  }

  open(path: string, how?: "new"): OpenFile {
    if (how === "new" && this.#files.has(relativeName(path))) throw makeDiskError("EEXIST");
    const file = this.#findOrCreate(path);
    return {
      write: (bytes) => {
        const freeBytes = this.capacity - this.usedBytes;
        if (freeBytes <= 0 && bytes.length > 0) throw makeDiskError("ENOSPC");
        const count = Math.min(freeBytes, bytes.length);
        this.writtenBytes += count;
        file.bytes = concatBytes(file.bytes, bytes.subarray(0, count));
        return count;
      },
      truncate: (size) => {
        file.bytes = file.bytes.slice(0, size);
      },
      sync: async () => {},
      syncData: async () => {},
      identity: () => null,
      readBack: (length) => file.bytes.slice(0, length),
      close: () => {},
    };
  }

  rename(from: string, to: string): void {
    const file = this.#find(from);
    this.#files.delete(relativeName(from));
    this.#files.set(relativeName(to), file);
  }

  link(from: string, to: string): void {
    if (this.#files.has(relativeName(to))) throw makeDiskError("EEXIST");
    this.#files.set(relativeName(to), this.#find(from));
  }

  remove(path: string): void {
    this.#find(path);
    this.#files.delete(relativeName(path));
  }

  makeFolder(): void {}

  removeFolder(): void {}

  setMode(): void {}

  async syncFolder(): Promise<void> {}

  lock(path: string): FileLock {
    const file = this.#findOrCreate(path);
    return {
      identity: null,
      note(text) {
        file.bytes = new Uint8Array(Buffer.from(text));
      },
      release() {},
    };
  }

  lockFolder(): FolderHandle {
    return { identity: null, isRemoved: () => false, release() {} };
  }

  #findOrCreate(path: string): MemoryFile {
    const name = relativeName(path);
    const file = this.#files.get(name) ?? { bytes: new Uint8Array() };
    if (!this.#files.has(name) && !this.canCreateFiles) throw makeDiskError("ENOSPC");
    this.#files.set(name, file);
    return file;
  }

  #find(path: string): MemoryFile {
    const file = this.#files.get(relativeName(path));
    if (file === undefined) throw makeDiskError("ENOENT");
    return file;
  }
}

const relativeName = (path: string): string => path.slice(MEMORY_FOLDER.length + 1);

export function concatBytes(...parts: readonly Uint8Array[]): Bytes {
  return new Uint8Array(Buffer.concat(parts));
}
