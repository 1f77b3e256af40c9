import { FolderRefused } from "../folder/refusal.ts";
import type { JournalLine } from "../journal/journal.ts";
import type { UnsignedFinding } from "../state/signature-check.ts";
import type { LogEnd } from "./shared-log.ts";

/** The log does not continue the journal of this host, or this version cannot read its lines. */
export class CannotFollow extends FolderRefused {}

/** The database can be repaired while this host runs: it looks at the log again and again. */
export class LogDiffers extends CannotFollow {}

const JOIN_AGAIN =
  "move its data folder away, and join the pair again with berth pair request; nothing was changed";
const LOST_LINES =
  "bring back the database that has them; if it is gone, berth help guide pair says how to continue";

export const damagedLine = (seq: number): CannotFollow =>
  new LogDiffers(
    `line ${seq} of the log is damaged`,
    "the database is damaged, or was changed by another program: berth help guide pair says how to continue; nothing was changed",
  );

/** A line of the log installed a license, or trusted a vendor, past the checks of a host. */
export const unsignedLicense = ({ description, hint }: UnsignedFinding): CannotFollow =>
  new CannotFollow(
    `the log of the pair was changed: ${description}`,
    hint ??
      "restore a backup from before: berth help guide pair says how; change the password of the database",
  );

/** A line of the log does not continue the journal of this host. */
export function lineDiverged({ seq, prev }: JournalLine, head: LogEnd): CannotFollow {
  if (seq > head.seq + 1) return linesTrimmed(head.seq, seq);
  return new LogDiffers(
    `line ${seq} of the log does not continue line ${head.seq} of this host (${head.sum}): it continues ${prev}`,
    "stop this host, and compare both hosts with berth verify; nothing was changed",
  );
}

/** The log has other lines after the last one of this host. */
export const endsElsewhere = (end: LogEnd, head: LogEnd): CannotFollow =>
  end.seq < head.seq
    ? linesLost(end, head)
    : end.seq > head.seq
      ? linesTrimmed(head.seq, end.seq + 1)
      : lineDiffers(end.sum, head);

/** A database that lost lines when a standby of it was promoted. */
const linesLost = (end: LogEnd, head: LogEnd): CannotFollow =>
  new LogDiffers(
    `the log ends at line ${end.seq} (${end.sum}), but the journal of this host continues to line ${head.seq} (${head.sum}): the database lost lines`,
    LOST_LINES,
  );

export const lineDiffers = (sum: string, head: LogEnd): CannotFollow =>
  new LogDiffers(
    `line ${head.seq} of the log is ${sum}, but of the journal of this host ${head.sum}`,
    "this host's folder belongs to another log, or the database lost lines: berth help guide pair says how to continue",
  );

const linesTrimmed = (last: number, first: number): CannotFollow =>
  new LogDiffers(
    `the journal of this host ends at line ${last}, and the log begins with line ${first}`,
    `this host was away too long: ${JOIN_AGAIN}`,
  );
