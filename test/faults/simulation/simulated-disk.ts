// A disk in memory that keeps to the letter of what a kernel promises, and to nothing else. File
// data is safe once that file was synced, names once their folder was. Syncs take as long as they
// are made to, calls fail when told to, and the power can go at any of them.
import { basename, dirname } from "node:path";
import type { Disk, OpenFile } from "../../../src/platform/disk.ts";
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
  readonly #dice: SeededRandom;
  /** Before each call: may throw the error it fails with, or end it all. */
  onCall: (call: DiskCall) => void = () => {};
  /** How much of a write is taken at once. */
  limitWrite: (wanted: number) => number = (wanted) => wanted;
  /** A sync returned, and it is true what it says. */
  onSynced: (call: DiskCall) => void = () => {};
  /** How many bytes still fit. */
  freeBytes = Infinity;
  /** Something did not. */
  onDiskFull: (path: string) => void = () => {};
  /** What nobody should ask of a disk. */
  misuse: string | null = null;
  /** Whether syncs wait to be let through. */
  holdsSyncs = true;
  pendingSyncs: PendingSync[] = [];
  readonly lockHolders = new Map<string, SimulatedProcess>();
  #processes: SimulatedProcess[] = [];

  constructor(dice: SeededRandom) {
    this.#dice = dice;
  }

  startProcess(name: string): SimulatedProcess {
    const process = new SimulatedProcess(this, name, this.#dice);
    this.#processes.push(process);
    return process;
  }

  /** Ends a process: the kernel keeps all it wrote. */
  kill(process: SimulatedProcess): void {
    process.isAlive = false;
    this.#processes = this.#processes.filter((other) => other !== process);
    for (const [path, holder] of this.lockHolders)
      if (holder === process) this.lockHolders.delete(path);
    const [its, others] = [[] as PendingSync[], [] as PendingSync[]];
    for (const sync of this.pendingSyncs) (sync.process === process ? its : others).push(sync);
    this.pendingSyncs = others;
    for (const { done } of its) done.reject(new ProcessKilledError());
  }

  killAll(name: string): void {
    for (const process of this.#processes) if (process.name === name) this.kill(process);
  }

  /** Ends them all, and with them what was not synced. */
  cutPower(): void {
    for (const process of this.#processes) this.kill(process);
    this.root.cutPower(this.#dice, new Set());
  }

  /** Lets one of the syncs under way return. */
  finishOneSync(): void {
    const sync = this.pendingSyncs.splice(this.#dice.intBelow(this.pendingSyncs.length), 1)[0];
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

  /** The same files on another disk, on which nothing goes wrong by itself. */
  clone(): SimulatedDisk {
    const other = new SimulatedDisk(this.#dice);
    other.root = this.root.clone(new Map());
    other.holdsSyncs = false;
    return other;
  }

  /** The folder of a path, if it is there. */
  findFolder(path: string): SimulatedFolder | null {
    let folder = this.root;
    for (const name of path.split("/")) {
      if (name === "") continue;
      const below = folder.get(name);
      if (!(below instanceof SimulatedFolder)) return null;
      folder = below;
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
