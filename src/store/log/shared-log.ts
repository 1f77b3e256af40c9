import type { LineBatch } from "../journal/batch-writer.ts";

/** Where a journal ends: its last line, and that line's checksum. */
export interface LogEnd {
  readonly seq: number;
  readonly sum: string;
}

/** The host that may write, as the log has it. */
export interface LogLeader extends LogEnd {
  /** Raised with each change of the leader; a write with another epoch is refused. */
  readonly epoch: number;
  /** The name of the host; null: no host leads. */
  readonly holder: string | null;
  /** Where clients reach that host; null: it did not say. */
  readonly url: string | null;
  /** How long its term still lasts, by the clock of the log; 0: it has ended. */
  readonly remainingMs: number;
  /** The only host that may lead next, as long as the term lasts; null: any. */
  readonly heir: string | null;
}

export interface LogLine {
  readonly seq: number;
  readonly epoch: number;
  /** As in a journal file, with its line feed. */
  readonly text: string;
}

/** The log cannot be reached, or a statement took too long: its outcome is unknown. */
export class LogUnavailable extends Error {
  override readonly name = "LogUnavailable";
}

/**
 * A journal that the hosts of a pair share. It orders their lines, and decides which of them may
 * write. Each call ends within a deadline; it rejects with `LogUnavailable`, and a write may then
 * have happened or not.
 */
export interface SharedLog {
  /** Tells this log from all others. */
  readonly id: string;
  readonly readLeader: () => Promise<LogLeader>;
  /** Lines after this one, in order. */
  readonly readLines: (after: number, limit: number) => Promise<readonly LogLine[]>;
  /**
   * Appends a batch that continues the log. False: this host no longer leads with this epoch, or
   * the log ends elsewhere; nothing was appended.
   */
  readonly append: (epoch: number, batch: LineBatch) => Promise<boolean>;
}

/** The log as one of its hosts uses it, which may lead. */
export interface HostLog extends SharedLog {
  /** Makes this host the leader if no other one's term lasts; null: another host leads. */
  readonly claim: (termMs: number) => Promise<LogLeader | null>;
  /** Extends the term of this host; false: another host leads. */
  readonly renew: (epoch: number, termMs: number) => Promise<boolean>;
  /** Ends the term of this host; for a while only `heir` may lead next. */
  readonly release: (epoch: number, heir: string | null, heirMs: number) => Promise<void>;
}
