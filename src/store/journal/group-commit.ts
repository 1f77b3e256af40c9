import type { OpenFile } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import type { BatchWriter } from "./batch-writer.ts";
import type { ChainHead } from "./journal.ts";
import { CopyError, DiskHangs, StorageError, waitForOutcome } from "./storage-fault.ts";

interface Batch {
  readonly firstSeq: number;
  readonly texts: string[];
  /** The chain before the first line and after the last one; null: no line is encoded yet. */
  before: ChainHead | null;
  after: ChainHead | null;
  /** Appends the last line, which is not encoded before the batch is written. */
  finishLine: (() => void) | null;
  /** Replaced when those who wait for it are answered before it is durable. */
  completion: PromiseWithResolvers<void>;
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
  readonly #writer: BatchWriter;
  readonly #onFailure: (error: StorageError) => void;

  constructor(
    file: OpenFile,
    size: number,
    writer: BatchWriter,
    onFailure: (error: StorageError) => void,
  ) {
    this.#file = file;
    this.#durableBytes = size;
    this.#writer = writer;
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

  /** Appends the line that leads the chain from `before` to `after`. */
  append(before: ChainHead, after: ChainHead, text: string): void {
    const batch = this.#startBatch(after.seq);
    batch.texts.push(text);
    batch.before ??= before;
    batch.after = after;
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

  /** Resolves when nothing is under way any more, however long that takes. Never rejects. */
  async finishBatches(): Promise<void> {
    await waitForOutcome(this.whenDurable()).catch(() => {});
  }

  /** Rejects what waits now with `DiskHangs`. The writes themselves go on. */
  giveUpWaiting(): void {
    for (const batch of [this.#writingBatch, this.#pendingBatch]) {
      if (batch === null) continue;
      const { completion } = batch;
      batch.completion = createCompletion();
      completion.reject(new DiskHangs(batch.completion.promise));
    }
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

  /** Writes nothing any more: what is on disk can no longer be trusted. */
  fail(error: StorageError): void {
    if (this.#failure === null) this.#fail(error);
  }

  /** Whether nothing is written any more. */
  get hasFailed(): boolean {
    return this.#failure !== null;
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
      // Before another one exists: only of the newest segment an end may be missing.
      await this.#writer.finishSegment(this.#file);
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
      if (error instanceof StorageError) this.fail(error);
    }
  }

  /** The batch that is collecting lines; if there is none, a new one that begins with `seq`. */
  #startBatch(seq: number): Batch {
    if (this.#failure !== null) throw this.#failure;
    if (this.#pendingBatch !== null) return this.#pendingBatch;
    // Not at once: other commands in the same turn of the event loop share the sync.
    if (!this.#isRunning) setImmediate(() => void this.#run());
    return (this.#pendingBatch = {
      firstSeq: seq,
      texts: [],
      before: null,
      after: null,
      finishLine: null,
      completion: createCompletion(),
    });
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#pendingBatch;
    if (batch === null) return;
    batch.finishLine?.();
    this.#pendingBatch = null;
    this.#writingBatch = batch;
    const { firstSeq, texts, before, after } = batch;
    if (before === null || after === null) throw new Error("a batch without lines was written");
    const bytes = Buffer.from(texts.join(""));
    const lines = { firstSeq, lastSeq: after.seq, prev: before.sum, sum: after.sum, texts };
    try {
      await this.#writer.write(this.#file, lines, bytes);
    } catch (error) {
      if (!(error instanceof StorageError)) throw error;
      // What waits for this batch must not be answered that nothing was changed.
      if (error instanceof CopyError) this.#completeBatch(batch);
      return this.fail(error);
    }
    this.#durableBytes += bytes.length;
    this.#completeBatch(batch);
  }

  #completeBatch({ completion }: Batch): void {
    this.#writingBatch = null;
    completion.resolve();
  }

  #fail(failure: StorageError): void {
    this.#failure = failure;
    this.#writingBatch?.completion.reject(failure);
    this.#pendingBatch?.completion.reject(failure);
    this.#requestedSwitch?.completion.reject(failure);
    this.#onFailure(failure);
  }
}

/** Waiting callers get a failure. A batch without a waiting caller must not end the process. */
function createCompletion(): PromiseWithResolvers<void> {
  const completion = Promise.withResolvers<void>();
  completion.promise.catch(() => {});
  return completion;
}

/** Everything acknowledged is synced, so a failing close loses nothing. */
function closeQuietly(file: OpenFile): void {
  try {
    file.close();
  } catch (error) {
    if (errorCode(error) === null) throw error;
  }
}
