import type { Command, OutcomeOf } from "../domain/decide.ts";
import type { Fault } from "../domain/fault.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { RuleContext } from "../domain/rule-context.ts";
import type { State } from "../domain/state.ts";
import { transact } from "../domain/transact.ts";
import { AuditHealth } from "./audit/audit-health.ts";
import { CheckpointRunner } from "./checkpoint/checkpoint-runner.ts";
import { assessStoreHealth, SyncTimes, type StoreHealth } from "./store-health.ts";
import { openFolder, type OpenedFolder } from "./folder/folder.ts";
import {
  GroupCommit,
  StorageError,
  toFaultResult,
  toStorageFault,
  type StorageFault,
} from "./journal/group-commit.ts";
import { LockedFolder } from "./folder/locked-folder.ts";
import type { ChainHead } from "./journal/journal.ts";
import { LiveState } from "./live-state.ts";
import { reloadFolder, type LoadedFolder } from "./folder/load.ts";
import type { ValidSegment } from "./journal/replay.ts";
import type { AuditLogSource } from "./audit/line-locator.ts";
import { canWriteProbe } from "./folder/disk-space.ts";
import { createNextSegment, RotationSchedule } from "./journal/rotation.ts";
import type { StateFormat } from "./state/state-format.ts";
import type { AuditMeter, StoreStatus, StoreOptions } from "./store-options.ts";

const TICK_INTERVAL = 1_000;

/**
 * The single writer. A command is decided, applied and appended in one synchronous step. No answer,
 * including reads and refusals, is sent before everything it depends on is on disk.
 */
export class Store {
  /** The known damage of the audit log's files. */
  readonly auditHealth = new AuditHealth();
  readonly #options: StoreOptions;
  readonly #lockedFolder: LockedFolder;
  readonly #format: StateFormat;
  readonly #live: LiveState;
  readonly #rotation: RotationSchedule;
  #commit: GroupCommit;
  #fault: StorageFault | null = null;
  #failureHandling: Promise<void> | null = null;
  #notes: readonly string[];
  #recovering: Promise<void> | null = null;
  readonly #checkpoints: CheckpointRunner;
  #isProbing = false;
  readonly #syncTimes = new SyncTimes();
  readonly #tickTimer: Timer;

  static async open(options: StoreOptions): Promise<Store> {
    const uid = options.uid ?? process.getuid?.() ?? 0;
    const identify = options.identify ?? (async () => "");
    return new Store(options, await openFolder({ ...options, uid, identify, now: options.clock }));
  }

