import type { Command } from "../domain/command.ts";
import type { OutcomeOf } from "../domain/decide.ts";
import type { Fault } from "../domain/fault.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { State } from "../domain/state.ts";
import type { Instant } from "../domain/time.ts";
import { transact } from "../domain/transact.ts";
import { AuditHealth } from "./audit-health.ts";
import { Checkpoints } from "./checkpoints.ts";
import { conditionOf, SyncTimes, type Condition } from "./condition.ts";
import { openFolder, type OpenedFolder } from "./folder.ts";
import { GroupCommit, StorageError, storageFault, type StorageFault } from "./group-commit.ts";
import { HeldFolder } from "./held-folder.ts";
import type { Head } from "./journal.ts";
import { LiveState } from "./live-state.ts";
import { loadAgain, type Loaded } from "./load.ts";
import type { GoodSegment } from "./replay.ts";
import type { RecordPlace } from "./record-files.ts";
import { hasRoom } from "./room.ts";
import { nextSegment, SegmentTerm } from "./rotation.ts";
import type { StateFormat } from "./state-format.ts";
import type { AuditMeter, StoreHealth, StoreOptions } from "./store-options.ts";

const TICK = 1_000;

/**
 * The single writer. A command is decided and applied in one synchronous step, its line is
 * appended, and nothing is answered, reads and refusals included, before everything it could have
 * seen is on disk.
 */
export class Store {
  /** What is known of the audit log's files. */
  readonly audit = new AuditHealth();
  readonly #options: StoreOptions;
  readonly #held: HeldFolder;
  readonly #format: StateFormat;
  readonly #live: LiveState;
  readonly #term: SegmentTerm;
  #commit: GroupCommit;
  #fault: StorageFault | null = null;
  /** The last words of a store that has given up. */
  #ending: Promise<void> | null = null;
  #notes: readonly string[];
  #recovering: Promise<void> | null = null;
  readonly #checkpoints: Checkpoints;
  #probing = false;
  readonly #syncs = new SyncTimes();
  readonly #ticking: Timer;

  static async open(options: StoreOptions): Promise<Store> {
    const uid = options.uid ?? process.getuid?.() ?? 0;
    const identify = options.identify ?? (async () => "");
    const opened = await openFolder({ ...options, uid, identify, now: options.clock });
    return new Store(options, opened);
  }

