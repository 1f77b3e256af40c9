import type { OpenFile } from "../platform/files/disk.ts";
import type { HistogramCounts } from "../platform/metrics/histogram.ts";
import type { CheckpointRunner } from "./checkpoint/checkpoint-runner.ts";
import { canWriteProbe } from "./folder/disk-space.ts";
import { reloadFolder, type LoadedFolder } from "./folder/load.ts";
import type { LockedFolder } from "./folder/locked-folder.ts";
import { FileBatchWriter } from "./journal/batch-writer.ts";
import { LogUnavailable, type SharedLog } from "./log/shared-log.ts";
import { LogBatchWriter } from "./log/log-batch-writer.ts";
import { GroupCommit } from "./journal/group-commit.ts";
import {
  HANGING_DISK,
  StorageError,
  waitForOutcome,
  type StorageFault,
} from "./journal/storage-fault.ts";
import type { ValidSegment } from "./journal/replay.ts";
import { createNextSegment, type RotationSchedule } from "./journal/rotation.ts";
import type { LiveState } from "./live-state.ts";
import { SyncTimes } from "./store-health.ts";
import type { StoreOptions } from "./store-options.ts";

interface JournalOptions extends Pick<
  StoreOptions,
  "disk" | "folder" | "checkSignatures" | "onFatal"
> {
  /** Null: this host is alone. */
  readonly log: SharedLog | null;
}

/** The parts of a store that must agree with the disk after a recovery. */
interface StoreParts {
  readonly live: LiveState;
  readonly lockedFolder: LockedFolder;
  readonly checkpoints: CheckpointRunner;
  readonly rotation: RotationSchedule;
}

/** A sync of a healthy disk takes milliseconds; under a heavy load, seconds. */
const HANGING_SYNC_MS = 15_000;

/** The journal of an open store, the fault that stops it, and the recovery from that fault. */
export class RecoverableJournal {
  readonly #options: JournalOptions;
  readonly #parts: StoreParts;
  readonly #syncTimes = new SyncTimes();
  readonly #writer: FileBatchWriter | LogBatchWriter;
  #commit: GroupCommit;
  #fault: StorageFault | null = null;
  #failureHandling: Promise<void> | null = null;
  #recovering: Promise<void> | null = null;
  #stepDown: Promise<void> | null = null;
  #isProbing = false;
  #appendError: LogUnavailable | null = null;
  /** Callers were answered before the sync that is under way, or the one before it, returned. */
  #hasGivenUp = false;

