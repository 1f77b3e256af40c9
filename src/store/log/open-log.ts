import type { OpenedFolder } from "../folder/folder.ts";
import type { ChainHead } from "../journal/journal.ts";
import type { StoreOptions } from "../store-options.ts";
import { decodeLogLine } from "./log-line.ts";
import { damagedLine, endsElsewhere, lineDiffers, lineDiverged } from "./log-refusals.ts";
import { FolderRefused } from "../folder/refusal.ts";
import { LogUnavailable, type SharedLog } from "./shared-log.ts";

/** An attempt has two statements, each of which waits for its answer for half a term. */
const ATTEMPTS = 5;

/** Opens the log of a pair and compares it with the folder; null: this host is alone. */
export async function openLog(
  options: Pick<StoreOptions, "openLog">,
  { state, head }: Pick<OpenedFolder, "state" | "head">,
): Promise<SharedLog | null> {
  if (options.openLog === undefined) return null;
  const { appliance, pair, endedPair } = state;
  const log = await options.openLog({ appliance, pair, end: head });
  if (pair === null && endedPair?.log === log.id) {
    throw new FolderRefused(
      `the pair of log ${log.id} has ended: host ${endedPair.host} serves alone`,
      "remove pair_log from the settings of that host; to form a pair again, use an empty database",
    );
  }
  await retryWhileUnavailable(() => checkHeadOnLog(log, head));
  return log;
}

/** The log has just been opened: a statement without an answer is a delay, and no reason to end. */
async function retryWhileUnavailable(check: () => Promise<void>): Promise<void> {
  for (let left = ATTEMPTS - 1; left > 0; left -= 1) {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof LogUnavailable)) throw error;
    }
  }
  return check();
}

/**
 * Throws unless the journal of this host is a beginning of the log. A database that lost lines when
 * a standby was promoted shows here.
 */
export async function checkHeadOnLog(log: SharedLog, head: ChainHead): Promise<void> {
  const end = await log.readLeader();
  const [next] = end.seq < head.seq ? [] : await log.readLines(head.seq - 1, 1);
  if (next === undefined) {
    // The log has no lines of its own yet, or no longer.
    if (end.seq !== head.seq || end.sum !== head.sum) throw endsElsewhere(end, head);
    return;
  }
  const line = decodeLogLine(next);
  if (line === null) throw damagedLine(next.seq);
  if (line.seq > head.seq) {
    if (line.prev !== head.sum) throw lineDiverged(line, head);
  } else if (line.sum !== head.sum) throw lineDiffers(line.sum, head);
}
