import { isKnownEvent } from "../../domain/event-catalogue.ts";
import { messageOfError } from "../../platform/error-message.ts";
import type { RecoverableJournal } from "../recoverable-journal.ts";
import type { LiveState } from "../live-state.ts";
import type { StoreObserver } from "../store-options.ts";
import type { GroupCommit } from "../journal/group-commit.ts";
import type { JournalLine } from "../journal/journal.ts";
import { StorageError, type StorageFault } from "../journal/storage-fault.ts";
import type { SignatureCheck } from "../state/signature-check.ts";
import { decodeLogLine } from "./log-line.ts";
import {
  CannotFollow,
  damagedLine,
  endsElsewhere,
  lineDiverged,
  LogDiffers,
  unsignedLicense,
} from "./log-refusals.ts";
import { checkHeadOnLog } from "./open-log.ts";
import type { LogLeader, LogLine, SharedLog } from "./shared-log.ts";

/** Bounds the memory for lines that are not on disk yet. */
const LINES_AT_ONCE = 500;

/** Bounds the time without a pause: so much is applied in a millisecond or two. */
const BYTES_BETWEEN_PAUSES = 64 * 1024;

interface FollowerParts {
  readonly log: SharedLog;
  readonly live: LiveState;
  readonly journal: RecoverableJournal;
  readonly observer: StoreObserver | undefined;
  readonly checkSignatures: SignatureCheck | undefined;
}

