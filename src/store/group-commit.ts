import { errorCode, type OpenFile } from "../platform/disk.ts";
import { writeAll } from "../platform/files.ts";
import type { SyncTimes } from "./condition.ts";

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

const NO_ROOM = new Set(["ENOSPC", "EDQUOT", "EFBIG"]);

/** What a failed write means to whoever asked for it. */
export const storageFault = (error: unknown): StorageFault => ({
  code: NO_ROOM.has(errorCode(error) ?? "") ? "storage_full" : "storage_failed",
  ...(errorCode(error) === "EFBIG" && { isFileLimit: true as const }),
});

interface Batch {
  readonly texts: string[];
  readonly firstSeq: number;
  readonly done: PromiseWithResolvers<void>;
}

interface Switch {
  readonly open: () => Promise<OpenFile | null>;
  readonly done: PromiseWithResolvers<void>;
}

/**
 * One write and one sync for everybody who waits. While a batch is being synced the next one
 * gathers; it is written only after that sync returned. After a failure nothing is ever retried:
 * what the kernel still holds of a failed write is not known.
 */
export class GroupCommit {
  #file: OpenFile;
  #durableBytes: number;
  #gathering: Batch | null = null;
  #writing: Batch | null = null;
  #failure: StorageError | null = null;
  #switch: Switch | null = null;
  #running = false;
  #closed = false;
  #switching: Promise<void> | null = null;
  readonly #times: SyncTimes;
  readonly #onFailure: (error: StorageError) => void;

  constructor(
    file: OpenFile,
    size: number,
    times: SyncTimes,
    onFailure: (error: StorageError) => void,
  ) {
    this.#file = file;
    this.#durableBytes = size;
    this.#times = times;
    this.#onFailure = onFailure;
  }

  /** How much of the current file is known to be on disk. */
  get durableBytes(): number {
    return this.#durableBytes;
  }

  /** The first seq of the batch that is gathering; null when the next line begins one. */
  get gatheringFrom(): number | null {
    return this.#gathering?.firstSeq ?? null;
  }

  append(seq: number, text: string): void {
    if (this.#failure !== null) throw this.#failure;
    if (this.#gathering === null) {
      const done = Promise.withResolvers<void>();
      // Whoever waits hears of a failure; a batch nobody waits for must not end the process.
      done.promise.catch(() => {});
      this.#gathering = { texts: [], firstSeq: seq, done };
      // Not at once: whoever else speaks in this turn of the event loop shares the sync.
      if (!this.#running) setImmediate(() => void this.#run());
    }
    this.#gathering.texts.push(text);
  }

  /** Resolves when everything appended so far is on disk; null when it already is. */
  settled(): Promise<void> | null {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    return (this.#gathering ?? this.#writing)?.done.promise ?? null;
  }

  /**
   * Goes on in another file, from the next batch on; `open` runs while nothing is being written.
   * Null: the file in use will do.
   */
  switchTo(open: () => Promise<OpenFile | null>): Promise<void> {
    if (this.#failure !== null) return Promise.reject(this.#failure);
    if (this.#closed) return Promise.reject(new Error("the journal was closed"));
    const done = Promise.withResolvers<void>();
    this.#switch = { open, done };
    this.#switching = done.promise
      .catch(() => {})
      .finally(() => {
        this.#switching = null;
      });
    void this.#run();
    return done.promise;
  }

  close(): void {
    if (this.#closed) return;
    // Also when it says otherwise: a second close would hit whoever got the number since.
    this.#closed = true;
    letGo(this.#file);
  }

  /** Resolves when no other file is being opened. */
  get quiet(): Promise<void> | null {
    return this.#switching;
  }

  async #run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    while (this.#failure === null && (this.#switch !== null || this.#gathering !== null)) {
      if (this.#switch !== null) await this.#changeFile(this.#switch);
      else await this.#writeBatch();
    }
    this.#running = false;
  }

  async #changeFile({ open, done }: Switch): Promise<void> {
    this.#switch = null;
    try {
      const [before, next] = [this.#file, await open()];
      if (next !== null) {
        this.#file = next;
        this.#durableBytes = 0;
        letGo(before);
      }
      done.resolve();
    } catch (error) {
      done.reject(error);
      // A failed sync is fatal here too; else the file in use is as good as before.
      if (error instanceof StorageError) this.#fail(error.fault, error.cause);
    }
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#gathering;
    if (batch === null) return;
    this.#gathering = null;
    this.#writing = batch;
    const bytes = Buffer.from(batch.texts.join(""));
    try {
      writeAll(this.#file, bytes);
    } catch (error) {
      return this.#fail(storageFault(error), error);
    }
    const started = performance.now();
    try {
      await this.#file.syncData();
    } catch (error) {
      // Even for want of room: the kernel may have dropped what it could not write.
      return this.#fail({ code: "storage_failed" }, error);
    }
    this.#times.add(performance.now() - started);
    this.#durableBytes += bytes.length;
    this.#writing = null;
    batch.done.resolve();
  }

  #fail(fault: StorageFault, cause: unknown): void {
    const failure = new StorageError(fault, cause);
    this.#failure = failure;
    this.#writing?.done.reject(failure);
    this.#gathering?.done.reject(failure);
    this.#switch?.done.reject(failure);
    this.#onFailure(failure);
  }
}

/** All that was answered from it is synced: a close that fails has nothing left to lose. */
function letGo(file: OpenFile): void {
  try {
    file.close();
  } catch (error) {
    if (errorCode(error) === null) throw error;
  }
}