  private constructor(options: StoreOptions, opened: OpenedFolder) {
    this.#options = options;
    this.#held = new HeldFolder(options.disk, options.folder, opened.lock);
    this.#format = opened.format;
    this.#notes = opened.notes;
    this.#live = new LiveState(options, opened);
    this.#term = new SegmentTerm(options);
    this.#checkpoints = new Checkpoints(options, opened, {
      newestAudited: () => this.#live.head.auditSeq,
      ended: (error) => this.audit.checkpointEnded(error),
    });
    this.#commit = this.#startCommit(opened);
    this.#ticking = setInterval(() => void this.#tick(), TICK);
    this.#ticking.unref();
  }

  /**
   * `view` picks what the answer needs, in the same instant as the change. A command that needs to
   * know where the chains stand is made from that, in that instant too. `meter` pays for what it
   * adds to the audit log; null: nobody does.
   */
  transact<C extends Command, T>(
    command: C | ((head: Head) => C),
    view: (state: State, outcome: OutcomeOf<C>, at: Instant) => T,
    meter: AuditMeter | null = null,
  ): Promise<Result<T, Fault | StorageFault>> {
    if (this.#fault !== null) return Promise.resolve(err(this.#fault));
    if (this.#format.isOld) return this.#migrated(() => this.transact(command, view, meter));
    const at = this.#live.now();
    let answer: Result<T, Fault>;
    try {
      this.#live.recordJumps(this.#commit, at);
      const asked = typeof command === "function" ? command(this.#live.head) : command;
      const done = transact(this.#live.state, asked, at, () => meter?.refusal(at) ?? null);
      if (done.ok) this.#live.write(this.#commit, done.value, at, meter);
      answer = done.ok ? ok(view(this.#live.state, done.value.outcome, at)) : done;
    } catch (bug) {
      // Memory may hold half of what the journal does not: go back to what the disk says.
      this.#fault = { code: "storage_failed" };
      this.#recover();
      return Promise.reject(bug);
    }
    return this.#settled(answer);
  }

  async read<T>(view: (state: State, at: Instant) => T): Promise<Result<T, StorageFault>> {
    if (this.#recovering !== null) await this.#recovering;
    if (this.#fault?.code === "storage_failed") return err(this.#fault);
    return this.#settled(ok(view(this.#live.state, this.#live.now())));
  }

  /** A look that does not wait for the disk: never for what goes into an answer. */
  peek<T>(view: (state: State) => T): T {
    return view(this.#live.state);
  }

  health(): StoreHealth {
    return {
      fault: this.#fault,
      changed: this.#held.changed,
      notes: [...this.#notes, ...this.#held.notes],
      checkpointError: this.#checkpoints.error,
      seq: this.#live.head.seq,
      auditSeq: this.#live.head.auditSeq,
      journalBytes: this.#commit.durableBytes,
    };
  }

  /** Where the record is read; inside of a `read`, it is durable up to `last` with its answer. */
  record(): RecordPlace {
    const { disk, folder } = this.#options;
    const { state, head } = this.#live;
    const { covers } = this.#checkpoints;
    return { disk, folder, covers, last: head.auditSeq, gaps: state.auditGaps };
  }

  /** What does not stop it yet. */
  condition(): Condition {
    const { disk, folder } = this.#options;
    const { covers, error, runningFor } = this.#checkpoints;
    return conditionOf(disk, folder, {
      covers,
      slowestSync: this.#syncs.slowest,
      checkpointError: error,
      checkpointFor: runningFor,
      isFileLimited: this.#fault?.isFileLimit === true || this.#term.isLimited,
      audit: this.audit.finding,
    });
  }

  /** After a clean stop `state.json` holds everything. */
  async close(): Promise<void> {
    clearInterval(this.#ticking);
    await this.#recovering;
    await this.#commit.settled()?.catch(() => {});
    await this.#checkpoints.stop();
    await this.#giveUpIfChanged();
    // One of an older format was only read: it stays what its own version can read.
    const isBehind = this.#commit.durableBytes > 0 || this.#checkpoints.hasUnfolded;
    const isFoldable = this.#fault === null && !this.#format.isOld && !this.#checkpoints.isHung;
    if (isBehind && isFoldable) await this.checkpoint();
    await this.#ending;
    this.#commit.close();
    this.#held.release();
  }

  /** Rotates to a new segment and folds the closed ones; a failure is told by `health`. */
  checkpoint(): Promise<void> {
    return this.#checkpoints.run(() => this.#rotate());
  }

  /** Does something that no checkpoint may run beside, and keeps the next one waiting. */
  betweenCheckpoints<T>(work: () => Promise<T>): Promise<T> {
    return this.#checkpoints.between(work);
  }

  /** The first line of the segment that is open then. */
  async #rotate(): Promise<number> {
    // Whoever goes back to what the disk says is about to let go of the file in use. Asked first:
    // between a look and the switch nothing may begin.
    while (this.#recovering !== null) await this.#recovering;
    if (this.#format.isOld) await this.#format.migrate();
    let open = 0;
    await this.#commit.switchTo(async () => {
      open = this.#commit.gatheringFrom ?? this.#live.head.seq + 1;
      return this.#held.startSegment(open);
    });
    this.#term.begin();
    return open;
  }

  async #migrated<T, F>(change: () => Promise<Result<T, F>>): Promise<Result<T, F | StorageFault>> {
    try {
      await this.#format.migrate();
    } catch (error) {
      return err(storageFault(error));
    }
    return change();
  }

  #settled<T, F>(answer: Result<T, F>): Promise<Result<T, F | StorageFault>> {
    const syncing = this.#commit.settled();
    return syncing === null ? Promise.resolve(answer) : syncing.then(() => answer, faultOf);
  }

  #startCommit({ segment }: Pick<Loaded, "segment">): GroupCommit {
    const file = this.#held.openSegment(segment);
    return new GroupCommit(file, segment.size, this.#syncs, (error) => this.#fail(error));
  }

  #fail(error: StorageError): void {
    this.#fault = error.fault;
    if (error.fault.code === "storage_full") return this.#recover();
    const { durableBytes } = this.#commit;
    const { covers, hasUnfolded: unfolded } = this.#checkpoints;
    const progress = { durableBytes, covers, unfolded };
    this.#ending = this.#held.explain(error, progress).then(this.#options.onFatal);
  }

  /** Nothing may be answered from files that their names do not lead to any more. */
  async #giveUpIfChanged(): Promise<void> {
    if (this.#fault?.code === "storage_failed" || this.#recovering !== null) return;
    // One that is being opened is checked by whoever opens it.
    const failure = this.#commit.quiet === null ? this.#held.findChange() : null;
    if (failure === null) return;
    this.#fault = failure.fault;
    await this.#commit.switchTo(() => Promise.reject(failure)).catch(() => {});
  }

  /** Memory is ahead of the disk: wait out what is being written, then start again from there. */
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
    await this.#commit.quiet;
    await this.#commit.settled()?.catch((error: unknown) => {
      if (error instanceof StorageError && error.fault.code === "storage_failed") throw error;
    });
    const failure = this.#held.findChange();
    if (failure !== null) {
      this.#fail(failure);
      throw failure;
    }
    this.#commit.close();
    const end = { path: this.#held.segmentPath, size: this.#commit.durableBytes };
    const loaded = await loadAgain(disk, folder, end, checkSignatures);
    this.#live.replace(loaded);
    this.#checkpoints.covers = loaded.covers;
    const segment = await this.#roomySegment(loaded);
    this.#checkpoints.hasUnfolded = loaded.unfolded || segment !== loaded.segment;
    this.#commit = this.#startCommit({ segment });
    if (this.#fault?.code !== "storage_full") this.#fault = null;
  }

  /** The next segment, where the last one may not grow any more and another one may. */
  async #roomySegment({ segment, head }: Loaded): Promise<GoodSegment> {
    if (this.#fault?.isFileLimit !== true || segment.size === 0) return segment;
    const next = await nextSegment(this.#options.disk, this.#options.folder, head.seq + 1);
    if (next === null) return segment;
    this.#term.limitTo(segment.size);
    this.#fault = null;
    return next;
  }

  async #tick(): Promise<void> {
    await this.#giveUpIfChanged();
    if (this.#fault?.code === "storage_full") return this.#probe();
    if (this.#checkpoints.running !== null || this.#fault !== null || this.#format.isOld) return;
    if (this.#term.isOver(this.#commit.durableBytes)) await this.checkpoint();
    else if (this.#checkpoints.isRetryDue)
      await this.#checkpoints.run(async () => this.#held.segmentNumber);
  }

  async #probe(): Promise<void> {
    // One at a time: what a slow one finds says nothing about what happened since.
    if (this.#recovering !== null || this.#probing) return;
    this.#probing = true;
    const room = await hasRoom(this.#options.disk, this.#options.folder);
    this.#probing = false;
    if (!room || this.#fault?.code !== "storage_full") return;
    this.#fault = null;
    this.#checkpoints.retrySoon();
  }
}

/** What a write that failed answers everybody who waited for it. */
function faultOf(error: unknown): Result<never, StorageFault> {
  if (error instanceof StorageError) return err(error.fault);
  throw error;
}
