import type { Fault } from "../domain/fault.ts";
import type { ClockJump } from "../domain/clock-jump-types.ts";
import type { DataFolderKind, State } from "../domain/state.ts";
import type { Instant } from "../domain/time.ts";
import type { Disk } from "../platform/disk.ts";
import type { FolderChanged } from "./folder-changed.ts";
import type { StorageFault } from "./group-commit.ts";
import type { LockHolder } from "./lock.ts";
import type { SignatureCheck } from "./signatures.ts";

/** What a store is opened with. */
export interface StoreOptions {
  readonly disk: Disk;
  readonly folder: string;
  readonly kind: DataFolderKind | null;
  readonly create: boolean;
  /** What the folder is opened for; a server unless it says otherwise. */
  readonly holder?: LockHolder;
  /**
   * Whether a folder of an older format becomes one of today's before `open` returns, as a server
   * wants it; else that is done before the first change, and a command that only reads changes
   * nothing.
   */
  readonly migrateOnOpen?: boolean;
  /** Given what is on record: time never runs behind the newest instant. */
  readonly clock: (mark: Instant, jumps: readonly ClockJump[]) => Instant;
  /** The jumps ahead of that clock since the start, oldest first. */
  readonly jumps?: () => readonly ClockJump[];
  /**
   * Folds all segments before the one that begins with `open`; rejects with the reason it could
   * not. From when `stopping` is aborted on, somebody waits for the store to be closed.
   */
  readonly checkpoint: (folder: string, open: number, stopping: AbortSignal) => Promise<void>;
  /**
   * The disk failed for good: answer those who wait, then end the process. Replay is the repair.
   */
  readonly onFatal: (error: Error) => void;
  readonly uid?: number;
  readonly identify?: () => Promise<string>;
  readonly recognize?: (appliance: string) => void | Promise<void>;
  /** Whether the vendors signed what the folder says of its licenses; absent: it is believed. */
  readonly checkSignatures?: SignatureCheck;
  /** Is this machine the one a license was signed for? */
  readonly isBound?: State["isSignedForThisMachine"];
  /** What the operator allows one user, and one address, at most. */
  readonly caps?: State["slotCaps"];
  /** How far the system's clock is behind what this store says (milliseconds). */
  readonly behind?: (now: Instant) => number;
}

/** Counts what one peer's calls add to the audit log. */
export interface AuditMeter {
  /** What a call that would add to it is answered; null: it may. */
  readonly checkBudget: (at: Instant) => Fault | null;
  readonly charge: (bytes: number, at: Instant) => void;
}

/** How a store is doing, for those who ask. */
export interface StoreStatus {
  /** Null: changes are accepted. */
  readonly fault: StorageFault | null;
  /** Why it gave up the folder; null: it did not, or for want of a disk. */
  readonly folderChange: FolderChanged | null;
  readonly notes: readonly string[];
  readonly checkpointError: string | null;
  readonly seq: number;
  readonly auditSeq: number;
  readonly journalBytes: number;
}
