import {
  realDisk,
  type Disk,
  type FileLock,
  type FolderHandle,
  type OpenFile,
  type FileStat,
} from "../../src/platform/files/disk.ts";
import { waitUntil } from "./wait-until.ts";

export type DiskCallName = keyof Disk | keyof OpenFile;

export interface DiskCall {
  readonly name: DiskCallName;
  readonly path: string;
}

/** The real disk, with a list of all calls and with faults that a test can inject. */
export class FaultyDisk implements Disk {
  readonly calls: DiskCall[] = [];
  /** Calls that are bugs of the caller, such as closing a file twice. */
  readonly misuses: string[] = [];
  /** Throw here to make a call fail before it has any effect. */
  beforeCall: (call: DiskCall) => void = () => {};
  /** Free bytes: the write that exceeds them is short, and the next one fails. */
  bytesLeft = Infinity;
  /** The free bytes that it reports; null: the real number. */
  reportedFreeBytes: number | null = null;
  maxWriteSize = Infinity;
  /** Maximum size of a file: the write that exceeds it is short, and the next one fails. */
  maxFileSize = Infinity;
  /** False: syncs do nothing, for tests that start a store a thousand times. */
  hasRealSync = true;
  mapStat: (path: string, stat: FileStat) => FileStat = (_path, stat) => stat;
  readonly #blocked = new Map<DiskCallName, BlockedCalls>();

  /** From now on, calls of this kind wait until the test releases them. */
  block(name: "sync" | "syncData" | "syncFolder"): BlockedCalls {
    const blocked = new BlockedCalls();
    this.#blocked.set(name, blocked);
    return blocked;
  }

  clearFaults(): void {
    this.beforeCall = () => {};
    this.bytesLeft = Infinity;
    this.maxFileSize = Infinity;
    for (const blocked of this.#blocked.values()) blocked.releaseAll();
    this.#blocked.clear();
  }

  /** The calls of these kinds so far, as "name file" without the folder. */
  listCalls(...names: readonly DiskCallName[]): string[] {
    const calls = this.calls.filter(({ name }) => names.includes(name));
    return calls.map(({ name, path }) => `${name} ${path.slice(path.lastIndexOf("/") + 1)}`);
  }

  list(folder: string): string[] {
    this.#recordCall("list", folder);
    return realDisk.list(folder);
  }

  read(path: string): Uint8Array<ArrayBuffer> | null {
    this.#recordCall("read", path);
    return realDisk.read(path);
  }

  readPart(path: string, offset: number, length: number): Uint8Array<ArrayBuffer> | null {
    this.#recordCall("readPart", path);
    return realDisk.readPart(path, offset, length);
  }

  freeBytes(folder: string): number {
    this.#recordCall("freeBytes", folder);
    return this.reportedFreeBytes ?? Math.min(this.bytesLeft, realDisk.freeBytes(folder));
  }

  removeFolder(path: string): void {
    this.#recordCall("removeFolder", path);
    realDisk.removeFolder(path);
  }

  isRegularFile(path: string): boolean {
    this.#recordCall("stat", path);
    return realDisk.isRegularFile(path);
  }

  stat(path: string): FileStat | null {
    this.#recordCall("stat", path);
    const stat = realDisk.stat(path);
    return stat && this.mapStat(path, stat);
  }

  open(path: string, how?: "new"): OpenFile {
    this.#recordCall("open", path);
    const file = realDisk.open(path, how);
    let isClosed = false;
    let syncCount = 0;
    const syncing = async (name: "sync" | "syncData"): Promise<void> => {
      if (isClosed) this.misuses.push(`${path} was synced after it was closed`);
      syncCount += 1;
      try {
        await this.#recordAndBlock(name, path);
        if (this.hasRealSync) await file[name]();
      } finally {
        syncCount -= 1;
      }
    };
    return {
      write: (bytes) => {
        this.#recordCall("write", path);
        if (this.bytesLeft <= 0 && bytes.length > 0) throw makeDiskError("ENOSPC");
        const growth = this.maxFileSize - (realDisk.stat(path)?.size ?? 0);
        if (growth <= 0 && bytes.length > 0) throw makeDiskError("EFBIG");
        const size = Math.min(bytes.length, this.bytesLeft, this.maxWriteSize, growth);
        this.bytesLeft -= size;
        return file.write(bytes.subarray(0, size));
      },
      truncate: (size) => {
        this.#recordCall("truncate", path);
        file.truncate(size);
      },
      sync: () => syncing("sync"),
      syncData: () => syncing("syncData"),
      identity: () => file.identity(),
      readBack: (length) => {
        this.#recordCall("readBack", path);
        return file.readBack(length);
      },
      close: () => {
        // The kernel reuses the descriptor for the next file: a second close would close that file.
        if (isClosed) this.misuses.push(`${path} was closed twice`);
        if (isClosed) throw makeDiskError("EBADF");
        if (syncCount > 0) this.misuses.push(`${path} was closed during a sync`);
        isClosed = true;
        // Really closed even if the call then fails, so that the test leaks no descriptor.
        file.close();
        this.#recordCall("close", path);
      },
    };
  }

  async rewrite(path: string, offset: number, bytes: Uint8Array): Promise<void> {
    await this.#recordAndBlock("rewrite", path);
    if (this.hasRealSync) await realDisk.rewrite(path, offset, bytes);
  }

  rename(from: string, to: string): void {
    this.#recordCall("rename", to);
    realDisk.rename(from, to);
  }

  link(from: string, to: string): void {
    this.#recordCall("link", to);
    realDisk.link(from, to);
  }

  remove(path: string): void {
    this.#recordCall("remove", path);
    realDisk.remove(path);
  }

  makeFolder(path: string): void {
    this.#recordCall("makeFolder", path);
    realDisk.makeFolder(path);
  }

  setMode(path: string, mode: number): void {
    this.#recordCall("setMode", path);
    realDisk.setMode(path, mode);
  }

  async syncFolder(folder: string): Promise<void> {
    await this.#recordAndBlock("syncFolder", folder);
    if (this.hasRealSync) await realDisk.syncFolder(folder);
  }

  lock(path: string): FileLock | null {
    this.#recordCall("lock", path);
    return realDisk.lock(path);
  }

  lockFolder(folder: string): FolderHandle | null {
    this.#recordCall("lockFolder", folder);
    return realDisk.lockFolder(folder);
  }

  #recordCall(name: DiskCallName, path: string): void {
    this.calls.push({ name, path });
    this.beforeCall({ name, path });
  }

