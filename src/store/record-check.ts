import type { Instant } from "../domain/time.ts";
import type { Disk } from "../platform/disk.ts";
import { GENESIS } from "../platform/hash.ts";
import { decodeLine, startOf, type Line } from "./journal.ts";
import { linesFrom } from "./lines.ts";
import { RecordRefused } from "./refusal.ts";

/** A record that was taken away, and is a chain from its first line to its last. */
export interface CheckedRecord {
  readonly lines: number;
  /** By their numbers on the record. */
  readonly first: number;
  readonly last: number;
  /** When those two were written. */
  readonly from: Instant;
  readonly to: Instant;
  /** What its first line points back to; null: it is the first there ever was. */
  readonly anchor: string | null;
  /** Of the last line: one look at it in two places tells whether all before it is the same. */
  readonly sum: string;
}

/** Refuses what was changed, cut out, added or put in another order, and says in which line. */
export function checkRecord(disk: Disk, path: string): CheckedRecord {
  let first: Line | null = null;
  let last: Line | null = null;
  let number = 0;
  for (const { bytes, whole } of linesFrom(disk, path, 0, Infinity)) {
    number += 1;
    const line = whole ? decodeLine(bytes) : null;
    if (line?.audit_seq === undefined) throw refused(path, number, whatIsWrong(bytes, whole));
    if (last !== null && !continues(line, last)) {
      const { audit_seq } = line;
      const wrong = `is line ${audit_seq} of the record and does not continue the line before it`;
      throw refused(path, number, wrong);
    }
    first ??= line;
    last = line;
  }
  if (first === null || last === null) {
    throw new RecordRefused(`${path} holds no line of a record`, "name a file that was exported");
  }
  const isBeginning = first.audit_seq === 1 && first.audit_prev === GENESIS;
  return {
    lines: number,
    first: first.audit_seq ?? 0,
    last: last.audit_seq ?? 0,
    from: first.at,
    to: last.at,
    anchor: isBeginning ? null : (first.audit_prev ?? ""),
    sum: last.sum,
  };
}

const continues = (line: Line, before: Line): boolean =>
  line.audit_seq === (before.audit_seq ?? 0) + 1 && line.audit_prev === before.sum;

function whatIsWrong(bytes: Uint8Array, whole: boolean): string {
  if (!whole) return "is cut short";
  return startOf(bytes) === null ? "is no line of a record" : "is not as it was written";
}

const refused = (path: string, number: number, wrong: string): RecordRefused =>
  new RecordRefused(
    `${path}: line ${number} ${wrong}`,
    "export the record again, or take a backup that has it; berth verify checks a data folder",
  );
