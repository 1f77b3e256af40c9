import type { OpenFile } from "../../platform/files/disk.ts";
import type { BatchWriter, FileBatchWriter, LineBatch } from "../journal/batch-writer.ts";
import { CopyError, StorageError } from "../journal/storage-fault.ts";
import { LogUnavailable, type SharedLog } from "./shared-log.ts";

/**
 * Appends the batches of the leading host to the shared log, and then to its own journal. Only what
 * the log has reaches the file, so the file is always the beginning of the log. The sync of the
 * file is not waited for: what a power cut takes is read from the log again.
 */
export class LogBatchWriter implements BatchWriter {
  readonly #log: SharedLog;
  readonly #copy: FileBatchWriter;
  readonly #onSyncFailure: (error: StorageError) => void;
  #epoch: number | null = null;
  /** The syncs that are under way, one after the other; null: none is. */
  #syncing: Promise<void> | null = null;
  #isSyncDue = false;
  /** A failed sync is never tried again: the next one could report what it did not do. */
  #syncFailure: StorageError | null = null;

  constructor(log: SharedLog, copy: FileBatchWriter, onSyncFailure: (error: StorageError) => void) {
    this.#log = log;
    this.#copy = copy;
    this.#onSyncFailure = onSyncFailure;
  }

  /** From now on batches are this host's own; null: they come from the log. */
  set epoch(epoch: number | null) {
    this.#epoch = epoch;
  }

  async write(file: OpenFile, batch: LineBatch, bytes: Uint8Array): Promise<void> {
    if (this.#epoch === null) return this.#copy.write(file, batch, bytes);
    await this.#append(this.#epoch, batch);
    if (this.#syncFailure !== null) throw this.#syncFailure;
    this.#appendCopy(file, bytes);
    this.#isSyncDue = true;
    this.#syncing ??= this.#syncWhileDue(file);
  }

  async finishSegment(): Promise<void> {
    await this.finishSyncs();
    if (this.#syncFailure !== null) throw this.#syncFailure;
  }

  async finishSyncs(): Promise<void> {
    while (this.#syncing !== null) await this.#syncing;
  }

  async #append(epoch: number, batch: LineBatch): Promise<void> {
    let isAppended: boolean;
    try {
      isAppended = await this.#log.append(epoch, batch);
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
      throw new StorageError({ code: "log_unavailable" }, error);
    }
    if (!isAppended) throw new StorageError({ code: "standby" }, new Error("another host leads"));
  }

  #appendCopy(file: OpenFile, bytes: Uint8Array): void {
    try {
      this.#copy.append(file, bytes);
    } catch (error) {
      throw error instanceof StorageError ? new CopyError(error.fault, error.cause) : error;
    }
  }

  /** One sync at a time; it covers all that was written before it began. */
  async #syncWhileDue(file: OpenFile): Promise<void> {
    do {
      this.#isSyncDue = false;
      try {
        await this.#copy.sync(file);
      } catch (error) {
        if (!(error instanceof StorageError)) throw error;
        this.#syncFailure = error;
        this.#onSyncFailure(error);
      }
    } while (this.#isSyncDue && this.#syncFailure === null);
    // In the same step as the check above: a write after it begins the next sync.
    this.#syncing = null;
  }
}
