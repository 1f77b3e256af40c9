import { err, type Result } from "../../domain/result.ts";
import type { OpenFile } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { writeAll } from "../../platform/files/files.ts";
import type { SyncTimes } from "../store-health.ts";

/** Why nothing can be made durable: no space for now, or a disk that cannot be trusted any more. */
export type StorageFault =
  /** `isFileLimit`: the disk is not full, but the file reached a size limit (`ulimit -f`). */
  | { readonly code: "storage_full"; readonly isFileLimit?: true }
  | { readonly code: "storage_failed"; readonly isFileLimit?: never };

export class StorageError extends Error {
  override readonly name = "StorageError";
  readonly fault: StorageFault;

  constructor(fault: StorageFault, cause: unknown) {
    super(fault.code, { cause });
    this.fault = fault;
  }
}

const NO_SPACE_CODES = new Set(["ENOSPC", "EDQUOT"]);

/** The fault that a failed write means for its caller. */
export function toStorageFault(error: unknown): StorageFault {
  const code = errorCode(error) ?? "";
  if (code === "EFBIG") return { code: "storage_full", isFileLimit: true };
  return { code: NO_SPACE_CODES.has(code) ? "storage_full" : "storage_failed" };
}

interface Batch {
  readonly texts: string[];
  readonly firstSeq: number;
  /** Appends the last line, which is not encoded before the batch is written. */
  finishLine: (() => void) | null;
  readonly completion: PromiseWithResolvers<void>;
}

interface FileSwitch {
  readonly open: () => Promise<OpenFile | null>;
  readonly completion: PromiseWithResolvers<void>;
}

/**
 * One write and one sync for all waiting commands. While a batch is being synced the next one
 * collects lines; it is written only after that sync returned. After a failure nothing is ever
 * retried, because it is unknown what the kernel still holds of a failed write.
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

  /** The bytes of the current file that are known to be on disk. */
  get durableBytes(): number {
    return this.#durableBytes;
  }

  /** The first seq of the batch that is collecting lines; null: the next line begins a batch. */
  get pendingBatchSeq(): number | null {
    return this.#pendingBatch?.firstSeq ?? null;
  }

  append(seq: number, text: string): void {
    this.#startBatch(seq).texts.push(text);
  }

  /** `finishLine` appends the line when the batch is written, unless it was appended before. */
  expectLine(seq: number, finishLine: () => void): void {
    this.#startBatch(seq).finishLine = finishLine;
  }

  /** Resolves when everything appended so far is on disk; null: it already is. */
  whenDurable(): Promise<void> | null {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return (this.#pendingBatch ?? this.#writingBatch)?.completion.promise ?? null;
  }

  /**
   * Continues in another file from the next batch on; `open` runs while nothing is being written.
   * If `open` returns null, the current file stays in use.
   */
  switchFile(open: () => Promise<OpenFile | null>): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#isClosed) return Promise.reject(new Error("the journal was closed"));
    const completion = Promise.withResolvers<void>();
    this.#requestedSwitch = { open, completion };
    this.#pendingSwitch = completion.promise
      .catch(() => {})
      .finally(() => {
        this.#pendingSwitch = null;
      });
    void this.#run();
    return completion.promise;
  }

  close(): void {
    if (this.#isClosed) return;
    // Even if close fails: a second close could close another file that got the same descriptor.
    this.#isClosed = true;
    closeQuietly(this.#file);
  }

  /** Resolves when the pending switch is done; null: none is pending. */
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
      // A failed sync is fatal here too; after other errors the current file is still usable.
      if (error instanceof StorageError) this.#fail(error.fault, error.cause);
    }
  }

  /** The batch that is collecting lines; if there is none, a new one that begins with `seq`. */
  #startBatch(seq: number): Batch {
    if (this.#failure !== null) throw this.#failure;
    if (this.#pendingBatch !== null) return this.#pendingBatch;
    const completion = Promise.withResolvers<void>();
    // Waiting callers get the failure. A batch without a waiting caller must not end the process.
    completion.promise.catch(() => {});
    // Not at once: other commands in the same turn of the event loop share the sync.
    if (!this.#isRunning) setImmediate(() => void this.#run());
    return (this.#pendingBatch = { texts: [], firstSeq: seq, finishLine: null, completion });
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#pendingBatch;
    if (batch === null) return;
    batch.finishLine?.();
    this.#pendingBatch = null;
    this.#writingBatch = batch;
    const bytes = Buffer.from(batch.texts.join(""));
    try {
      writeAll(this.#file, bytes);
    } catch (error) {
      return this.#fail(toStorageFault(error), error);
    }
    const startedAt = performance.now();
    try {
      await this.#file.syncData();
    } catch (error) {
      // Even if the disk is full: the kernel may have dropped what it could not write.
      return this.#fail({ code: "storage_failed" }, error);
    }
    this.#syncTimes.add(performance.now() - startedAt);
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

/** Everything acknowledged is synced, so a failing close loses nothing. */
function closeQuietly(file: OpenFile): void {
  try {
    file.close();
  } catch (error) {
    if (errorCode(error) === null) throw error;
  }
}

/** The result of a failed write for all callers that waited for it. */
export function toFaultResult(error: unknown): Result<never, StorageFault> {
  if (error instanceof StorageError) return err(error.fault);
  throw error;
}