  private constructor(options: StoreOptions, opened: OpenedFolder) {
    this.#options = options;
    this.#lockedFolder = new LockedFolder(options.disk, options.folder, opened.lock);
    this.#format = opened.format;
    this.#notes = opened.notes;
    this.#live = new LiveState(options, opened);
    this.#rotation = new RotationSchedule(options);
    this.#checkpoints = new CheckpointRunner(options, opened, {
      getLastAuditSeq: () => this.#live.head.auditSeq,
      onEnd: (error) => this.auditHealth.setCheckpointResult(error),
    });
    this.#commit = this.#startCommit(opened);
    this.#tickTimer = setInterval(() => void this.#tick(), TICK_INTERVAL);
    this.#tickTimer.unref();
  }

  /**
   * `view` selects the data for the answer in the same step as the change. A command function gets
   * the chain position of that step. `meter` is charged for additions to the audit log; null: no
   * limit.
   */
  transact<C extends Command, T>(
    command: C | ((head: ChainHead) => C),
    view: (state: State, outcome: OutcomeOf<C>, context: RuleContext) => T,
    meter: AuditMeter | null = null,
  ): Promise<Result<T, Fault | StorageFault>> {
    if (this.#fault !== null) return Promise.resolve(err(this.#fault));
    if (this.#format.isOld) return this.#migrateThen(() => this.transact(command, view, meter));
    const context = this.#live.makeContext();
    let answer: Result<T, Fault>;
    try {
      this.#live.writeClockJumps(this.#commit, context);
      const requested = typeof command === "function" ? command(this.#live.head) : command;
      const refuseGrant = (): Fault | null => meter?.checkBudget(context.at) ?? null;
      const result = transact(this.#live.state, requested, context, refuseGrant);
      if (result.ok) this.#live.write(this.#commit, result.value, context.at, meter);
      answer = result.ok ? ok(view(this.#live.state, result.value.outcome, context)) : result;
    } catch (error) {
      // Memory may contain part of a change that the journal does not: reload the state from disk.
      this.#fault = { code: "storage_failed" };
      this.#recover();
      return Promise.reject(error);
    }
    return this.#whenDurable(answer);
  }

  async read<T>(view: (state: State, context: RuleContext) => T): Promise<Result<T, StorageFault>> {
    if (this.#recovering !== null) await this.#recovering;
    if (this.#fault?.code === "storage_failed") return err(this.#fault);
    return this.#whenDurable(ok(view(this.#live.state, this.#live.makeContext())));
  }

  /** Reads without waiting for the disk; must not be used for answers. */
  peek<T>(view: (state: State) => T): T {
    return view(this.#live.state);
  }

  status(): StoreStatus {
    return {
      fault: this.#fault,
      folderChange: this.#lockedFolder.change,
      notes: [...this.#notes, ...this.#lockedFolder.notes],
      checkpointError: this.#checkpoints.error,
      seq: this.#live.head.seq,
      auditSeq: this.#live.head.auditSeq,
      journalBytes: this.#commit.durableBytes,
    };
  }

  /** Where the audit log is read; within a `read`, durable up to `lastSeq` with the answer. */
  auditLogSource(): AuditLogSource {
    const { disk, folder } = this.#options;
    const { state, head } = this.#live;
    const { coveredSeq } = this.#checkpoints;
    return { disk, folder, coveredSeq, lastSeq: head.auditSeq, gaps: state.auditGaps };
  }

  /** The problems that do not stop the store yet. */
  health(): StoreHealth {
    const { disk, folder } = this.#options;
    const { coveredSeq, error, runningMs } = this.#checkpoints;
    return assessStoreHealth(disk, folder, {
      coveredSeq,
      slowestSyncMs: this.#syncTimes.slowest,
      checkpointError: error,
      checkpointRunningMs: runningMs,
      isFileLimited: this.#fault?.isFileLimit === true || this.#rotation.isSizeLimited,
      auditFinding: this.auditHealth.finding,
    });
  }

  /** After a clean stop `state.json` contains everything. */
  async close(): Promise<void> {
    clearInterval(this.#tickTimer);
    await this.#recovering;
    await this.#commit.whenDurable()?.catch(() => {});
    await this.#checkpoints.stop();
    await this.#failIfFolderChanged();
    // A folder of an older format was only read: the version that wrote it can still read it.
    const hasUncheckpointedLines =
      this.#commit.durableBytes > 0 || this.#checkpoints.hasUncheckpointedSegments;
    const canCheckpoint = this.#fault === null && !this.#format.isOld && !this.#checkpoints.isHung;
    if (hasUncheckpointedLines && canCheckpoint) await this.checkpoint();
    await this.#failureHandling;
    this.#commit.close();
    this.#lockedFolder.release();
  }

  /** Starts a new segment and makes a checkpoint of the closed ones; `status` reports a failure. */
  checkpoint(): Promise<void> {
    return this.#checkpoints.run(() => this.#rotate());
  }

  /** Runs `work` while no checkpoint runs; the next checkpoint waits for it. */
  pauseCheckpointsDuring<T>(work: () => Promise<T>): Promise<T> {
    return this.#checkpoints.pauseDuring(work);
  }

  /** Returns the first line of the new open segment. */
  async #rotate(): Promise<number> {
    // A recovery is about to close the current file, so it is waited for first: nothing may start
    // between this check and the switch.
    while (this.#recovering !== null) await this.#recovering;
    if (this.#format.isOld) await this.#format.migrate();
    let open = 0;
    await this.#commit.switchFile(async () => {
      open = this.#commit.pendingBatchSeq ?? this.#live.head.seq + 1;
      return this.#lockedFolder.startSegment(open);
    });
    this.#rotation.restart();
    return open;
  }

  async #migrateThen<T, F>(
    change: () => Promise<Result<T, F>>,
  ): Promise<Result<T, F | StorageFault>> {
    try {
      await this.#format.migrate();
    } catch (error) {
      return err(toStorageFault(error));
    }
    return change();
  }

  #whenDurable<T, F>(answer: Result<T, F>): Promise<Result<T, F | StorageFault>> {
    const syncing = this.#commit.whenDurable();
    return syncing === null ? Promise.resolve(answer) : syncing.then(() => answer, toFaultResult);
  }

  #startCommit({ segment }: Pick<LoadedFolder, "segment">): GroupCommit {
    const file = this.#lockedFolder.openSegment(segment);
    return new GroupCommit(file, segment.size, this.#syncTimes, (error) => this.#fail(error));
  }

  #fail(error: StorageError): void {
    this.#fault = error.fault;
    if (error.fault.code === "storage_full") return this.#recover();
    const { coveredSeq: covers, hasUncheckpointedSegments } = this.#checkpoints;
    const progress = { durableBytes: this.#commit.durableBytes, covers, hasUncheckpointedSegments };
    this.#failureHandling = this.#lockedFolder
      .handleFailure(error, progress)
      .then(this.#options.onFatal);
  }

  /** Fails the store if its files were removed or replaced: answers must not depend on them. */
  async #failIfFolderChanged(): Promise<void> {
    if (this.#fault?.code === "storage_failed" || this.#recovering !== null) return;
    // A segment that is being opened is checked there.
    const failure = this.#commit.pendingSwitch === null ? this.#lockedFolder.findChange() : null;
    if (failure === null) return;
    this.#fault = failure.fault;
    await this.#commit.switchFile(() => Promise.reject(failure)).catch(() => {});
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
    const { disk, folder, checkSignatures } = this.#options;
    await this.#commit.pendingSwitch;
    await this.#commit.whenDurable()?.catch((error: unknown) => {
      if (error instanceof StorageError && error.fault.code === "storage_failed") throw error;
    });
    const failure = this.#lockedFolder.findChange();
    if (failure !== null) {
      this.#fail(failure);
      throw failure;
    }
    this.#commit.close();
    const durableEnd = { path: this.#lockedFolder.segmentPath, size: this.#commit.durableBytes };
    const loaded = await reloadFolder(disk, folder, durableEnd, checkSignatures);
    this.#live.replace(loaded);
    this.#checkpoints.coveredSeq = loaded.coveredSeq;
    const segment = await this.#chooseSegment(loaded);
    this.#checkpoints.hasUncheckpointedSegments =
      loaded.hasUncheckpointedSegments || segment !== loaded.segment;
    this.#commit = this.#startCommit({ segment });
    if (this.#fault?.code !== "storage_full") this.#fault = null;
  }

  /** A new segment if the last one reached the file size limit and a new one can be created. */
  async #chooseSegment({ segment, head }: LoadedFolder): Promise<ValidSegment> {
    if (this.#fault?.isFileLimit !== true || segment.size === 0) return segment;
    const next = await createNextSegment(this.#options.disk, this.#options.folder, head.seq + 1);
    if (next === null) return segment;
    this.#rotation.limitSize(segment.size);
    this.#fault = null;
    return next;
  }

  async #tick(): Promise<void> {
    await this.#failIfFolderChanged();
    if (this.#fault?.code === "storage_full") return this.#probeDiskSpace();
    if (this.#checkpoints.currentRun !== null || this.#fault !== null || this.#format.isOld) return;
    if (this.#rotation.isRotationDue(this.#commit.durableBytes)) await this.checkpoint();
    else if (this.#checkpoints.isRetryDue)
      await this.#checkpoints.run(async () => this.#lockedFolder.segmentNumber);
  }

  async #probeDiskSpace(): Promise<void> {
    // One probe at a time: the result of a slow one may be outdated.
    if (this.#recovering !== null || this.#isProbing) return;
    this.#isProbing = true;
    const hasSpace = await canWriteProbe(this.#options.disk, this.#options.folder);
    this.#isProbing = false;
    if (!hasSpace || this.#fault?.code !== "storage_full") return;
    this.#fault = null;
    this.#checkpoints.retrySoon();
  }
}
