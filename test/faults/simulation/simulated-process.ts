import { basename, dirname } from "node:path";
import type {
  Disk,
  FileLock,
  FolderHandle,
  OpenFile,
  FileStat,
} from "../../../src/platform/files/disk.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import type { DiskCall, SimulatedDisk, PendingSync } from "./simulated-disk.ts";
import { SimulatedFile } from "./simulated-file.ts";
import { SimulatedFolder, type FolderEntry } from "./simulated-folder.ts";

/** Thrown by every call of a killed process; not an error of the disk. */
export class ProcessKilledError extends Error {
  override readonly name = "ProcessKilledError";
}

export const diskError = (code: string): Error =>
  Object.assign(new Error(`${code}: injected by the simulation`), { code });

const identities = new WeakMap<FolderEntry, string>();
let lastIdentity = 0;

/** One identity for each entry under all its names, like an inode number. */
function identityOf(entry: FolderEntry): string {
  const identity = identities.get(entry);
  if (identity !== undefined) return identity;
  lastIdentity += 1;
  identities.set(entry, String(lastIdentity));
  return String(lastIdentity);
}

/** The disk as one process uses it. */
export class SimulatedProcess implements Disk {
  isAlive = true;
  readonly name: string;
  readonly #disk: SimulatedDisk;
  readonly #random: SeededRandom;

  constructor(disk: SimulatedDisk, name: string, random: SeededRandom) {
    this.#disk = disk;
    this.name = name;
    this.#random = random;
  }

  list(folder: string): string[] {
    this.#call("list", folder);
    return this.#disk.findFolder(folder)?.names() ?? [];
  }

  read(path: string): Uint8Array<ArrayBuffer> | null {
    this.#call("read", path);
    return this.#disk.findFile(path)?.bytes() ?? null;
  }

  readPart(path: string, offset: number, length: number): Uint8Array<ArrayBuffer> | null {
    this.#call("readPart", path);
    return (
      this.#disk
        .findFile(path)
        ?.bytes()
        .subarray(offset, offset + length) ?? null
    );
  }

  freeBytes(): number {
    return this.#disk.freeBytes;
  }

  isRegularFile(path: string): boolean {
    this.#call("stat", path);
    return this.#disk.findEntry(path) instanceof SimulatedFile;
  }

  stat(path: string): FileStat | null {
    this.#call("stat", path);
    const entry = this.#disk.findEntry(path);
    if (entry === null) return null;
    const size = entry instanceof SimulatedFile ? entry.size : 0;
    return { mode: entry.mode, uid: 0, size, identity: identityOf(entry) };
  }

