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
  /** Whether this very process has it, and not an earlier one of the same host. */
  readonly isOwn: boolean;
  /** Names the term: it changes with each renewal. */
  readonly term: string;
  /** How long it lasts after a renewal. */
  readonly termMs: number;
  /** The only host that may lead next, as long as the term lasts; null: any. */
  readonly successor: string | null;
}

export interface LogLine {
  readonly seq: number;
  readonly epoch: number;
  /** As in a journal file, with its line feed. */
  readonly text: string;
}

/** The log cannot be reached, or a statement took too long: its outcome is unknown. */
export class LogUnavailable extends Error {
  override readonly name: string = "LogUnavailable";
  /** For the operator. */
  readonly hint = "check that the database of the pair runs, and the network to it";
}

/** The database answered a statement with an error: it changed nothing, and may say so again. */
export class LogRefused extends LogUnavailable {
  override readonly name = "LogRefused";
}

/** For a statement whose failure changes nothing. */
export function ignoreUnavailable(error: unknown): void {
  if (!(error instanceof LogUnavailable)) throw error;
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
  /**
   * The log lacks lines of this host: the next connection may be to a database server of which the
   * one in use took the place, unless another host leads by the one in use.
   */
  readonly acceptEarlierServer: () => void;
}

/** What a host says of itself. */
export interface HostReport {
  readonly host: string;
  readonly hardwareId: string;
  /** Where clients reach it; null: it did not say. */
  readonly url: string | null;
  /** Of its berth. */
  readonly version: string;
  /** Where its own journal ends. */
  readonly head: LogEnd;
  /** Its checkpoints cover all lines up to this one. */
  readonly covered: number;
  /** Its system clock. */
  readonly systemTime: number;
}

/** What a host said last. */
export interface HostRow extends HostReport {
  /** Since it reported, by the clock of the log. */
  readonly ageMs: number;
  /** How far its system clock was ahead of the log's clock when it reported. */
  readonly clockAheadMs: number;
}

/** A file that both hosts need, as the log keeps it. */
export interface LogFile {
  /** Raised with each write. */
  readonly version: number;
  readonly content: Uint8Array;
}

/**
 * What may lose lines that were acknowledged, or show them to others:
 * - `not_replicated`: the database has no standby, so its machine is a single one;
 * - `asynchronous`: a standby may lack the last lines, and they are lost when it takes over;
 * - `any_standby`: each program that receives changes counts as the standby, also one that keeps
 *   them for a moment only;
 * - `unencrypted`: the lines cross the network to the database as plain text.
 */
export type DatabaseProblem = "not_replicated" | "asynchronous" | "any_standby" | "unencrypted";

/** What is known of the database that keeps the log. */
export interface DatabaseReport {
  /** As the database writes its version. */
  readonly version: string;
  /** The server that answers now, as `address:port`. */
  readonly server: string;
  /**
   * Whether a line is on a standby database before it is acknowledged: always (`strict`), on one
   * that is not named (`loose`), or not (`none`).
   */
  readonly replication: "strict" | "loose" | "none";
  /** No change is acknowledged before a standby is connected, and none is. */
  readonly lacksStandby: boolean;
  readonly problems: readonly DatabaseProblem[];
}

/** The log as one of its hosts uses it, which may lead. */
export interface HostLog extends SharedLog {
  /**
   * Makes this process the leader if no other one's term lasts; null: another one leads, which may
   * be an earlier process of the same host. `endedTerm` is one that is known to be over: only if the
   * log still has that one, this process leads, whatever the clock of the log says. Without it, the
   * clock of the log decides.
   */
  readonly claimTerm: (termMs: number, endedTerm?: string) => Promise<LogLeader | null>;
  /** Extends the term of this host; false: another one leads, or the log lost lines of this one. */
  readonly renew: (epoch: number, termMs: number) => Promise<boolean>;
  /** Ends the term of this host; for a while only `successor` may lead next. */
  readonly release: (epoch: number, successor: string | null, successorMs: number) => Promise<void>;
  /** Replaces what the host said of itself before. */
  readonly reportHost: (report: HostReport) => Promise<void>;
  /** By their names. */
  readonly readHosts: () => Promise<readonly HostRow[]>;
  readonly removeHost: (host: string) => Promise<void>;
  /**
   * Removes lines from the beginning of the log: up to `upTo`, until one is younger than
   * `minAgeMs`, at most `limit`. Resolves to their number.
   */
  readonly trim: (upTo: number, minAgeMs: number, limit: number) => Promise<number>;
  readonly readFileVersions: () => Promise<ReadonlyMap<string, number>>;
  /** Null: there is none of this name. */
  readonly readFile: (name: string) => Promise<LogFile | null>;
  /** Resolves to the new version; null: this host no longer leads with this epoch. */
  readonly writeFile: (epoch: number, name: string, content: Uint8Array) => Promise<number | null>;
  readonly readDatabase: () => Promise<DatabaseReport>;
}
