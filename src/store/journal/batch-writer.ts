import type { OpenFile } from "../../platform/files/disk.ts";
import { writeAll } from "../../platform/files/files.ts";
import type { SyncTimes } from "../store-health.ts";
import { StorageError, toStorageFault } from "./storage-fault.ts";

/** Lines that are made durable together. */
export interface LineBatch {
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** The checksum of the line before the first one. */
  readonly prev: string;
  /** The checksum of the last line. */
  readonly sum: string;
  readonly texts: readonly string[];
}

/** Makes batches durable, one at a time. */
export interface BatchWriter {
  /**
   * Resolves when the batch is durable. `file` is the open segment of the journal, and `bytes` are
   * what it gets. Rejects with a `StorageError`; nothing may be written after that. With a
   * `CopyError` the batch is durable nevertheless, but not in the file.
   */
  readonly write: (file: OpenFile, batch: LineBatch, bytes: Uint8Array) => Promise<void>;
  /** Resolves when all of the segment is on disk; called before it is closed for another one. */
  readonly finishSegment: (file: OpenFile) => Promise<void>;
  /** Resolves when nothing is under way in the file any more, so that it can be closed. */
  readonly finishSyncs: () => Promise<void>;
}

/** Writes to the open segment and syncs it. */
export class FileBatchWriter implements BatchWriter {
  readonly #syncTimes: SyncTimes;

  constructor(syncTimes: SyncTimes) {
    this.#syncTimes = syncTimes;
  }

  async write(file: OpenFile, _batch: LineBatch, bytes: Uint8Array): Promise<void> {
    this.append(file, bytes);
    await this.sync(file);
  }

  /** Writes without a sync. */
  append(file: OpenFile, bytes: Uint8Array): void {
    try {
      writeAll(file, bytes);
    } catch (error) {
      throw new StorageError(toStorageFault(error), error);
    }
  }

  async sync(file: OpenFile): Promise<void> {
    const startedAt = performance.now();
    try {
      await this.#syncTimes.watch(() => file.syncData());
    } catch (error) {
      // Even if the disk is full: the kernel may have dropped what it could not write.
      throw new StorageError({ code: "storage_failed" }, error);
    }
    this.#syncTimes.add(performance.now() - startedAt);
  }

  /** Each batch was synced. */
  finishSegment = (): Promise<void> => Promise.resolve();

  /** A batch was written when its sync returned. */
  finishSyncs = (): Promise<void> => Promise.resolve();
}
