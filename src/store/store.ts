import type { Command, OutcomeOf } from "../domain/decide.ts";
import type { Fault } from "../domain/model/fault.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { RuleContext } from "../domain/model/rule-context.ts";
import type { State } from "../domain/model/state.ts";
import type { Instant } from "../domain/time.ts";
import { transact, type TransactionResult } from "../domain/transact.ts";
import { AuditHealth } from "./audit/audit-health.ts";
import type { AuditLogSource } from "./audit/line-locator.ts";
import { CheckpointRunner } from "./checkpoint/checkpoint-runner.ts";
import { DiskFigureCache } from "./folder/disk-space.ts";
import { openFolder, type OpenedFolder } from "./folder/folder.ts";
import { LockedFolder } from "./folder/locked-folder.ts";
import {
  DiskHangs,
  toFaultResult,
  waitForOutcome,
  type StorageFault,
} from "./journal/storage-fault.ts";
import type { ChainHead } from "./journal/journal.ts";
import { RotationSchedule } from "./journal/rotation.ts";
import { LogFollower } from "./log/log-follower.ts";
import { openLog } from "./log/open-log.ts";
import type { LogLeader, SharedLog } from "./log/shared-log.ts";
import { LiveState } from "./live-state.ts";
import { RecoverableJournal } from "./recoverable-journal.ts";
import type { StateFormat } from "./state/state-format.ts";
import { StoreMaintenance } from "./store-maintenance.ts";
import { assessStoreHealth, type StoreHealth } from "./store-health.ts";
import type {
  AuditMeter,
  DecidedChange,
  StoreMeasures,
  StoreStatus,
  StoreOptions,
} from "./store-options.ts";

type JournalLines = TransactionResult<unknown>["journalLines"];
const NO_LINES: JournalLines = [];

/**
 * The single writer. A command is decided, applied and appended in one synchronous step. No answer,
 * including reads and refusals, is sent before everything it depends on is on disk.
 */
export class Store {
  /** The known damage of the audit log's files. */
  readonly auditHealth: AuditHealth;
  readonly #options: StoreOptions;
  readonly #lockedFolder: LockedFolder;
  readonly #format: StateFormat;
  readonly #live: LiveState;
  readonly #rotation: RotationSchedule;
  readonly #notes: readonly string[];
  readonly #checkpoints: CheckpointRunner;
  readonly #journal: RecoverableJournal;
  /** Null: this host is alone. */
  readonly #follower: LogFollower | null;
  readonly #maintenance: StoreMaintenance;
  readonly #diskFigures: DiskFigureCache;

  static async open(options: StoreOptions): Promise<Store> {
    const uid = options.uid ?? process.getuid?.() ?? 0;
    const identify = options.identify ?? (async () => "");
    const hasLog = options.openLog !== undefined;
    const opened = await openFolder({ ...options, uid, identify, now: options.clock, hasLog });
    try {
      return new Store(options, opened, await openLog(options, opened));
    } catch (error) {
      opened.lock.release();
      throw error;
    }
  }

