// A disk in memory that keeps to the letter of what a kernel promises, and to nothing else. File
// data is safe once that file was synced, names once their folder was. Syncs take as long as they
// are made to, calls fail when told to, and the power can go at any of them.
import { basename, dirname } from "node:path";
import type { Disk, OpenFile } from "../../src/platform/disk.ts";
import type { Dice } from "./dice.ts";
import { SimulatedFile } from "./simulated-file.ts";
import { SimulatedFolder, type Entry } from "./simulated-folder.ts";
import { Dead, SimulatedProcess } from "./simulated-process.ts";

export interface Call {
  readonly name: keyof Disk | keyof OpenFile;
  readonly path: string;
  readonly by: SimulatedProcess;
}

export interface Sync extends Call {
  readonly failure: Error | null;
  readonly done: PromiseWithResolvers<void>;
  readonly save: () => void;
  readonly lose: () => void;
}

export class SimulatedDisk {
  root = new SimulatedFolder();
  readonly #dice: Dice;
  /** Before each call: may throw the error it fails with, or end it all. */
  before: (call: Call) => void = () => {};
  /** How much of a write is taken at once. */
  taken: (wanted: number) => number = (wanted) => wanted;
  /** A sync returned, and it is true what it says. */
  synced: (call: Call) => void = () => {};
  /** How many bytes still fit. */
  room = Infinity;
  /** Something did not. */
  didNotFit: (path: string) => void = () => {};
  /** What nobody should ask of a disk. */
  misused: string | null = null;
  /** Whether syncs wait to be let through. */
  holds = true;
  syncs: Sync[] = [];
  readonly locks = new Map<string, SimulatedProcess>();
  #processes: SimulatedProcess[] = [];

  constructor(dice: Dice) {
    this.#dice = dice;
  }

  start(name: string): SimulatedProcess {
    const process = new SimulatedProcess(this, name, this.#dice);
    this.#processes.push(process);
    return process;
  }

  /** Ends a process: the kernel keeps all it wrote. */
  kill(process: SimulatedProcess): void {
    process.isAlive = false;
    this.#processes = this.#processes.filter((other) => other !== process);
    for (const [path, holder] of this.locks) if (holder === process) this.locks.delete(path);
    const [its, others] = [[] as Sync[], [] as Sync[]];
    for (const sync of this.syncs) (sync.by === process ? its : others).push(sync);
    this.syncs = others;
    for (const { done } of its) done.reject(new Dead());
  }

  killAll(name: string): void {
    for (const process of this.#processes) if (process.name === name) this.kill(process);
  }

  /** Ends them all, and with them what was not synced. */
  cut(): void {
    for (const process of this.#processes) this.kill(process);
    this.root.cut(this.#dice, new Set());
  }

  /** Lets one of the syncs under way return. */
  finishOne(): void {
    const sync = this.syncs.splice(this.#dice.below(this.syncs.length), 1)[0];
    if (sync !== undefined) this.finish(sync);
  }

  finish(sync: Sync): void {
    if (sync.failure === null) {
      sync.save();
      this.synced(sync);
      sync.done.resolve();
    } else {
      sync.lose();
      sync.done.reject(sync.failure);
    }
  }

  /** The same files on another disk, on which nothing goes wrong by itself. */
  clone(): SimulatedDisk {
    const other = new SimulatedDisk(this.#dice);
    other.root = this.root.clone(new Map());
    other.holds = false;
    return other;
  }

  /** The folder of a path, if it is there. */
  folder(path: string): SimulatedFolder | null {
    let folder = this.root;
    for (const name of path.split("/")) {
      if (name === "") continue;
      const below = folder.get(name);
      if (!(below instanceof SimulatedFolder)) return null;
      folder = below;
    }
    return folder;
  }

  entry(path: string): Entry | null {
    return this.folder(dirname(path))?.get(basename(path)) ?? null;
  }

  file(path: string): SimulatedFile | null {
    const entry = this.entry(path);
    return entry instanceof SimulatedFile ? entry : null;
  }
}
