// A site on a real folder whose time is moved by hand, and how much its folder ever held.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { later, type Instant } from "../../../src/domain/time.ts";
import { Operations } from "../../../src/operations/operations.ts";
import { wallClock } from "../../../src/platform/clock.ts";
import { realDisk, type Disk } from "../../../src/platform/disk.ts";
import { checkpoint } from "../../../src/store/checkpoint.ts";
import { AUDIT_FOLDER } from "../../../src/store/files.ts";
import { Store } from "../../../src/store/store.ts";
import type { ManualTime } from "./manual-time.ts";

export interface FolderSize {
  /** Bytes of everything in the folder; a file with two names is one file. */
  readonly totalBytes: number;
  readonly auditLogBytes: number;
  /** The names, with their sizes. */
  readonly files: Readonly<Record<string, number>>;
}

export function measureFolder(folder: string): FolderSize {
  const files: Record<string, number> = {};
  const seen = new Set<number>();
  let [all, history] = [0, 0];
  for (const inner of ["", AUDIT_FOLDER]) {
    for (const name of readdirSync(join(folder, inner))) {
      if (name === AUDIT_FOLDER) continue;
      const { ino, size } = statSync(join(folder, inner, name));
      files[join(inner, name)] = size;
      if (seen.has(ino)) continue;
      seen.add(ino);
      all += size;
      if (inner === AUDIT_FOLDER) history += size;
    }
  }
  return { totalBytes: all, auditLogBytes: history, files };
}

export class DaySite {
  readonly folder: string;
  readonly #time: ManualTime;
  readonly #begin: Instant;
  #folding: Promise<void> | null = null;
  #store: Store | null = null;
  #operations: Operations | null = null;
  /** Checkpoints that were made. */
  checkpointCount = 0;
  /** The folder when it held most. */
  peak: FolderSize;

  constructor(folder: string, time: ManualTime) {
    this.folder = folder;
    this.#time = time;
    this.#begin = later(wallClock(), -time.now);
    this.peak = measureFolder(folder);
  }

  get store(): Store {
    if (this.#store === null) throw new Error("the site is not open");
    return this.#store;
  }

  get operations(): Operations {
    if (this.#operations === null) throw new Error("the site is not open");
    return this.#operations;
  }

  async open(): Promise<void> {
    this.peak = measureFolder(this.folder);
    this.checkpointCount = 0;
    const disk = this.#watched();
    this.#store = await Store.open({
      disk,
      folder: this.folder,
      kind: "site",
      create: false,
      clock: () => later(this.#begin, this.#time.now),
      checkpoint: (folder, open) => (this.#folding = this.#fold(disk, folder, open)),
      onFatal(error) {
        throw error;
      },
    });
    this.#operations = new Operations(this.#store, async () => "");
  }

  async close(): Promise<void> {
    await this.operations.close();
    [this.#store, this.#operations] = [null, null];
  }

  /**
   * Time goes on. A checkpoint takes no simulated time once it has begun: it would be a second, in
   * which the day goes on by little.
   */
  async advance(milliseconds: number): Promise<void> {
    this.#time.advance(milliseconds);
    if (this.#folding !== null) await this.#folding;
    this.#look();
  }

  async #fold(disk: Disk, folder: string, open: number): Promise<void> {
    try {
      await checkpoint(disk, folder, open);
      this.checkpointCount += 1;
    } finally {
      this.#folding = null;
    }
  }

  /** A folder holds most right before something is taken away. */
  #watched(): Disk {
    return {
      ...realDisk,
      remove: (path) => {
        this.#look();
        realDisk.remove(path);
      },
      rename: (from, to) => {
        this.#look();
        realDisk.rename(from, to);
      },
    };
  }

  #look(): void {
    const held = measureFolder(this.folder);
    if (held.totalBytes > this.peak.totalBytes) this.peak = held;
  }
}