  private constructor(options: StoreOptions, opened: OpenedFolder, log: SharedLog | null) {
    this.#options = options;
    this.auditHealth = new AuditHealth(options.folder);
    const { disk, folder, monotonicMs = () => performance.now() } = options;
    this.#lockedFolder = new LockedFolder(disk, folder, opened.lock);
    this.#diskFigures = new DiskFigureCache(disk, folder, monotonicMs);
    this.#format = opened.format;
    this.#notes = opened.notes;
    this.#live = new LiveState(options, opened);
    this.#rotation = new RotationSchedule(options);
    this.#checkpoints = new CheckpointRunner(options, opened, {
      getLastAuditSeq: () => this.#live.lastAuditSeq,
      onEnd: (error) => this.auditHealth.setCheckpointResult(error),
    });
    this.#journal = new RecoverableJournal({ ...options, log }, opened.segment, {
      live: this.#live,
      lockedFolder: this.#lockedFolder,
      checkpoints: this.#checkpoints,
      rotation: this.#rotation,
    });
    this.#maintenance = new StoreMaintenance({
      live: this.#live,
      lockedFolder: this.#lockedFolder,
      checkpoints: this.#checkpoints,
      rotation: this.#rotation,
      journal: this.#journal,
      format: this.#format,
    });
    const { observer, checkSignatures } = options;
    const parts = { live: this.#live, journal: this.#journal, observer, checkSignatures };
    this.#follower = log === null ? null : new LogFollower({ log, ...parts });
    // The first claim must not wait until all holders are counted for the rules.
    this.#live.state.rulesIndex.build(this.#live.state, this.#live.makeContext().at);
    this.#maintenance.start();
  }

  /** Decides and writes a command. The result follows when it is on disk. See `decide`. */
  transact<C extends Command, T>(
    command: C | ((head: ChainHead) => C),
    view: (state: State, outcome: OutcomeOf<C>, context: RuleContext) => T,
    meter: AuditMeter | null = null,
    waitFor: "reply" | "outcome" = "reply",
  ): Promise<Result<T, Fault | StorageFault>> {
    return this.decide(command, view, meter, waitFor).pendingResult;
  }

  /**
   * `view` selects the data for the answer in the same step as the change. A command function gets
   * the chain position of that step. `meter` is charged for additions to the audit log; null: no
   * limit.
   *
   * If the disk hangs, the result is `storage_failed` before the outcome is known. Work that goes
   * on after the change waits for its `outcome` instead, however long the disk takes.
   */
  decide<C extends Command, T>(
    command: C | ((head: ChainHead) => C),
    view: (state: State, outcome: OutcomeOf<C>, context: RuleContext) => T,
    meter: AuditMeter | null = null,
    waitFor: "reply" | "outcome" = "reply",
  ): DecidedChange<T> {
    const refusal = this.#journal.fault ?? this.#findChangeFault(command);
    if (refusal !== null || this.#format.isOld) {
      const pendingResult =
        refusal === null
          ? this.#format.migrateThen(() => this.transact(command, view, meter, waitFor))
          : Promise.resolve(err(refusal));
      const { latestEventAt: at } = this.#live.state;
      return { at, seq: this.#live.lastSeq, fault: refusal, pendingResult };
    }
    const context = this.#live.makeContext();
    const { at } = context;
    let answer: Result<T, Fault>;
    let lines: JournalLines = NO_LINES;
    try {
      this.#live.writeClockJumps(this.#journal.commit, context);
      const requested =
        typeof command === "function"
          ? command(this.#live.finishLine(this.#journal.commit))
          : command;
      const result = transact(this.#live.state, requested, context, meter);
      if (result.ok) {
        lines = result.value.journalLines;
        this.#live.write(this.#journal.commit, result.value, at, meter);
        this.#observeApplied(lines, at);
      }
      answer = result.ok ? ok(view(this.#live.state, result.value.outcome, context)) : result;
    } catch (error) {
      // Memory may contain part of a change that the journal does not: reload the state from disk.
      this.#journal.recoverFromException();
      return { at, seq: this.#live.lastSeq, fault: null, pendingResult: Promise.reject(error) };
    }
    const fault = answer.ok ? null : answer.fault;
    const pendingResult = this.#whenDurable(answer, lines, waitFor);
    return { at, seq: this.#live.lastSeq, fault, pendingResult };
  }

  async read<T>(view: (state: State, context: RuleContext) => T): Promise<Result<T, StorageFault>> {
    if (this.#journal.recovering !== null) await this.#journal.recovering;
    const { fault } = this.#journal;
    // A full disk still lets a server that is alone answer what it has on disk.
    const canRead = fault?.code === "storage_full" && this.#follower === null;
    if (fault !== null && !canRead) return err(fault);
    return this.#whenDurable(ok(view(this.#live.state, this.#live.makeContext())));
  }

  /** Reads without waiting for the disk; must not be used for answers. */
  peek<T>(view: (state: State) => T): T {
    return view(this.#live.state);
  }

  /**
   * In a pair: applies what the other host wrote since, and refuses changes from now on. Rejects if
   * the log cannot be read, with a `StorageError` if the lines cannot be written, and with a
   * `CannotFollow` if they are not a continuation, or of a newer version. The signal ends it early.
   * Returns the leader if it was read after the last line; null: it was not.
   */
  async follow(signal?: AbortSignal): Promise<LogLeader | null> {
    await this.stopLeading({ code: "standby" });
    return (await this.#follower?.catchUp(signal)) ?? null;
  }

  /**
   * In a pair: accepts changes from now on, which are appended with this epoch. `command` is the
   * first one; no reply is sent before it is durable. If it is refused, this host does not lead.
   */
  async lead<C extends Command>(
    epoch: number,
    command: C,
  ): Promise<Result<OutcomeOf<C>, Fault | StorageFault>> {
    await this.stopLeading({ code: "standby" });
    const fault = (await this.#follower?.prepareToLead(epoch)) ?? this.#journal.lead(epoch);
    if (fault !== null) return err(fault);
    const led = await this.transact(command, (_state, outcome) => outcome);
    if (!led.ok) await this.stopLeading({ code: "standby" });
    return led;
  }

  /** In a pair: refuses changes from now on, and follows the other host. */
  stopLeading(fault: StorageFault): Promise<void> {
    return this.#journal.stopLeading(fault);
  }

  status(): StoreStatus {
    return {
      fault: this.#journal.reportedFault,
      folderChange: this.#lockedFolder.change,
      notes: [...this.#notes, ...this.#lockedFolder.notes],
      checkpointError: this.#checkpoints.error,
      isStateMissing: this.#lockedFolder.isStateMissing,
      followProblem: this.#follower?.problem ?? null,
      appendError: this.#journal.appendError,
      seq: this.#live.lastSeq,
      head: { seq: this.#live.head.seq, sum: this.#live.head.sum },
      coveredSeq: this.#checkpoints.coveredSeq,
      auditSeq: this.#live.lastAuditSeq,
      journalBytes: this.#journal.commit.durableBytes,
    };
  }

  /** Where the audit log is read; within a `read`, durable up to `lastSeq` with the answer. */
  auditLogSource(): AuditLogSource {
    const { disk, folder } = this.#options;
    const { state, lastAuditSeq } = this.#live;
    const { coveredSeq } = this.#checkpoints;
    return { disk, folder, coveredSeq, lastSeq: lastAuditSeq, gaps: state.auditGaps };
  }

  /** The problems that do not stop the store yet. */
  health(): StoreHealth {
    const { coveredSeq, error, runningMs, stalledMs } = this.#checkpoints;
    return assessStoreHealth(this.#options.folder, this.#diskFigures.read(coveredSeq), {
      slowestSyncMs: this.#journal.slowestSyncMs,
      unfinishedSyncMs: this.#journal.unfinishedSyncMs,
      checkpointError: error,
      checkpointRunningMs: runningMs,
      checkpointStalledMs: stalledMs,
      isStateMissing: this.#lockedFolder.isStateMissing,
      isFileLimited: this.#journal.fault?.isFileLimit === true || this.#rotation.isSizeLimited,
      auditFinding: this.auditHealth.finding,
    });
  }

  measures(): StoreMeasures {
    const { syncDurations, unfinishedSyncMs } = this.#journal;
    return { syncDurations, unfinishedSyncMs, checkpointAgeMs: this.#checkpoints.ageMs };
  }

  /** After a clean stop `state.json` contains everything. */
  async close(): Promise<void> {
    this.#maintenance.stop();
    await this.#follower?.stop();
    await this.#journal.recovering;
    await this.#journal.commit.finishBatches();
    await this.#checkpoints.stop();
    await this.#journal.failIfFolderChanged();
    // A folder of an older format was only read: the version that wrote it can still read it.
    const hasUncheckpointedLines =
      this.#journal.commit.durableBytes > 0 || this.#checkpoints.hasUncheckpointedSegments;
    const canCheckpoint =
      this.#journal.canCopyLines && !this.#format.isOld && !this.#checkpoints.isHung;
    if (canCheckpoint) await this.#maintenance.restoreState();
    if (hasUncheckpointedLines && canCheckpoint) await this.checkpoint();
    await this.#journal.failureHandling;
    await this.#journal.close();
    this.#lockedFolder.release();
  }

  /** Starts a new segment and makes a checkpoint of the closed ones; `status` reports a failure. */
  checkpoint(): Promise<void> {
    return this.#maintenance.checkpoint();
  }

  /** Runs `work` while no checkpoint runs; the next checkpoint waits for it. */
  pauseCheckpointsDuring<T>(work: () => Promise<T>): Promise<T> {
    return this.#checkpoints.pauseDuring(work);
  }

  #findChangeFault(command: Command | object): StorageFault | null {
    const known = "type" in command ? command : null;
    return this.#options.findChangeFault?.(this.#live.state, known) ?? null;
  }

  #whenDurable<T, F>(
    answer: Result<T, F>,
    lines: JournalLines = NO_LINES,
    waitFor: "reply" | "outcome" = "reply",
  ): Promise<Result<T, F | StorageFault>> {
    const syncing = this.#journal.commit.whenDurable();
    if (syncing === null) return Promise.resolve(answer);
    return syncing.then(
      () => {
        this.#observeDurable(lines);
        return answer;
      },
      (error: unknown) => {
        if (!(error instanceof DiskHangs)) return toFaultResult(error);
        const outcome = waitForOutcome(error.outcome).then(() => {
          this.#observeDurable(lines);
          return answer;
        }, toFaultResult);
        return waitFor === "outcome" ? outcome : toFaultResult(error);
      },
    );
  }

  #observeDurable(lines: JournalLines): void {
    const { observer } = this.#options;
    for (const line of lines) observer?.durable(line, this.#live.state);
  }

  #observeApplied(lines: JournalLines, at: Instant): void {
    const { observer } = this.#options;
    for (const line of lines) observer?.applied(line, this.#live.state, at);
  }
}
