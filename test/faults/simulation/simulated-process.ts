import { basename, dirname } from "node:path";
import type {
  Disk,
  FileLock,
  FolderHandle,
  OpenFile,
  FileStat,
} from "../../../src/platform/disk.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import type { DiskCall, SimulatedDisk, PendingSync } from "./simulated-disk.ts";
import { SimulatedFile } from "./simulated-file.ts";
import { SimulatedFolder, type FolderEntry } from "./simulated-folder.ts";

/** Where a process is when it is no more: it must not be mistaken for an error of the disk. */
export class ProcessKilledError extends Error {
  override readonly name = "Dead";
}

export const diskError = (code: string): Error =>
  Object.assign(new Error(`${code}: told to`), { code });

const identities = new WeakMap<FolderEntry, string>();
let lastIdentity = 0;

/** As inode numbers do it: one for every entry, whatever name leads to it. */
function identityOf(entry: FolderEntry): string {
  const known = identities.get(entry);
  if (known !== undefined) return known;
  lastIdentity += 1;
  identities.set(entry, String(lastIdentity));
  return String(lastIdentity);
}

/** The disk as one process has it. */
export class SimulatedProcess implements Disk {
  isAlive = true;
  readonly name: string;
  readonly #disk: SimulatedDisk;
  readonly #dice: SeededRandom;

  constructor(disk: SimulatedDisk, name: string, dice: SeededRandom) {
    this.#disk = disk;
    this.name = name;
    this.#dice = dice;
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
    const file = this.#disk.findFile(path) ?? this.#made(path);
    let isOpen = true;
    const call = (name: keyof OpenFile): void => {
      // By then the kernel may have given its number to another file.
      if (!isOpen && this.isAlive) this.#disk.misuse ??= `${name} of ${path} after its close`;
      if (!isOpen) throw diskError("EBADF");
      this.#call(name, path);
    };
    return {
      write: (bytes) => {
        call("write");
        const count = this.#taken(path, bytes.length);
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
    this.#needRoom(path);
    this.#parent(path).add(basename(path), new SimulatedFolder());
  }

  setMode(path: string, mode: number): void {
    this.#call("setMode", path);
    const entry = this.#disk.findEntry(path);
    if (entry !== null) entry.mode = mode;
  }

  /** Bytes over those that stand there already, synced. */
  async rewrite(path: string, offset: number, bytes: Uint8Array): Promise<void> {
    const [file, opened] = [this.#disk.findFile(path), this.open(path)];
    try {
      this.#call("write", path);
      file?.overwrite(offset, bytes);
      await opened.syncData();
    } finally {
      opened.close();
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
    const file = this.#disk.findFile(path) ?? this.#made(path);
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
      release: () => {
        if (this.#disk.lockHolders.get(path) === this) this.#disk.lockHolders.delete(path);
      },
    };
  }

  #call(name: DiskCall["name"], path: string): void {
    if (!this.isAlive) throw new ProcessKilledError();
    this.#disk.onCall({ name, path, process: this });
    // What was done before the call may have been the end of it.
    if (!this.isAlive) throw new ProcessKilledError();
  }

  /** A full disk takes what still fits, and only then says so. */
  #taken(path: string, wanted: number): number {
    if (wanted > 0) this.#needRoom(path);
    const count = Math.min(this.#disk.limitWrite(wanted), this.#disk.freeBytes);
    this.#disk.freeBytes -= count;
    return count;
  }

  #needRoom(path: string): void {
    if (this.#disk.freeBytes > 0) return;
    this.#disk.onDiskFull(path);
    throw diskError("ENOSPC");
  }

  #made(path: string): SimulatedFile {
    this.#needRoom(path);
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
    const sync = { ...call, failure, done, ...this.#fates(entry) };
    if (this.#disk.holdsSyncs) this.#disk.pendingSyncs.push(sync);
    else this.#disk.finishSync(sync);
    return done.promise;
  }

  #fates(entry: FolderEntry): Pick<PendingSync, "save" | "fail"> {
    // Names that a failed sync did not save are not forgotten: they wait for the next one.
    if (entry instanceof SimulatedFolder) return { save: entry.stage(), fail: () => {} };
    const staged = entry.stage();
    return { save: () => entry.save(staged), fail: () => entry.loseStaged(staged, this.#dice) };
  }
}
