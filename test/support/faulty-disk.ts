import {
  realDisk,
  type Disk,
  type FileLock,
  type FolderHandle,
  type OpenFile,
  type FileStat,
} from "../../src/platform/disk.ts";
import { PATIENCE } from "./patience.ts";

export type DiskCallName = keyof Disk | keyof OpenFile;

export interface DiskCall {
  readonly name: DiskCallName;
  readonly path: string;
}

/** The real disk, which keeps a list of what was asked of it and can be told to misbehave. */
export class FaultyDisk implements Disk {
  readonly calls: DiskCall[] = [];
  /** What nobody should ask of a disk. */
  readonly misuses: string[] = [];
  /** Throws to make a call fail before it has done anything. */
  beforeCall: (call: DiskCall) => void = () => {};
  /** How many bytes still fit; then a write comes back short, and the next one fails. */
  bytesLeft = Infinity;
  /** How many bytes it says are free; null: as many as there are. */
  reportedFreeBytes: number | null = null;
  maxWriteSize = Infinity;
  /** How long a file may become; then a write comes back short, and the next one fails. */
  maxFileSize = Infinity;
  /** False: syncs only pretend, for tests that start a thousand times. */
  hasRealSync = true;
  mapStat: (path: string, stat: FileStat) => FileStat = (_path, stat) => stat;
  readonly #blocked = new Map<DiskCallName, BlockedCalls>();

  /** From now on, calls of this kind wait until they are let through. */
  block(name: "sync" | "syncData" | "syncFolder"): BlockedCalls {
    const held = new BlockedCalls();
    this.#blocked.set(name, held);
    return held;
  }

  clearFaults(): void {
    this.beforeCall = () => {};
    this.bytesLeft = Infinity;
    this.maxFileSize = Infinity;
    for (const held of this.#blocked.values()) held.releaseAll();
    this.#blocked.clear();
  }

  /** The calls of these kinds so far, as "name file" with the folder left out. */
  listCalls(...names: readonly DiskCallName[]): string[] {
    const wanted = this.calls.filter(({ name }) => names.includes(name));
    return wanted.map(({ name, path }) => `${name} ${path.slice(path.lastIndexOf("/") + 1)}`);
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

  stat(path: string): FileStat | null {
    this.#recordCall("stat", path);
    const stat = realDisk.stat(path);
    return stat && this.mapStat(path, stat);
  }

  open(path: string, how?: "new"): OpenFile {
    this.#recordCall("open", path);
    const file = realDisk.open(path, how);
    let closed = false;
    return {
      write: (bytes) => {
        this.#recordCall("write", path);
        if (this.bytesLeft <= 0 && bytes.length > 0) throw makeDiskError("ENOSPC");
        const growth = this.maxFileSize - (realDisk.stat(path)?.size ?? 0);
        if (growth <= 0 && bytes.length > 0) throw makeDiskError("EFBIG");
        const taken = Math.min(bytes.length, this.bytesLeft, this.maxWriteSize, growth);
        this.bytesLeft -= taken;
        return file.write(bytes.subarray(0, taken));
      },
      truncate: (size) => {
        this.#recordCall("truncate", path);
        file.truncate(size);
      },
      sync: async () => {
        await this.#recordAndBlock("sync", path);
        if (this.hasRealSync) await file.sync();
      },
      syncData: async () => {
        await this.#recordAndBlock("syncData", path);
        if (this.hasRealSync) await file.syncData();
      },
      identity: () => file.identity(),
      readBack: (length) => {
        this.#recordCall("readBack", path);
        return file.readBack(length);
      },
      close: () => {
        // The kernel gives the number to the next file: a second close would hit that one.
        if (closed) this.misuses.push(`${path} was closed twice`);
        if (closed) throw makeDiskError("EBADF");
        closed = true;
        // Closed in any case: a descriptor left open would be the test's fault, not the disk's.
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

/** Calls that wait for the test. */
export class BlockedCalls {
  readonly #waiting: PromiseWithResolvers<void>[] = [];
  #ended = false;

  get count(): number {
    return this.#waiting.length;
  }

  wait(): Promise<void> {
    if (this.#ended) return Promise.resolve();
    const gate = Promise.withResolvers<void>();
    this.#waiting.push(gate);
    return gate.promise;
  }

  /** Lets the one through that waits longest, or makes it fail; it may still have to come. */
  async releaseOne(error: Error | null = null): Promise<void> {
    await waitUntil(() => this.#waiting.length > 0);
    const gate = this.#waiting.shift();
    if (error === null) gate?.resolve();
    else gate?.reject(error);
  }

  releaseAll(): void {
    this.#ended = true;
    for (const gate of this.#waiting.splice(0)) gate.resolve();
  }
}

/** As the kernel says it. */
export const makeDiskError = (code: string): Error =>
  Object.assign(new Error(`${code}: told to`), { code });

/** Makes one call fail: the one with this number, of all calls or of those of one kind. */
export function failCallAt(
  disk: FaultyDisk,
  place: number,
  code: string,
  only?: DiskCallName,
): void {
  let count = 0;
  disk.beforeCall = ({ name }) => {
    if (only !== undefined && name !== only) return;
    count += 1;
    if (count === place) throw makeDiskError(code);
  };
}

/** True when the promise has not settled although there was time for it. */
export async function isPending(promise: Promise<unknown>): Promise<boolean> {
  const waiting = Symbol("waiting");
  return (await Promise.race([promise, Bun.sleep(15).then(() => waiting)])) === waiting;
}

export async function waitUntil(condition: () => boolean | Promise<boolean>): Promise<void> {
  // Bun's own count of time: tests replace that of `performance`.
  const deadline = Bun.nanoseconds() + PATIENCE * 1_000_000;
  while (!(await condition())) {
    if (Bun.nanoseconds() > deadline) throw new Error("it never came to that");
    await Bun.sleep(2);
  }
}
