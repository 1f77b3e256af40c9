import {
  realDisk,
  type Disk,
  type FileLock,
  type FolderHandle,
  type OpenFile,
  type FileStat,
} from "../../src/platform/disk.ts";
import { PATIENCE } from "./patience.ts";

export type CallName = keyof Disk | keyof OpenFile;

export interface Call {
  readonly name: CallName;
  readonly path: string;
}

/** The real disk, which keeps a list of what was asked of it and can be told to misbehave. */
export class FaultyDisk implements Disk {
  readonly calls: Call[] = [];
  /** What nobody should ask of a disk. */
  readonly misused: string[] = [];
  /** Throws to make a call fail before it has done anything. */
  rule: (call: Call) => void = () => {};
  /** How many bytes still fit; then a write comes back short, and the next one fails. */
  room = Infinity;
  /** How many bytes it says are free; null: as many as there are. */
  claims: number | null = null;
  longestWrite = Infinity;
  /** How long a file may become; then a write comes back short, and the next one fails. */
  largestFile = Infinity;
  /** False: syncs only pretend, for tests that start a thousand times. */
  syncs = true;
  seen: (path: string, stat: FileStat) => FileStat = (_path, stat) => stat;
  readonly #held = new Map<CallName, Held>();

  /** From now on, calls of this kind wait until they are let through. */
  hold(name: "sync" | "syncData" | "syncFolder"): Held {
    const held = new Held();
    this.#held.set(name, held);
    return held;
  }

  heal(): void {
    this.rule = () => {};
    this.room = Infinity;
    this.largestFile = Infinity;
    for (const held of this.#held.values()) held.end();
    this.#held.clear();
  }

  /** The calls of these kinds so far, as "name file" with the folder left out. */
  log(...names: readonly CallName[]): string[] {
    const wanted = this.calls.filter(({ name }) => names.includes(name));
    return wanted.map(({ name, path }) => `${name} ${path.slice(path.lastIndexOf("/") + 1)}`);
  }

  list(folder: string): string[] {
    this.#called("list", folder);
    return realDisk.list(folder);
  }

  read(path: string): Uint8Array<ArrayBuffer> | null {
    this.#called("read", path);
    return realDisk.read(path);
  }

  readPart(path: string, offset: number, length: number): Uint8Array<ArrayBuffer> | null {
    this.#called("readPart", path);
    return realDisk.readPart(path, offset, length);
  }

  freeBytes(folder: string): number {
    this.#called("freeBytes", folder);
    return this.claims ?? Math.min(this.room, realDisk.freeBytes(folder));
  }

  removeFolder(path: string): void {
    this.#called("removeFolder", path);
    realDisk.removeFolder(path);
  }

  stat(path: string): FileStat | null {
    this.#called("stat", path);
    const stat = realDisk.stat(path);
    return stat && this.seen(path, stat);
  }

  open(path: string, how?: "new"): OpenFile {
    this.#called("open", path);
    const file = realDisk.open(path, how);
    let closed = false;
    return {
      write: (bytes) => {
        this.#called("write", path);
        if (this.room <= 0 && bytes.length > 0) throw diskError("ENOSPC");
        const growth = this.largestFile - (realDisk.stat(path)?.size ?? 0);
        if (growth <= 0 && bytes.length > 0) throw diskError("EFBIG");
        const taken = Math.min(bytes.length, this.room, this.longestWrite, growth);
        this.room -= taken;
        return file.write(bytes.subarray(0, taken));
      },
      truncate: (size) => {
        this.#called("truncate", path);
        file.truncate(size);
      },
      sync: async () => {
        await this.#calledAndHeld("sync", path);
        if (this.syncs) await file.sync();
      },
      syncData: async () => {
        await this.#calledAndHeld("syncData", path);
        if (this.syncs) await file.syncData();
      },
      identity: () => file.identity(),
      readBack: (length) => {
        this.#called("readBack", path);
        return file.readBack(length);
      },
      close: () => {
        // The kernel gives the number to the next file: a second close would hit that one.
        if (closed) this.misused.push(`${path} was closed twice`);
        if (closed) throw diskError("EBADF");
        closed = true;
        // Closed in any case: a descriptor left open would be the test's fault, not the disk's.
        file.close();
        this.#called("close", path);
      },
    };
  }

  async rewrite(path: string, offset: number, bytes: Uint8Array): Promise<void> {
    await this.#calledAndHeld("rewrite", path);
    if (this.syncs) await realDisk.rewrite(path, offset, bytes);
  }

  rename(from: string, to: string): void {
    this.#called("rename", to);
    realDisk.rename(from, to);
  }

  link(from: string, to: string): void {
    this.#called("link", to);
    realDisk.link(from, to);
  }

  remove(path: string): void {
    this.#called("remove", path);
    realDisk.remove(path);
  }

  makeFolder(path: string): void {
    this.#called("makeFolder", path);
    realDisk.makeFolder(path);
  }

  setMode(path: string, mode: number): void {
    this.#called("setMode", path);
    realDisk.setMode(path, mode);
  }

  async syncFolder(folder: string): Promise<void> {
    await this.#calledAndHeld("syncFolder", folder);
    if (this.syncs) await realDisk.syncFolder(folder);
  }

  lock(path: string): FileLock | null {
    this.#called("lock", path);
    return realDisk.lock(path);
  }

  lockFolder(folder: string): FolderHandle | null {
    this.#called("lockFolder", folder);
    return realDisk.lockFolder(folder);
  }

  #called(name: CallName, path: string): void {
    this.calls.push({ name, path });
    this.rule({ name, path });
  }

  async #calledAndHeld(name: CallName, path: string): Promise<void> {
    this.#called(name, path);
    await this.#held.get(name)?.pass();
  }
}

/** Calls that wait for the test. */
export class Held {
  readonly #waiting: PromiseWithResolvers<void>[] = [];
  #ended = false;

  get waiting(): number {
    return this.#waiting.length;
  }

  pass(): Promise<void> {
    if (this.#ended) return Promise.resolve();
    const gate = Promise.withResolvers<void>();
    this.#waiting.push(gate);
    return gate.promise;
  }

  /** Lets the one through that waits longest, or makes it fail; it may still have to come. */
  async letOne(error: Error | null = null): Promise<void> {
    await until(() => this.#waiting.length > 0);
    const gate = this.#waiting.shift();
    if (error === null) gate?.resolve();
    else gate?.reject(error);
  }

  end(): void {
    this.#ended = true;
    for (const gate of this.#waiting.splice(0)) gate.resolve();
  }
}

/** As the kernel says it. */
export const diskError = (code: string): Error =>
  Object.assign(new Error(`${code}: told to`), { code });

/** Makes one call fail: the one with this number, of all calls or of those of one kind. */
export function failAt(disk: FaultyDisk, place: number, code: string, only?: CallName): void {
  let count = 0;
  disk.rule = ({ name }) => {
    if (only !== undefined && name !== only) return;
    count += 1;
    if (count === place) throw diskError(code);
  };
}

/** True when the promise has not settled although there was time for it. */
export async function isWaiting(promise: Promise<unknown>): Promise<boolean> {
  const waiting = Symbol("waiting");
  return (await Promise.race([promise, Bun.sleep(15).then(() => waiting)])) === waiting;
}

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  // Bun's own count of time: tests replace that of `performance`.
  const deadline = Bun.nanoseconds() + PATIENCE * 1_000_000;
  while (!(await condition())) {
    if (Bun.nanoseconds() > deadline) throw new Error("it never came to that");
    await Bun.sleep(2);
  }
}