  async #recordAndBlock(name: DiskCallName, path: string): Promise<void> {
    this.#recordCall(name, path);
    await this.#blocked.get(name)?.wait();
  }
}

/** Calls that wait until the test releases them. */
export class BlockedCalls {
  readonly #waiting: PromiseWithResolvers<void>[] = [];
  #isReleased = false;

  get count(): number {
    return this.#waiting.length;
  }

  wait(): Promise<void> {
    if (this.#isReleased) return Promise.resolve();
    const gate = Promise.withResolvers<void>();
    this.#waiting.push(gate);
    return gate.promise;
  }

  /** Waits for a call, then releases the one that waits longest, or makes it fail. */
  async releaseOne(error: Error | null = null): Promise<void> {
    await waitUntil(() => this.#waiting.length > 0);
    const gate = this.#waiting.shift();
    if (error === null) gate?.resolve();
    else gate?.reject(error);
  }

  releaseAll(): void {
    this.#isReleased = true;
    for (const gate of this.#waiting.splice(0)) gate.resolve();
  }
}

/** An error with the code of a failed system call. */
export const makeDiskError = (code: string): Error =>
  Object.assign(new Error(`${code}: injected fault`), { code });

/** Makes the call with this number fail, counted over all calls or over those of one kind. */
export function failCallAt(
  disk: FaultyDisk,
  number: number,
  code: string,
  only?: DiskCallName,
): void {
  let count = 0;
  disk.beforeCall = ({ name }) => {
    if (only !== undefined && name !== only) return;
    count += 1;
    if (count === number) throw makeDiskError(code);
  };
}

/** Whether the promise is still not settled after a short wait. */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const waiting = Symbol("waiting");
  return (await Promise.race([promise, Bun.sleep(15).then(() => waiting)])) === waiting;
}
