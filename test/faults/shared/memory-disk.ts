// A data folder held in memory: cheap to copy, to damage, and to start from a hundred thousand
// times. Its disk can run out of room, byte by byte, the way a real one does.
import { linkSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import type {
  Disk,
  FileLock,
  FolderHandle,
  OpenFile,
  FileStat,
} from "../../../src/platform/disk.ts";
import { makeDiskError } from "../../support/faulty-disk.ts";

export type Bytes = Uint8Array<ArrayBuffer>;

/** What names lead to; two names may share one. The bytes are replaced, never changed. */
export interface Inode {
  readonly bytes: Bytes;
}

/** File names, with the folder they are in left out: `state.json`, `history/2026-03.jsonl`. */
export type FileTree = ReadonlyMap<string, Inode>;

/** Where a tree in memory pretends to be. */
export const MEMORY_FOLDER = "/srv/berth";

/** Written by whoever takes the folder, refused or not. */
export const LOCK_FILES: ReadonlySet<string> = new Set(["lock", "checkpoint.lock"]);

export const fileBytes = (tree: FileTree, name: string): Bytes =>
  tree.get(name)?.bytes ?? new Uint8Array();

/** What a bad sector does: every name of the file leads to the damage. */
export function replaceInode(tree: FileTree, name: string, bytes: Bytes): FileTree {
  const before = tree.get(name);
  const after: Inode = { bytes };
  return new Map([...tree].map(([other, inode]) => [other, inode === before ? after : inode]));
}

/** What a copy over it does, or another file of that name. */
export const replaceFile = (tree: FileTree, name: string, bytes: Bytes): FileTree =>
  new Map([...tree, [name, { bytes }]]);

export const withoutFiles = (tree: FileTree, ...names: readonly string[]): FileTree =>
  new Map([...tree].filter(([name]) => !names.includes(name)));

export const isSameBytes = (one: Bytes, other: Bytes): boolean =>
  one.length === other.length && Buffer.compare(one, other) === 0;

/** What differs between two trees, but for the locks. */
export function changedFiles(before: FileTree, after: FileTree): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => {
    const [one, other] = [before.get(name)?.bytes, after.get(name)?.bytes];
    if (one === other || LOCK_FILES.has(name)) return false;
    return one === undefined || other === undefined || !isSameBytes(one, other);
  });
}

/** The files of a real folder, with those told to be one that are. */
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

/** Makes the folder real. */
export function writeTree(tree: FileTree, folder: string): void {
  const written = new Map<Inode, string>();
  mkdirSync(folder, { mode: 0o700 });
  for (const [name, inode] of tree) {
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
    const same = written.get(inode);
    if (same === undefined) writeFileSync(path, inode.bytes, { mode: 0o600 });
    else linkSync(same, path);
    written.set(inode, path);
  }
}

interface MemoryFile {
  bytes: Bytes;
}

/** A disk that holds one tree, at `FOLDER`. */
export class MemoryDisk implements Disk {
  readonly #files = new Map<string, MemoryFile>();
  /** How many bytes it holds in all; then a write comes back short, and the next one fails. */
  capacity = Infinity;
  /** How many bytes it says are free; null: as many as there are. */
  claimedFreeBytes: number | null = null;
  /** How many bytes were appended so far. */
  writtenBytes = 0;
  /** False: not even an empty file can be made. */
  canCreateFiles = true;

  constructor(tree: FileTree) {
    const held = new Map<Inode, MemoryFile>();
    for (const [name, inode] of tree) {
      const own = held.get(inode) ?? { bytes: inode.bytes };
      held.set(inode, own);
      this.#files.set(name, own);
    }
  }

  toTree(): FileTree {
    const inodes = new Map<MemoryFile, Inode>();
    const tree = new Map<string, Inode>();
    for (const [name, held] of this.#files) {
      const inode = inodes.get(held) ?? { bytes: held.bytes };
      inodes.set(held, inode);
      tree.set(name, inode);
    }
    return tree;
  }