  open(path: string, how?: "new"): OpenFile {
    this.#call("open", path);
    if (how === "new" && this.#disk.findEntry(path) !== null) throw diskError("EEXIST");
    const file = this.#disk.findFile(path) ?? this.#createFile(path);
    let isOpen = true;
    const call = (name: keyof OpenFile): void => {
      // The kernel may have given the descriptor to another file by then.
      if (!isOpen && this.isAlive) this.#disk.misuse ??= `${name} of ${path} after close`;
      if (!isOpen) throw diskError("EBADF");
      this.#call(name, path);
    };
    return {
      write: (bytes) => {
        call("write");
        const count = this.#accept(path, bytes.length);
        file.append(bytes.subarray(0, count));
        return count;
      },
      truncate: (size) => {
        call("truncate");
        file.truncate(size);
      },
      sync: () => this.#sync(() => call("sync"), { name: "sync", path, process: this }, file),
      syncData: () =>
        this.#sync(() => call("syncData"), { name: "syncData", path, process: this }, file),
      identity: () => identityOf(file),
      readBack: (length) => {
        call("readBack");
        return file.bytes().subarray(0, length);
      },
      close: () => {
        try {
          call("close");
        } finally {
          isOpen = false;
        }
      },
    };
  }

  rename(from: string, to: string): void {
    this.#call("rename", to);
    this.#parent(to).rename(basename(from), basename(to));
  }

  link(from: string, to: string): void {
    this.#call("link", to);
    const entry = this.#disk.findEntry(from);
    if (entry === null) throw diskError("ENOENT");
    if (this.#disk.findEntry(to) !== null) throw diskError("EEXIST");
    this.#parent(to).add(basename(to), entry);
  }

  remove(path: string): void {
    this.#call("remove", path);
    if (this.#disk.findEntry(path) === null) throw diskError("ENOENT");
    this.#parent(path).remove(basename(path));
  }

  removeFolder(path: string): void {
    this.remove(path);
  }

  makeFolder(path: string): void {
    this.#call("makeFolder", path);
    if (this.#disk.findEntry(path) !== null) return;
    this.#requireSpace(path);
    this.#parent(path).add(basename(path), new SimulatedFolder());
  }

  setMode(path: string, mode: number): void {
    this.#call("setMode", path);
    const entry = this.#disk.findEntry(path);
    if (entry !== null) entry.mode = mode;
  }

  /** Overwrites existing bytes and syncs them. */
  async rewrite(path: string, offset: number, bytes: Uint8Array): Promise<void> {
    const [file, openFile] = [this.#disk.findFile(path), this.open(path)];
    try {
      this.#call("write", path);
      file?.overwrite(offset, bytes);
      await openFile.syncData();
    } finally {
      openFile.close();
    }
  }

  syncFolder(path: string): Promise<void> {
    const folder = this.#disk.findFolder(path);
    if (folder === null) return Promise.reject(diskError("ENOENT"));
    const name = "syncFolder";
    return this.#sync(() => this.#call(name, path), { name, path, process: this }, folder);
  }

  lock(path: string): FileLock | null {
    this.#call("lock", path);
    if (this.#disk.lockHolders.has(path)) return null;
    const file = this.#disk.findFile(path) ?? this.#createFile(path);
    this.#disk.lockHolders.set(path, this);
    return {
      identity: identityOf(file),
      note: (text) => {
        if (!this.isAlive) throw new ProcessKilledError();
        file.truncate(0);
        file.append(Buffer.from(text));
      },
      release: () => {
        if (this.#disk.lockHolders.get(path) === this) this.#disk.lockHolders.delete(path);
      },
    };
  }

  lockFolder(path: string): FolderHandle | null {
    this.#call("lockFolder", path);
    const folder = this.#disk.findFolder(path);
    if (folder === null) throw diskError("ENOENT");
    if (this.#disk.lockHolders.has(path)) return null;
    this.#disk.lockHolders.set(path, this);
    return {
      identity: identityOf(folder),
      isRemoved: () => false,
      release: () => {
        if (this.#disk.lockHolders.get(path) === this) this.#disk.lockHolders.delete(path);
      },
    };
  }

  #call(name: DiskCall["name"], path: string): void {
    if (!this.isAlive) throw new ProcessKilledError();
    this.#disk.onCall({ name, path, process: this });
    // An injected fault may have killed the process.
    if (!this.isAlive) throw new ProcessKilledError();
  }

  /** A full disk accepts what still fits; only the next write fails. */
  #accept(path: string, length: number): number {
    if (length > 0) this.#requireSpace(path);
    const count = Math.min(this.#disk.limitWrite(length), this.#disk.freeBytes);
    this.#disk.freeBytes -= count;
    return count;
  }

  #requireSpace(path: string): void {
    if (this.#disk.freeBytes > 0) return;
    this.#disk.onDiskFull(path);
    throw diskError("ENOSPC");
  }

  #createFile(path: string): SimulatedFile {
    this.#requireSpace(path);
    const file = new SimulatedFile();
    this.#parent(path).add(basename(path), file);
    return file;
  }

  #parent(path: string): SimulatedFolder {
    const folder = this.#disk.findFolder(dirname(path));
    if (folder === null) throw diskError("ENOENT");
    return folder;
  }

  async #sync(begin: () => void, call: DiskCall, entry: FolderEntry): Promise<void> {
    let failure: Error | null = null;
    try {
      begin();
    } catch (error) {
      if (!(error instanceof Error) || error instanceof ProcessKilledError) throw error;
      failure = error;
    }
    const done = Promise.withResolvers<void>();
    const sync = { ...call, failure, done, ...this.#outcomes(entry) };
    if (this.#disk.holdsSyncs) this.#disk.pendingSyncs.push(sync);
    else this.#disk.finishSync(sync);
    return done.promise;
  }

  #outcomes(entry: FolderEntry): Pick<PendingSync, "save" | "fail"> {
    // Names that a failed sync did not save are saved by the next one.
    if (entry instanceof SimulatedFolder) return { save: entry.stage(), fail: () => {} };
    const staged = entry.stage();
    return { save: () => entry.save(staged), fail: () => entry.loseStaged(staged, this.#random) };
  }
}
