import type { OpenFile } from "../../platform/files/disk.ts";
import { writeAll } from "../../platform/files/files.ts";
import type { BatchWriter, FileBatchWriter, LineBatch } from "../journal/batch-writer.ts";
import { StorageError, toStorageFault } from "../journal/storage-fault.ts";
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
  #sync: Promise<void> | null = null;
  #isSyncDue = false;

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
    try {
      writeAll(file, bytes);
    } catch (error) {
      throw new StorageError(toStorageFault(error), error);
    }
    this.#syncSoon(file);
  }

  async finishSegment(file: OpenFile): Promise<void> {
    await this.#sync;
    try {
      await file.syncData();
    } catch (error) {
      throw new StorageError({ code: "storage_failed" }, error);
    }
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

  /** One sync at a time; it covers all that was written before it began. */
  #syncSoon(file: OpenFile): void {
    if (this.#sync !== null) {
      this.#isSyncDue = true;
      return;
    }
    this.#isSyncDue = false;
    this.#sync = file.syncData().then(
      () => {
        this.#sync = null;
        if (this.#isSyncDue) this.#syncSoon(file);
      },
      (error: unknown) => {
        this.#sync = null;
        this.#onSyncFailure(new StorageError({ code: "storage_failed" }, error));
      },
    );
  }
}
