// A disk in memory that guarantees only what a kernel guarantees: file data is safe after a sync of
// the file, names after a sync of their folder. A test decides how long syncs take and which calls
// fail, and can cut the power at any call.
import { basename, dirname } from "node:path";
import type { Disk, OpenFile } from "../../../src/platform/files/disk.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import { SimulatedFile } from "./simulated-file.ts";
import { SimulatedFolder, type FolderEntry } from "./simulated-folder.ts";
import { ProcessKilledError, SimulatedProcess } from "./simulated-process.ts";

export interface DiskCall {
  readonly name: keyof Disk | keyof OpenFile;
  readonly path: string;
  readonly process: SimulatedProcess;
}

export interface PendingSync extends DiskCall {
  readonly failure: Error | null;
  readonly done: PromiseWithResolvers<void>;
  readonly save: () => void;
  readonly fail: () => void;
}

export class SimulatedDisk {
  root = new SimulatedFolder();
  readonly #random: SeededRandom;
  /** Called before each disk call; may throw the error it fails with, or cut the power. */
  onCall: (call: DiskCall) => void = () => {};
  /** Limits how many bytes one write accepts. */
  limitWrite: (wanted: number) => number = (wanted) => wanted;
  /** Called when a sync has succeeded. */
  onSynced: (call: DiskCall) => void = () => {};
  /** Number of bytes that still fit. */
  freeBytes = Infinity;
  /** Called when a write does not fit. */
  onDiskFull: (path: string) => void = () => {};
  /** The first call that is wrong on any disk; null: none. */
  misuse: string | null = null;
  /** Whether syncs wait until the test finishes them. */
  holdsSyncs = true;
  pendingSyncs: PendingSync[] = [];
  readonly lockHolders = new Map<string, SimulatedProcess>();
  #processes: SimulatedProcess[] = [];

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  startProcess(name: string): SimulatedProcess {
    const process = new SimulatedProcess(this, name, this.#random);
    this.#processes.push(process);
    return process;
  }

  /** Kills a process; the kernel keeps everything it wrote. */
  kill(process: SimulatedProcess): void {
    process.isAlive = false;
    this.#processes = this.#processes.filter((other) => other !== process);
    for (const [path, holder] of this.lockHolders)
      if (holder === process) this.lockHolders.delete(path);
    const [killedSyncs, otherSyncs] = [[] as PendingSync[], [] as PendingSync[]];
    for (const sync of this.pendingSyncs)
      (sync.process === process ? killedSyncs : otherSyncs).push(sync);
    this.pendingSyncs = otherSyncs;
    for (const { done } of killedSyncs) done.reject(new ProcessKilledError());
  }

  killAll(name: string): void {
    for (const process of this.#processes) if (process.name === name) this.kill(process);
  }

  /** Kills all processes and loses a random part of the unsynced data. */
  cutPower(): void {
    for (const process of this.#processes) this.kill(process);
    this.root.cutPower(this.#random, new Set());
  }

  /** Finishes a random pending sync. */
  finishOneSync(): void {
    const sync = this.pendingSyncs.splice(this.#random.intBelow(this.pendingSyncs.length), 1)[0];
    if (sync !== undefined) this.finishSync(sync);
  }

  finishSync(sync: PendingSync): void {
    if (sync.failure === null) {
      sync.save();
      this.onSynced(sync);
      sync.done.resolve();
    } else {
      sync.fail();
      sync.done.reject(sync.failure);
    }
  }

  /** Copies the files to a new disk without faults. */
  clone(): SimulatedDisk {
    const other = new SimulatedDisk(this.#random);
    other.root = this.root.clone(new Map());
    other.holdsSyncs = false;
    return other;
  }

  /** The folder at a path; null: there is none. */
  findFolder(path: string): SimulatedFolder | null {
    let folder = this.root;
    for (const name of path.split("/")) {
      if (name === "") continue;
      const entry = folder.get(name);
      if (!(entry instanceof SimulatedFolder)) return null;
      folder = entry;
    }
    return folder;
  }

  findEntry(path: string): FolderEntry | null {
    return this.findFolder(dirname(path))?.get(basename(path)) ?? null;
  }

  findFile(path: string): SimulatedFile | null {
    const entry = this.findEntry(path);
    return entry instanceof SimulatedFile ? entry : null;
  }
}