/** Applies the lines of the shared log, and copies them to the journal of this host. */
export class LogFollower {
  readonly #parts: FollowerParts;
  #problem: CannotFollow | null = null;
  #work: Promise<unknown> = Promise.resolve();
  #isStopped = false;
  #bytesSincePause = 0;
  #limit = LINES_AT_ONCE;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
  }

  /** Why this host follows no longer; null: it follows. */
  get problem(): CannotFollow | null {
    return this.#problem;
  }

  /**
   * Reads the log to where it ends now. Rejects with `LogUnavailable`, with a `StorageError` if the
   * disk of this host cannot take the lines, or with `CannotFollow`. Ends early if the signal aborts.
   * Returns the leader if it was read after the last line.
   */
  catchUp(signal?: AbortSignal): Promise<LogLeader | null> {
    return this.#afterOtherWork(() => this.#catchUp(signal));
  }

  /**
   * Reads the log to its end, which nothing moves any more: no host writes with an older epoch.
   * Returns why this host cannot lead; null: it can.
   */
  prepareToLead(epoch: number): Promise<StorageFault | null> {
    return this.#afterOtherWork(async () => {
      await this.#catchUp();
      const end = await this.#parts.log.readLeader();
      if (end.epoch !== epoch) return { code: "standby" };
      const { head } = this.#parts.live;
      if (end.seq !== head.seq || end.sum !== head.sum)
        throw this.#stopAt(endsElsewhere(end, head));
      await this.#refuseUnsigned();
      return null;
    });
  }

  /** What a start checks in the journal of this host: the lines of the log were not checked yet. */
  async #refuseUnsigned(): Promise<void> {
    const { checkSignatures, live } = this.#parts;
    const finding = (await checkSignatures?.(live.state)) ?? null;
    if (finding !== null) throw this.#stopAt(unsignedLicense(finding));
  }

  /** Applies no further lines. Resolves when those under way are on disk, or have failed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#work.catch(() => {});
  }

  /** One thing at a time: each continues where the one before ended. */
  #afterOtherWork<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#work.then(work, work);
    this.#work = result.catch(() => {});
    return result;
  }

  async #catchUp(signal?: AbortSignal): Promise<LogLeader | null> {
    const { live, journal } = this.#parts;
    if (this.#problem instanceof LogDiffers) await this.#lookAgain();
    if (this.#problem !== null) throw this.#problem;
    const isEnding = (): boolean => this.#isStopped || signal?.aborted === true;
    while (!isEnding()) {
      while (journal.recovering !== null) await journal.recovering;
      const { fault } = journal;
      if (fault !== null && !journal.canCopyLines) throw new StorageError(fault, null);
      const limit = this.#limit;
      const lines = await this.#readLines(live.lastSeq, limit);
      if (this.#isStopped) break;
      await this.#applyAll(journal.commit, lines);
      const leader = lines.length === 0 ? await this.#checkEnd() : null;
      if (lines.length === limit) continue;
      journal.endLogFault();
      return leader;
    }
    return null;
  }

  /** As at a start: the operator may have repaired the database. */
  async #lookAgain(): Promise<void> {
    const { log, live } = this.#parts;
    log.acceptEarlierServer();
    try {
      await checkHeadOnLog(log, live.head);
      this.#problem = null;
    } catch (error) {
      throw error instanceof CannotFollow ? this.#stopAt(error) : error;
    }
  }

  /** Fewer at a time if they do not arrive in time: they may be large, or the network slow. */
  async #readLines(after: number, limit: number): Promise<readonly LogLine[]> {
    try {
      const lines = await this.#parts.log.readLines(after, limit);
      this.#limit = Math.min(LINES_AT_ONCE, 2 * limit);
      return lines;
    } catch (error) {
      this.#limit = Math.max(1, Math.floor(limit / 4));
      throw error;
    }
  }

  /** A log that ends before the last line of this host has lost lines, and may get others. */
  async #checkEnd(): Promise<LogLeader> {
    const { log, live } = this.#parts;
    const end = await log.readLeader();
    const { head } = live;
    const isLost = end.seq < head.seq || (end.seq === head.seq && end.sum !== head.sum);
    if (isLost) throw this.#stopAt(endsElsewhere(end, head));
    return end;
  }

  async #applyAll(commit: GroupCommit, lines: readonly LogLine[]): Promise<void> {
    try {
      for (const line of lines) {
        this.#apply(commit, line);
        this.#bytesSincePause += line.text.length;
        if (this.#bytesSincePause < BYTES_BETWEEN_PAUSES) continue;
        this.#bytesSincePause = 0;
        await new Promise<void>((resolve) => {
          setImmediate(resolve);
        });
        // The state may have been read again meanwhile, without the lines that failed.
        if (commit.hasFailed || this.#isStopped) break;
      }
    } finally {
      await commit.whenDurable();
    }
  }

  #apply(commit: GroupCommit, logLine: LogLine): void {
    const { live, observer } = this.#parts;
    const { seq, text } = logLine;
    const line = decodeLogLine(logLine);
    if (line === null) throw this.#stopAt(damagedLine(seq));
    const unknown = line.events.find((event) => !isKnownEvent(event));
    if (unknown !== undefined) throw this.#stopAt(newerLine(seq, unknown.type));
    if (!this.#applyDecoded(commit, line, text)) throw this.#stopAt(lineDiverged(line, live.head));
    observer?.followed?.(line.events, live.state, line.at);
  }

  /** False: the line does not continue the chain. */
  #applyDecoded(commit: GroupCommit, line: JournalLine, text: string): boolean {
    try {
      return this.#parts.live.applyLine(commit, line, text);
    } catch (error) {
      if (error instanceof StorageError) throw error;
      // Memory may contain a part of the line.
      this.#parts.journal.recoverFromException();
      throw this.#stopAt(
        new CannotFollow(
          `line ${line.seq} of the log cannot be applied: ${messageOfError(error)}`,
          "start the same version of berth on both hosts; nothing was changed",
        ),
      );
    }
  }

  #stopAt(problem: CannotFollow): CannotFollow {
    this.#problem = problem;
    // It is read again and again.
    this.#limit = 1;
    return problem;
  }
}

const newerLine = (seq: number, type: string): CannotFollow =>
  new CannotFollow(
    `line ${seq} of the log contains an event that this version of berth does not know: ${type}`,
    "a newer version of berth wrote it: start that version on this host too; nothing was changed",
  );
