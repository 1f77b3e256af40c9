// A site on a real folder with manual time, which measures how large the folder becomes.
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { later, type Instant } from "../../../src/domain/time.ts";
import { CommandRunner } from "../../../src/operations/command-runner.ts";
import { Features } from "../../../src/operations/features/features.ts";
import { Slots } from "../../../src/operations/slots/slots.ts";
import { wallClock } from "../../../src/platform/clock.ts";
import { realDisk, type Disk } from "../../../src/platform/files/disk.ts";
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import { AUDIT_FOLDER } from "../../../src/store/folder/files.ts";
import { Store } from "../../../src/store/store.ts";
import type { ManualTime } from "./manual-time.ts";
import { makeSlotQueue } from "../../support/slot-queue.ts";

export interface FolderSize {
  /** Bytes of all files in the folder; a file with two names counts once. */
  readonly totalBytes: number;
  readonly auditLogBytes: number;
  /** File sizes by name. */
  readonly files: Readonly<Record<string, number>>;
}

export function measureFolder(folder: string): FolderSize {
  const files: Record<string, number> = {};
  const countedInodes = new Set<number>();
  let [totalBytes, auditLogBytes] = [0, 0];
  for (const subfolder of ["", AUDIT_FOLDER]) {
    for (const name of readdirSync(join(folder, subfolder))) {
      if (name === AUDIT_FOLDER) continue;
      const { ino, size } = statSync(join(folder, subfolder, name));
      files[join(subfolder, name)] = size;
      if (countedInodes.has(ino)) continue;
      countedInodes.add(ino);
      totalBytes += size;
      if (subfolder === AUDIT_FOLDER) auditLogBytes += size;
    }
  }
  return { totalBytes, auditLogBytes, files };
}

interface DayOperations {
  readonly slots: Slots;
  readonly features: Features;
  readonly close: () => Promise<void>;
}

export class DaySite {
  readonly folder: string;
  readonly #time: ManualTime;
  readonly #epoch: Instant;
  #runningCheckpoint: Promise<void> | null = null;
  #store: Store | null = null;
  #operations: DayOperations | null = null;
  /** Number of completed checkpoints. */
  checkpointCount = 0;
  /** The folder's size when it was largest. */
  peak: FolderSize;

  constructor(folder: string, time: ManualTime) {
    this.folder = folder;
    this.#time = time;
    this.#epoch = later(wallClock(), -time.now);
    this.peak = measureFolder(folder);
  }

  get store(): Store {
    if (this.#store === null) throw new Error("the site is not open");
    return this.#store;
  }

  get operations(): DayOperations {
    if (this.#operations === null) throw new Error("the site is not open");
    return this.#operations;
  }

  async open(): Promise<void> {
    this.peak = measureFolder(this.folder);
    this.checkpointCount = 0;
    const disk = this.#measuringDisk();
    this.#store = await Store.open({
      disk,
      folder: this.folder,
      kind: "site",
      create: false,
      clock: () => later(this.#epoch, this.#time.now),
      checkpoint: (folder, open) =>
        (this.#runningCheckpoint = this.#runCheckpoint(disk, folder, open)),
      onFatal(error) {
        throw error;
      },
    });
    this.#operations = createOperations(this.#store);
  }

  async close(): Promise<void> {
    await this.operations.close();
    [this.#store, this.#operations] = [null, null];
  }

  /**
   * Advances the time. A checkpoint takes no simulated time: in reality it takes about a second,
   * which is little in a day.
   */
  async advance(milliseconds: number): Promise<void> {
    this.#time.advance(milliseconds);
    if (this.#runningCheckpoint !== null) await this.#runningCheckpoint;
    this.#updatePeak();
  }

  async #runCheckpoint(disk: Disk, folder: string, open: number): Promise<void> {
    try {
      await checkpoint(disk, folder, open);
      this.checkpointCount += 1;
    } finally {
      this.#runningCheckpoint = null;
    }
  }

  /** A disk that measures the folder before each removal, when the folder is largest. */
  #measuringDisk(): Disk {
    return {
      ...realDisk,
      remove: (path) => {
        this.#updatePeak();
        realDisk.remove(path);
      },
      rename: (from, to) => {
        this.#updatePeak();
        realDisk.rename(from, to);
      },
    };
  }

  #updatePeak(): void {
    const size = measureFolder(this.folder);
    if (size.totalBytes > this.peak.totalBytes) this.peak = size;
  }
}

/** Only what the suite calls: the time marks of a server would add lines to the journal. */
function createOperations(store: Store): DayOperations {
  const commands = new CommandRunner(store);
  return {
    slots: new Slots(commands, store, makeSlotQueue(store, commands), async () => ""),
    features: new Features(commands),
    async close() {
      await commands.close();
      await store.close();
    },
  };
}
