import type { OpenedFolder } from "../folder/folder.ts";
import { FolderRefused } from "../folder/refusal.ts";
import type { RecoverableJournal } from "../recoverable-journal.ts";
import type { LiveState } from "../live-state.ts";
import type { StoreObserver, StoreOptions } from "../store-options.ts";
import { decodeLine, type ChainHead, type JournalLine } from "../journal/journal.ts";
import type { LogLine, SharedLog } from "./shared-log.ts";

/** Bounds the time without a pause, and the memory for lines that are not on disk yet. */
const LINES_AT_ONCE = 500;

/** The log does not continue the journal of this host. */
class LogDiverged extends FolderRefused {}

interface FollowerParts {
  readonly log: SharedLog;
  readonly live: LiveState;
  readonly journal: RecoverableJournal;
  readonly observer: StoreObserver | undefined;
}

/** Applies the lines of the shared log, and copies them to the journal of this host. */
export class LogFollower {
  readonly #parts: FollowerParts;

  constructor(parts: FollowerParts) {
    this.#parts = parts;
  }

  /** Reads the log to its end. Rejects with `LogUnavailable`, `LogDiverged` or `StorageError`. */
  async catchUp(): Promise<void> {
    const { log, live, journal } = this.#parts;
    for (;;) {
      const lines = await log.readLines(live.lastSeq, LINES_AT_ONCE);
      for (const line of lines) this.#apply(line);
      await journal.commit.whenDurable();
      if (lines.length < LINES_AT_ONCE) return;
    }
  }

  #apply({ seq, text }: LogLine): void {
    const { live, journal, observer } = this.#parts;
    const line = decodeLine(Buffer.from(text.slice(0, -1)));
    if (line === null || !live.applyLine(journal.commit, line, text))
      throw divergedAt(seq, line, live.head);
    observer?.applied(line.events, live.state, line.at);
  }
}

/** Opens the log of a pair and compares it with the folder; null: this host is alone. */
export async function openLog(
  options: Pick<StoreOptions, "openLog">,
  { state: { appliance, pair }, head }: Pick<OpenedFolder, "state" | "head">,
): Promise<SharedLog | null> {
  if (options.openLog === undefined) return null;
  const log = await options.openLog({ appliance, pair, end: head });
  await checkHeadOnLog(log, head);
  return log;
}

/**
 * Throws unless the journal of this host is a beginning of the log. A database that lost lines when
 * a standby was promoted shows here.
 */
async function checkHeadOnLog(log: SharedLog, head: ChainHead): Promise<void> {
  const end = await log.readLeader();
  if (end.seq < head.seq) {
    throw new LogDiverged(
      `the log ends at line ${end.seq} (${end.sum}), but the journal of this host continues to line ${head.seq} (${head.sum}): the database lost lines`,
      "bring back the database that has them; if it is gone, berth help pair says how to continue",
    );
  }
  const [line] = await log.readLines(head.seq - 1, 1);
  const sum = line?.seq === head.seq ? sumOf(line.text) : end.seq === head.seq ? end.sum : null;
  if (sum !== null && sum !== head.sum) {
    throw new LogDiverged(
      `line ${head.seq} of the log is ${sum}, but of the journal of this host ${head.sum}`,
      "this host's folder belongs to another log, or the database lost lines: berth help pair says how to continue",
    );
  }
  if (line !== undefined && line.seq > head.seq + 1) {
    throw new LogDiverged(
      `the journal of this host ends at line ${head.seq}, and the log begins with line ${line.seq}`,
      "this host was away too long: join the pair again with berth pair request",
    );
  }
}

const sumOf = (text: string): string | null =>
  decodeLine(Buffer.from(text.slice(0, -1)))?.sum ?? null;

const divergedAt = (seq: number, line: JournalLine | null, head: ChainHead): LogDiverged =>
  new LogDiverged(
    line === null
      ? `line ${seq} of the log is damaged`
      : `line ${seq} of the log does not continue line ${head.seq} of this host (${head.sum}): it continues ${line.prev}`,
    "stop this host, and compare both hosts with berth verify; nothing was changed",
  );
