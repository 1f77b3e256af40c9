import { errorCode, type OpenFile } from "../platform/disk.ts";
import { writeAll } from "../platform/files.ts";
import type { SyncTimes } from "./store-health.ts";

/** Why nothing can be made durable: no room for now, or a disk that cannot be trusted any more. */
export interface StorageFault {
  readonly code: "storage_full" | "storage_failed";
  /** Full is not the disk, but the file: it may not grow beyond a limit (`ulimit -f`). */
  readonly isFileLimit?: true;
}

export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly fault: StorageFault;

  constructor(fault: StorageFault, cause: unknown) {
    super(fault.code, { cause });
    this.fault = fault;
  }
}

const NO_SPACE_CODES = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** What a failed write means to whoever asked for it. */
export const toStorageFault = (error: unknown): StorageFault => ({
  code: NO_SPACE_CODES.has(errorCode(error) ?? "") ? "storage_full" : "storage_failed",
  ...(errorCode(error) === "EFBIG" && { isFileLimit: true as const }),
});

interface Batch {
  readonly texts: string[];
  readonly firstSeq: number;
  readonly completion: PromiseWithResolvers<void>;
}

interface FileSwitch {
  readonly open: () => Promise<OpenFile | null>;
  readonly completion: PromiseWithResolvers<void>;
}

/**
 * One write and one sync for everybody who waits. While a batch is being synced the next one
 * gathers; it is written only after that sync returned. After a failure nothing is ever retried:
 * what the kernel still holds of a failed write is not known.
 */
export class GroupCommit {
  #file: OpenFile;
  #durableBytes: number;
  #pendingBatch: Batch | null = null;
  #writingBatch: Batch | null = null;
  #failure: StorageError | null = null;
  #requestedSwitch: FileSwitch | null = null;
  #isRunning = false;
  #isClosed = false;
  #pendingSwitch: Promise<void> | null = null;
  readonly #syncTimes: SyncTimes;
  readonly #onFailure: (error: StorageError) => void;

  constructor(
    file: OpenFile,
    size: number,
    times: SyncTimes,
    onFailure: (error: StorageError) => void,
  ) {
    this.#file = file;
    this.#durableBytes = size;
    this.#syncTimes = times;
    this.#onFailure = onFailure;
  }

  /** How much of the current file is known to be on disk. */
  get durableBytes(): number {
    return this.#durableBytes;
  }

  /** The first seq of the batch that is gathering; null when the next line begins one. */
  get pendingBatchSeq(): number | null {
    return this.#pendingBatch?.firstSeq ?? null;
  }

  append(seq: number, text: string): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#pendingBatch === null) {
      const done = Promise.withResolvers<void>();
      // Whoever waits hears of a failure; a batch nobody waits for must not end the process.
      done.promise.catch(() => {});
      this.#pendingBatch = { texts: [], firstSeq: seq, completion: done };
      // Not at once: whoever else speaks in this turn of the event loop shares the sync.
      if (!this.#isRunning) setImmediate(() => void this.#run());
    }
    this.#pendingBatch.texts.push(text);
  }

  /** Resolves when everything appended so far is on disk; null when it already is. */
  whenDurable(): Promise<void> | null {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return (this.#pendingBatch ?? this.#writingBatch)?.completion.promise ?? null;
  }

  /**
   * Goes on in another file, from the next batch on; `open` runs while nothing is being written.
   * Null: the file in use will do.
   */
  switchFile(open: () => Promise<OpenFile | null>): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#isClosed) return Promise.reject(new Error("the journal was closed"));
    const done = Promise.withResolvers<void>();
    this.#requestedSwitch = { open, completion: done };
    this.#pendingSwitch = done.promise
      .catch(() => {})
      .finally(() => {
        this.#pendingSwitch = null;
      });
    void this.#run();
    return done.promise;
  }

  close(): void {
    if (this.#isClosed) return;
    // Also when it says otherwise: a second close would hit whoever got the number since.
    this.#isClosed = true;
    closeQuietly(this.#file);
  }

  /** Resolves when no other file is being opened. */
  get pendingSwitch(): Promise<void> | null {
    return this.#pendingSwitch;
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (
      this.#failure === null &&
      (this.#requestedSwitch !== null || this.#pendingBatch !== null)
    ) {
      if (this.#requestedSwitch !== null) await this.#changeFile(this.#requestedSwitch);
      else await this.#writeBatch();
    }
    this.#isRunning = false;
  }

  async #changeFile({ open, completion }: FileSwitch): Promise<void> {
    this.#requestedSwitch = null;
    try {
      const [before, next] = [this.#file, await open()];
      if (next !== null) {
        this.#file = next;
        this.#durableBytes = 0;
        closeQuietly(before);
      }
      completion.resolve();
    } catch (error) {
      completion.reject(error);
      // A failed sync is fatal here too; else the file in use is as good as before.
      if (error instanceof StorageError) this.#fail(error.fault, error.cause);
    }
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#pendingBatch;
    if (batch === null) return;
    this.#pendingBatch = null;
    this.#writingBatch = batch;
    const bytes = Buffer.from(batch.texts.join(""));
    try {
      writeAll(this.#file, bytes);
    } catch (error) {
      return this.#fail(toStorageFault(error), error);
    }
    const started = performance.now();
    try {
      await this.#file.syncData();
    } catch (error) {
      // Even for want of room: the kernel may have dropped what it could not write.
      return this.#fail({ code: "storage_failed" }, error);
    }
    this.#syncTimes.add(performance.now() - started);
    this.#durableBytes += bytes.length;
    this.#writingBatch = null;
    batch.completion.resolve();
  }

  #fail(fault: StorageFault, cause: unknown): void {
    const failure = new StorageError(fault, cause);
    this.#failure = failure;
    this.#writingBatch?.completion.reject(failure);
    this.#pendingBatch?.completion.reject(failure);
    this.#requestedSwitch?.completion.reject(failure);
    this.#onFailure(failure);
  }
}

/** All that was answered from it is synced: a close that fails has nothing left to lose. */
function closeQuietly(file: OpenFile): void {
  try {
    file.close();
  } catch (error) {
    if (errorCode(error) === null) throw error;
  }
}
