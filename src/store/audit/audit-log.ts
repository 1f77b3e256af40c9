import { basename, dirname, join } from "node:path";
import { findGap, skipGaps } from "../../domain/audit-gaps.ts";
import type { AuditGap } from "../../domain/state.ts";
import type { Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/disk.ts";
import { AUDIT_FOLDER, quoteForShell } from "../files.ts";
import { decodeLine, type JournalLine } from "../journal.ts";
import { readLinesForward } from "../line-reader.ts";
import { AuditDamaged } from "../refusal.ts";
import type { AuditLogEnd, Snapshot } from "../snapshot.ts";

/** One file of the auditor's record, by the first audited line in it. */
export interface AuditFile {
  readonly name: string;
  readonly path: string;
  readonly firstSeq: number;
}

export type AuditAnchor = AuditLogEnd["anchor"];

/** The number of a line, if it is one. */
type ParseLineNumber = (line: Uint8Array<ArrayBuffer>) => number | null | undefined;

/** In the order of their lines, which is not that of their names after a clock was set back. */
export function listAuditFiles(
  disk: Disk,
  folder: string,
  numberOf: ParseLineNumber = (line) => decodeLine(line)?.audit_seq,
): AuditFile[] {
  const files: AuditFile[] = [];
  for (const name of listAuditFileNames(disk, folder)) {
    const path = join(folder, AUDIT_FOLDER, name);
    const [line] = readLinesForward(disk, path, 0, Infinity).take(1);
    // One that cannot be read comes last, where the walk stumbles over it.
    const first = (line?.whole === true ? numberOf(line.bytes) : null) ?? Infinity;
    files.push({ name, path, firstSeq: first });
  }
  return files.toSorted((a, b) => a.firstSeq - b.firstSeq);
}

/** The files of the record, and nothing that was put aside or left there. */
export const listAuditFileNames = (disk: Disk, folder: string): string[] =>
  disk.list(join(folder, AUDIT_FOLDER)).filter((name) => AUDIT_FILE_NAME.test(name));

const AUDIT_FILE_NAME = /^\d{4}-\d{2}(?:-[1-9]\d{0,15})?\.jsonl$/;

export interface AuditLogTotals {
  readonly files: number;
  readonly lines: number;
  /** Bytes behind what the state knows of: a fold that did not finish. */
  readonly leftover: number;
}

/**
 * Follows the record from its anchor to where the state says it ends; refuses what is missing,
 * changed, added or out of order. Only the lines of a declared gap may be missing.
 */
export function verifyAuditChain(
  disk: Disk,
  folder: string,
  audit: Snapshot["audit"],
  gaps: readonly AuditGap[],
  each: (seq: number, sum: string) => void = () => {},
): AuditLogTotals {
  let { seq, sum } = audit.anchor;
  const pass = (): void => {
    const behind = skipGaps(gaps, { seq, sum });
    if (behind.seq === seq) return;
    ({ seq, sum } = behind);
    each(seq, sum);
  };
  pass();
  let files = 0;
  let lines = 0;
  let leftover = 0;
  const found = listAuditFiles(disk, folder).filter(isAfterAnchor(audit.anchor));
  const unreadable = found.find(({ firstSeq }) => firstSeq === Infinity);
  for (const file of found) {
    if (seq >= audit.seq) {
      const isLeft = file.name !== audit.file && file.firstSeq > audit.seq;
      if (isLeft) leftover += disk.stat(file.path)?.size ?? 0;
      continue;
    }
    // What should stand before this file is in one that cannot be read, or in none.
    if (file.firstSeq > seq + 1 && file !== unreadable) {
      if (unreadable !== undefined) throw lineDamaged(unreadable.path, 0, seq + 1);
      throw linesMissing(folder, seq + 1, file.firstSeq - 1);
    }
    const end = file.name === audit.file ? audit.length : Infinity;
    for (const { line, offset } of decodeLines(disk, file.path, end)) {
      const at = line?.audit_seq;
      // Declared as gone and there all the same: not removed yet, or brought back since.
      if (at !== undefined && at <= seq && findGap(gaps, at) !== null) continue;
      if (line === null || at !== seq + 1 || line.audit_prev !== sum) {
        throw lineDamaged(file.path, offset, seq + 1);
      }
      seq = at;
      sum = line.sum;
      lines += 1;
      each(seq, sum);
      pass();
    }
    files += 1;
    if (file.name === audit.file) {
      leftover += Math.max(0, (disk.stat(file.path)?.size ?? 0) - audit.length);
    }
  }
  // A gap may reach further than an older state that was gone back to.
  const isEnd = seq > audit.seq || (seq === audit.seq && sum === audit.sum);
  if (!isEnd) throw linesMissing(folder, seq + 1, audit.seq);
  return { files, lines, leftover };
}

/**
 * The anchor after letting go of whole files from before the month of `mark` and the `keep` months
 * before that.
 */
export function computeAnchor(
  disk: Disk,
  folder: string,
  end: AuditLogEnd,
  keep: number,
  mark: Instant,
): AuditAnchor {
  let anchor = end.anchor;
  const [year = 0, month = 0] = monthOf(mark).split("-").map(Number);
  const cut = monthOf(Date.UTC(year, month - 1 - keep) as Instant);
  for (const { name, path } of listAuditFiles(disk, folder)) {
    if (name === end.file || name.slice(0, cut.length) >= cut) break;
    let last: JournalLine | null = null;
    for (const { line } of decodeLines(disk, path, Infinity)) last = line;
    if (last?.audit_seq === undefined) break;
    if (last.audit_seq > anchor.seq) anchor = { seq: last.audit_seq, sum: last.sum };
  }
  return anchor;
}

/** An anchor is the last line of a file: those that begin before it are let go of, or gone. */
export const isAfterAnchor =
  ({ seq }: AuditAnchor) =>
  ({ firstSeq }: AuditFile): boolean =>
    firstSeq > seq;

/** Removes the files in which every line is at or before the anchor. */
export async function removeFilesBeforeAnchor(
  disk: Disk,
  folder: string,
  { seq }: AuditAnchor,
): Promise<void> {
  const files = listAuditFiles(disk, folder);
  const gone = files.filter((_file, index) => (files[index + 1]?.firstSeq ?? Infinity) <= seq + 1);
  for (const { path } of gone) disk.remove(path);
  if (gone.length > 0) await disk.syncFolder(join(folder, AUDIT_FOLDER));
}

export const monthOf = (at: Instant): string => new Date(at).toISOString().slice(0, 7);

interface DecodedLine {
  /** Null: not a line that was written. */
  readonly line: JournalLine | null;
  readonly offset: number;
}

function* decodeLines(disk: Disk, path: string, end: number): Generator<DecodedLine> {
  for (const { bytes, offset, whole } of readLinesForward(disk, path, 0, end)) {
    yield { line: whole ? decodeLine(bytes) : null, offset };
  }
}

function lineDamaged(path: string, offset: number, seq: number): AuditDamaged {
  return new AuditDamaged(
    `${path} is damaged at byte ${offset}, where line ${seq} of the audit log is expected`,
    formatRepairHint(dirname(dirname(path)), basename(path)),
  );
}

function linesMissing(folder: string, from: number, to: number): AuditDamaged {
  return new AuditDamaged(
    `the audit log in ${join(folder, AUDIT_FOLDER)} lacks lines ${from} to ${to}`,
    formatRepairHint(folder, "FILE"),
  );
}

/** First the way that loses nothing. */
export const formatRepairHint = (folder: string, name: string): string =>
  `licenses are not affected; to restore the file from a backup without loss, run as the folder's owner: tar xf BACKUP -C ${quoteForShell(folder)} ${AUDIT_FOLDER}/${name}; without a backup, run berth audit repair`;