  constructor(options: JournalOptions, segment: ValidSegment, parts: StoreParts) {
    this.#options = options;
    this.#parts = parts;
    const copy = new FileBatchWriter(this.#syncTimes);
    this.#writer = options.log
      ? new LogBatchWriter(options.log, copy, (error) => this.#commit.fail(error))
      : copy;
    this.#fault = this.#restingFault;
    this.#commit = this.#startCommit(segment);
  }

  /** Appends to the open segment; a recovery replaces it. */
  get commit(): GroupCommit {
    return this.#commit;
  }

  /** Null: changes are accepted. */
  get fault(): StorageFault | null {
    if (this.#hasGivenUp && !this.#isHanging) this.#hasGivenUp = false;
    return this.#fault ?? (this.#hasGivenUp ? HANGING_DISK : null);
  }

  /**
   * A disk that does not answer counts as failed, also for the leader of a pair, whose changes need
   * only the log: the other host can do better.
   */
  get reportedFault(): StorageFault | null {
    return this.#fault ?? (this.#isHanging ? HANGING_DISK : null);
  }

  get #isHanging(): boolean {
    return this.#syncTimes.countUnfinishedMs() > HANGING_SYNC_MS;
  }

  /**
   * Answers the callers of a disk that does not answer, and refuses changes until it does. What was
   * decided stays in memory: it becomes durable with the sync, or the sync fails and the process
   * ends.
   */
  giveUpHangingSync(): void {
    // In a pair, callers wait for the log.
    if (this.#options.log !== null || this.#hasGivenUp || !this.#isHanging) return;
    this.#hasGivenUp = true;
    this.#commit.giveUpWaiting();
  }

  /** Why the log may not have the last lines of this host; null: it has them. */
  get appendError(): LogUnavailable | null {
    return this.#appendError;
  }

  /** Whether lines can be written to the journal of this host, even if another host leads. */
  get canCopyLines(): boolean {
    return this.#fault === null || isWithoutLeadership(this.#fault);
  }

  /**
   * From now on changes are accepted, and appended to the shared log with this epoch. Returns why
   * this host cannot lead; null: it leads.
   */
  lead(epoch: number): StorageFault | null {
    if (this.#recovering !== null) return this.#fault ?? { code: "standby" };
    if (this.#fault !== null && !isWithoutLeadership(this.#fault)) return this.#fault;
    if (this.#writer instanceof LogBatchWriter) this.#writer.epoch = epoch;
    this.#appendError = null;
    return (this.#fault = null);
  }

  /** Refuses changes from now on. Resolves when those under way are durable or have failed. */
  async stopLeading(fault: StorageFault): Promise<void> {
    if (this.#fault === null) {
      this.#fault = fault;
      this.#stepDown = this.#finishLeading();
    }
    await this.#stepDown;
    while (this.#recovering !== null) await this.#recovering;
  }

  /** This host has all lines of the log: that the log was away is over. */
  endLogFault(): void {
    if (this.#fault?.code === "log_unavailable") this.#fault = { code: "standby" };
  }

  async #finishLeading(): Promise<void> {
    await this.#commit.finishBatches();
    // A batch of this host must never be taken for a batch of the log, so this comes last.
    if (this.#writer instanceof LogBatchWriter) this.#writer.epoch = null;
    this.#stepDown = null;
  }

  /** What is refused although nothing is wrong: everything, as long as the other host may lead. */
  get #restingFault(): StorageFault | null {
    return this.#options.log === null ? null : { code: "standby" };
  }

  /** Resolves when the running recovery ends; null: none is running. */
  get recovering(): Promise<void> | null {
    return this.#recovering;
  }

  /** Resolves when a permanent failure was reported; null: there was none. */
  get failureHandling(): Promise<void> | null {
    return this.#failureHandling;
  }

  /** The slowest sync of the last one to two minutes. */
  get slowestSyncMs(): number {
    return this.#syncTimes.slowest;
  }

  /** For how many milliseconds a sync has not returned; 0: none is under way. */
  get unfinishedSyncMs(): number {
    return this.#syncTimes.countUnfinishedMs();
  }

  /** How long the syncs since the start took. */
  get syncDurations(): HistogramCounts {
    return this.#syncTimes.durations;
  }

  /** After an exception within a change, which may be in memory in part. */
  recoverFromException(): void {
    this.#fault = { code: "storage_failed" };
    this.#recover();
  }

  /** Fails the store if its files were removed or replaced: answers must not depend on them. */
  async failIfFolderChanged(): Promise<void> {
    if (this.#fault?.code === "storage_failed" || this.#recovering !== null) return;
    // A segment that is being opened is checked there.
    const failure =
      this.#commit.pendingSwitch === null ? this.#parts.lockedFolder.findChange() : null;
    if (failure === null) return;
    this.#fault = failure.fault;
    await this.#commit.switchFile(() => Promise.reject(failure)).catch(() => {});
  }

  /** Continues in the segment that `open` returns; null: in the open one. */
  switchSegment(open: () => Promise<OpenFile | null>): Promise<void> {
    return this.#commit.switchFile(() => this.#syncTimes.watch(open));
  }

  /** Closes the open segment once nothing is under way in it. */
  async close(): Promise<void> {
    await this.#writer.finishSyncs();
    this.#commit.close();
  }

  /** Ends the fault of a full disk if there is space again. */
  async probeDiskSpace(): Promise<void> {
    // One probe at a time: the result of a slow one may be outdated.
    if (this.#recovering !== null || this.#isProbing) return;
    this.#isProbing = true;
    const hasSpace = await canWriteProbe(this.#options.disk, this.#options.folder);
    this.#isProbing = false;
    if (!hasSpace || this.#fault?.code !== "storage_full") return;
    this.#fault = this.#restingFault;
    this.#parts.checkpoints.retrySoon();
  }

  #startCommit(segment: ValidSegment): GroupCommit {
    const file = this.#parts.lockedFolder.openSegment(segment);
    return new GroupCommit(file, segment.size, this.#writer, (error) => this.#fail(error));
  }

  #fail(error: StorageError): void {
    this.#fault = error.fault;
    if (error.cause instanceof LogUnavailable) this.#appendError = error.cause;
    if (this.#writer instanceof LogBatchWriter) this.#writer.epoch = null;
    if (error.fault.code !== "storage_failed") return this.#recover();
    const { coveredSeq: covers, hasUncheckpointedSegments } = this.#parts.checkpoints;
    const progress = { durableBytes: this.#commit.durableBytes, covers, hasUncheckpointedSegments };
    this.#failureHandling = this.#parts.lockedFolder
      .handleFailure(error, progress)
      .then(this.#options.onFatal);
  }

  /** Memory is ahead of the disk: waits for pending writes, then reloads the state from disk. */
  #recover(): void {
    this.#recovering ??= this.#reload()
      .catch((error: unknown) => {
        if (error instanceof StorageError) return;
        this.#fault = { code: "storage_failed" };
        this.#options.onFatal(error instanceof Error ? error : new Error(String(error)));
      })
      .finally(() => {
        this.#recovering = null;
      });
  }

  async #reload(): Promise<void> {
    const { disk, folder, checkSignatures, log } = this.#options;
    const { live, lockedFolder, checkpoints } = this.#parts;
    await this.#commit.pendingSwitch;
    await waitForOutcome(this.#commit.whenDurable()).catch((error: unknown) => {
      if (error instanceof StorageError && error.fault.code === "storage_failed") throw error;
    });
    const failure = lockedFolder.findChange();
    if (failure !== null) {
      this.#fail(failure);
      throw failure;
    }
    await this.close();
    // The sync of the copy failed meanwhile: the process is about to end.
    if (this.#failureHandling !== null) return;
    const durableEnd = { path: lockedFolder.segmentPath, size: this.#commit.durableBytes };
    const loaded = await reloadFolder(disk, folder, durableEnd, checkSignatures, {
      hasLog: log !== null,
    });
    live.replace(loaded);
    checkpoints.coveredSeq = loaded.coveredSeq;
    const segment = await this.#chooseSegment(loaded);
    checkpoints.hasUncheckpointedSegments =
      loaded.hasUncheckpointedSegments || segment !== loaded.segment;
    this.#commit = this.#startCommit(segment);
    if (this.#writer instanceof LogBatchWriter) this.#writer.epoch = null;
    if (this.#fault?.code === "storage_failed") this.#fault = this.#restingFault;
  }

  /** A new segment if the last one reached the file size limit and a new one can be created. */
  async #chooseSegment({ segment, head }: LoadedFolder): Promise<ValidSegment> {
    if (this.#fault?.isFileLimit !== true || segment.size === 0) return segment;
    const next = await createNextSegment(this.#options.disk, this.#options.folder, head.seq + 1);
    if (next === null) return segment;
    this.#parts.rotation.limitSize(segment.size);
    this.#fault = this.#restingFault;
    return next;
  }
}

/** Nothing is wrong with the disk of this host, but it does not lead. */
const isWithoutLeadership = ({ code }: StorageFault): boolean =>
  code === "standby" || code === "log_unavailable";
