import type { ClockJump } from "../domain/model/clock-jump-types.ts";
import type { Command } from "../domain/decide.ts";
import type { Event } from "../domain/model/event.ts";
import type { Fault } from "../domain/model/fault.ts";
import type { Pair } from "../domain/model/pair/pair.ts";
import type { RuleContext, SlotCaps } from "../domain/model/rule-context.ts";
import type { DataFolderKind, State } from "../domain/model/state.ts";
import type { Result } from "../domain/result.ts";
import type { Instant } from "../domain/time.ts";
import type { GrantBudget } from "../domain/transact.ts";
import type { HistogramCounts } from "../platform/metrics/histogram.ts";
import type { Disk } from "../platform/files/disk.ts";
import type { FolderChanged } from "./folder/folder-changed.ts";
import type { StorageFault } from "./journal/storage-fault.ts";
import type { LockHolder } from "./folder/lock.ts";
import type { LogEnd, LogUnavailable, SharedLog } from "./log/shared-log.ts";
import type { SignatureCheck } from "./state/signature-check.ts";

/** The options of a store. */
export interface StoreOptions {
  readonly disk: Disk;
  readonly folder: string;
  /**
   * Opens the log that this host shares with another one; throws if it is not the log of this
   * folder. Absent: this host is alone.
   */
  readonly openLog?: (folder: LogFolder) => Promise<SharedLog>;
  readonly kind: DataFolderKind | null;
  readonly create: boolean;
  /** What the folder is opened for; default: a server. */
  readonly holder?: LockHolder;
  /**
   * Whether a folder of an older format is migrated before `open` returns, as for a server.
   * Otherwise it is migrated before the first change, so that a command that only reads changes
   * nothing.
   */
  readonly migrateOnOpen?: boolean;
  /**
   * Returns the current time, given the newest recorded instant and the recorded jumps; never
   * earlier than the instant.
   */
  readonly clock: (mark: Instant, jumps: readonly ClockJump[]) => Instant;
  /** The forward jumps of that clock since the start, oldest first. */
  readonly jumps?: () => readonly ClockJump[];
  /**
   * Makes a checkpoint of all segments before the one that begins with `open`; rejects with the
   * reason of a failure. Once `stopping` is aborted, a caller waits for the store to close.
   * `noteProgress` is called as long as the work goes on.
   */
  readonly checkpoint: (
    folder: string,
    open: number,
    stopping: AbortSignal,
    noteProgress: () => void,
  ) => Promise<void>;
  /**
   * The disk failed permanently: answer pending requests, then end the process. The next start
   * repairs the state by replay.
   */
  readonly onFatal: (error: Error) => void;
  readonly uid?: number;
  readonly identify?: () => Promise<string>;
  readonly recognize?: (appliance: string) => void | Promise<void>;
  /** Checks the vendors' signatures of the licenses; absent: they are not checked. */
  readonly checkSignatures?: SignatureCheck;
  /** Whether a license is signed for this machine. */
  readonly isBound?: RuleContext["isSignedForThisMachine"];
  /** The operator's caps for one user and one address, as they are now. */
  readonly caps?: () => SlotCaps;
  /** Places in all queues that one address, and one person, may have, as it is now. */
  readonly maxPlacesPerCaller?: () => number;
  /** Why a command may not change this state; null: it may. Absent: every command may. */
  readonly findChangeFault?: (state: State, command: Command | null) => StorageFault | null;
  /** Milliseconds of a clock that never jumps; default: that of the process. */
  readonly monotonicMs?: () => number;
  /** How far the system clock is behind the store's time (milliseconds). */
  readonly behind?: (now: Instant) => number;
  readonly observer?: StoreObserver;
}

/** What a folder needs of a log: it ends at `end`, and is of this pair, if it was in one. */
export interface LogFolder {
  readonly appliance: string;
  readonly pair: Pair | null;
  readonly end: LogEnd;
}

/** Receives the events of commands. Called for each command, so it must cost next to nothing. */
export interface StoreObserver {
  /** The events were applied to the state, in the same step as the command was decided. */
  readonly applied: (events: readonly Event[], state: State, at: Instant) => void;
  /** The events are on disk. */
  readonly durable: (events: readonly Event[], state: State) => void;
  /** In a pair: events of the other host, or of this one before a failure, were applied. */
  readonly followed?: (events: readonly Event[], state: State, at: Instant) => void;
}

/** Counts the bytes that one peer's calls add to the audit log. */
export interface AuditMeter extends GrantBudget {
  readonly charge: (bytes: number, at: Instant) => void;
}

/** A command that was decided and applied, but may not be on disk yet. */
export interface DecidedChange<T> {
  readonly at: Instant;
  /**
   * The last journal line then: a refused command was decided on the state after it. The line may
   * still get renewals of slots, which change nothing that is free.
   */
  readonly seq: number;
  /** Why it was refused; null: it was not. */
  readonly fault: Fault | StorageFault | null;
  /** Follows when everything that it depends on is on disk. */
  readonly pendingResult: Promise<Result<T, Fault | StorageFault>>;
}

/** Why a host cannot follow the log of its pair, and what helps. */
export interface FollowProblem {
  readonly message: string;
  readonly hint: string;
}

/** The status of a store. */
export interface StoreStatus {
  /** Null: changes are accepted. */
  readonly fault: StorageFault | null;
  /** Why the store stopped using the folder; null: it did not, or because the disk failed. */
  readonly folderChange: FolderChanged | null;
  readonly notes: readonly string[];
  readonly checkpointError: string | null;
  /** `state.json` was removed, and no older state is left: the folder cannot be opened again. */
  readonly isStateMissing: boolean;
  /** In a pair: why this host no longer follows the other one; null: it does, or leads. */
  readonly followProblem: FollowProblem | null;
  /** In a pair: why the log may not have the last lines of this host; null: it has them. */
  readonly appendError: LogUnavailable | null;
  readonly seq: number;
  /** The last encoded line, and its checksum. */
  readonly head: LogEnd;
  /** The last line that a checkpoint covers. */
  readonly coveredSeq: number;
  readonly auditSeq: number;
  readonly journalBytes: number;
}

/** What a store measures, for a monitor. */
export interface StoreMeasures {
  /** How long the syncs of the journal since the start took, in seconds. */
  readonly syncDurations: HistogramCounts;
  /** For how many milliseconds a sync has not returned; 0: none is under way. */
  readonly unfinishedSyncMs: number;
  /** Since the last checkpoint succeeded; if none did, since the start. */
  readonly checkpointAgeMs: number;
}