  get usedBytes(): number {
    let sum = 0;
    for (const held of new Set(this.#files.values())) sum += held.bytes.length;
    return sum;
  }

  list(folder: string): string[] {
    const inside = folder === MEMORY_FOLDER ? "" : `${nameOf(folder)}/`;
    const names = [...this.#files.keys()].filter((name) => name.startsWith(inside));
    return [...new Set(names.map((name) => name.slice(inside.length).split("/")[0] ?? ""))];
  }

  read(path: string): Bytes | null {
    return this.#files.get(nameOf(path))?.bytes ?? null;
  }

  readPart(path: string, offset: number, length: number): Bytes | null {
    return this.read(path)?.subarray(offset, offset + length) ?? null;
  }

  freeBytes(): number {
    return this.claimedFreeBytes ?? this.capacity - this.usedBytes;
  }

  async rewrite(path: string, offset: number, bytes: Uint8Array): Promise<void> {
    const held = this.#find(path);
    const end = held.bytes.subarray(offset + bytes.length);
    held.bytes = concatBytes(held.bytes.subarray(0, offset), bytes, end);
  }

  stat(path: string): FileStat | null {
    if (path === MEMORY_FOLDER) return { mode: 0o700, uid: 0, size: 0, identity: null };
    const held = this.#files.get(nameOf(path));
    if (held === undefined) return null;
    return { mode: 0o600, uid: 0, size: held.bytes.length, identity: null };
  }

  open(path: string, how?: "new"): OpenFile {
    if (how === "new" && this.#files.has(nameOf(path))) throw makeDiskError("EEXIST");
    const held = this.#findOrCreate(path);
    return {
      write: (bytes) => {
        const room = this.capacity - this.usedBytes;
        if (room <= 0 && bytes.length > 0) throw makeDiskError("ENOSPC");
        const taken = Math.min(room, bytes.length);
        this.writtenBytes += taken;
        held.bytes = concatBytes(held.bytes, bytes.subarray(0, taken));
        return taken;
      },
      truncate: (size) => {
        held.bytes = held.bytes.slice(0, size);
      },
      sync: async () => {},
      syncData: async () => {},
      identity: () => null,
      readBack: (length) => held.bytes.slice(0, length),
      close: () => {},
    };
  }

  rename(from: string, to: string): void {
    const held = this.#find(from);
    this.#files.delete(nameOf(from));
    this.#files.set(nameOf(to), held);
  }

  link(from: string, to: string): void {
    if (this.#files.has(nameOf(to))) throw makeDiskError("EEXIST");
    this.#files.set(nameOf(to), this.#find(from));
  }

  remove(path: string): void {
    this.#find(path);
    this.#files.delete(nameOf(path));
  }

  makeFolder(): void {}

  removeFolder(): void {}

  setMode(): void {}

  async syncFolder(): Promise<void> {}

  lock(path: string): FileLock {
    const held = this.#findOrCreate(path);
    return {
      identity: null,
      note(text) {
        held.bytes = new Uint8Array(Buffer.from(text));
      },
      release() {},
    };
  }

  lockFolder(): FolderHandle {
    return { identity: null, release() {} };
  }

  #findOrCreate(path: string): MemoryFile {
    const name = nameOf(path);
    const held = this.#files.get(name) ?? { bytes: new Uint8Array() };
    if (!this.#files.has(name) && !this.canCreateFiles) throw makeDiskError("ENOSPC");
    this.#files.set(name, held);
    return held;
  }

  #find(path: string): MemoryFile {
    const held = this.#files.get(nameOf(path));
    if (held === undefined) throw makeDiskError("ENOENT");
    return held;
  }
}

const nameOf = (path: string): string => path.slice(MEMORY_FOLDER.length + 1);

export function concatBytes(...parts: readonly Uint8Array[]): Bytes {
  return new Uint8Array(Buffer.concat(parts));
}
