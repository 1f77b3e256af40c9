import { basename, dirname, join } from "node:path";
import { findGap, skipGaps } from "../../domain/audit/audit-gaps.ts";
import type { AuditGap } from "../../domain/model/state.ts";
import type { Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { quoteForShell } from "../../platform/shell-quote.ts";
import { AUDIT_FOLDER, STATE_FILE } from "../folder/files.ts";
import { decodeLine, type JournalLine } from "../journal/journal.ts";
import { readLinesForward } from "../journal/line-reader.ts";
import { AuditDamaged } from "../folder/refusal.ts";
import type { AuditLogEnd, Snapshot } from "../state/snapshot.ts";

/** One file of the audit log, with the number of its first line. */
export interface AuditFile {
  readonly name: string;
  readonly path: string;
  readonly firstSeq: number;
}

export type AuditAnchor = AuditLogEnd["anchor"];

/** Returns the number of a line in the audit log, if the bytes are one. */
type ParseLineNumber = (line: Uint8Array<ArrayBuffer>) => number | null | undefined;

/**
 * The audit files in the order of their lines, which is not that of their names after a clock was
 * set back.
 */
export function listAuditFiles(
  disk: Disk,
  folder: string,
  parseNumber: ParseLineNumber = (line) => decodeLine(line)?.audit_seq,
): AuditFile[] {
  const files: AuditFile[] = [];
  for (const name of listAuditFileNames(disk, folder)) {
    const path = join(folder, AUDIT_FOLDER, name);
    const [line] = readLinesForward(disk, path, 0, Infinity).take(1);
    // An unreadable file comes last, where the check finds it.
    const first = (line?.isComplete === true ? parseNumber(line.bytes) : null) ?? Infinity;
    files.push({ name, path, firstSeq: first });
  }
  return files.toSorted((a, b) => a.firstSeq - b.firstSeq);
}

/** Only files of the audit log, without copies and leftovers. */
export const listAuditFileNames = (disk: Disk, folder: string): string[] =>
  disk.list(join(folder, AUDIT_FOLDER)).filter((name) => AUDIT_FILE_NAME.test(name));

const AUDIT_FILE_NAME = /^\d{4}-\d{2}(?:-[1-9]\d{0,15})?\.jsonl$/;

export interface AuditLogTotals {
  readonly files: number;
  readonly lines: number;
  /** Bytes after the end that the state records, left from an unfinished checkpoint. */
  readonly leftover: number;
}

/**
 * Checks the audit log from its anchor to the end that the state records; refuses missing, changed,
 * added or reordered lines. Only the lines of a declared gap may be missing.
 */
export function verifyAuditChain(
  disk: Disk,
  folder: string,
  audit: Snapshot["audit"],
  gaps: readonly AuditGap[],
  each: (seq: number, sum: string) => void = () => {},
): AuditLogTotals {
  let { seq, sum } = audit.anchor;
  const skipDeclaredGaps = (): void => {
    const position = skipGaps(gaps, { seq, sum });
    if (position.seq === seq) return;
    ({ seq, sum } = position);
    each(seq, sum);
  };
  skipDeclaredGaps();
  let files = 0;
  let lines = 0;
  let leftover = 0;
  const auditFiles = listAuditFiles(disk, folder).filter(isAfterAnchor(audit.anchor));
  const unreadable = auditFiles.find(({ firstSeq }) => firstSeq === Infinity);
  for (const file of auditFiles) {
    if (seq >= audit.seq) {
      const isLeftover = file.name !== audit.file && file.firstSeq > audit.seq;
      if (isLeftover) leftover += disk.stat(file.path)?.size ?? 0;
      continue;
    }
    // The lines before this file are in an unreadable file, or missing.
    if (file.firstSeq > seq + 1 && file !== unreadable) {
      if (unreadable !== undefined) throw lineDamaged(unreadable.path, 0, seq + 1);
      throw linesMissing(folder, seq + 1, file.firstSeq - 1);
    }
    const end = file.name === audit.file ? audit.length : Infinity;
    for (const { line, offset } of decodeLines(disk, file.path, end)) {
      const lineSeq = line?.audit_seq;
      // Declared missing but still there: not removed yet, or copied back since.
      if (lineSeq !== undefined && lineSeq <= seq && findGap(gaps, lineSeq) !== null) continue;
      if (line === null || lineSeq !== seq + 1 || line.audit_prev !== sum) {
        throw lineDamaged(file.path, offset, seq + 1);
      }
      seq = lineSeq;
      sum = line.sum;
      lines += 1;
      each(seq, sum);
      skipDeclaredGaps();
    }
    files += 1;
    if (file.name === audit.file) {
      leftover += Math.max(0, (disk.stat(file.path)?.size ?? 0) - audit.length);
    }
  }
  // A gap may reach beyond the end of an older state that was restored.
  const isAtEnd = seq > audit.seq || (seq === audit.seq && sum === audit.sum);
  if (!isAtEnd)
    throw seq < audit.seq
      ? linesMissing(folder, seq + 1, audit.seq)
      : lastLineDiffers(folder, audit);
  return { files, lines, leftover };
}

/**
 * The anchor after removing whole files that are older than the month of `mark` and the `keep`
 * months before it.
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
  const oldestKeptMonth = monthOf(Date.UTC(year, month - 1 - keep) as Instant);
  for (const { name, path } of listAuditFiles(disk, folder)) {
    if (name === end.file || name.slice(0, oldestKeptMonth.length) >= oldestKeptMonth) break;
    let lastLine: JournalLine | null = null;
    for (const { line } of decodeLines(disk, path, Infinity)) lastLine = line;
    if (lastLine?.audit_seq === undefined) break;
    if (lastLine.audit_seq > anchor.seq) anchor = { seq: lastLine.audit_seq, sum: lastLine.sum };
  }
  return anchor;
}

/** An anchor is the last line of a file: files that begin before it are removed, or about to be. */
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
  const removable = files.filter(
    (_file, index) => (files[index + 1]?.firstSeq ?? Infinity) <= seq + 1,
  );
  for (const { path } of removable) disk.remove(path);
  if (removable.length > 0) await disk.syncFolder(join(folder, AUDIT_FOLDER));
}

export const monthOf = (at: Instant): string => new Date(at).toISOString().slice(0, 7);

interface DecodedLine {
  /** Null: not a line that was written. */
  readonly line: JournalLine | null;
  readonly offset: number;
}

function* decodeLines(disk: Disk, path: string, end: number): Generator<DecodedLine> {
  for (const { bytes, offset, isComplete } of readLinesForward(disk, path, 0, end)) {
    yield { line: isComplete ? decodeLine(bytes) : null, offset };
  }
}

function lineDamaged(path: string, offset: number, seq: number): AuditDamaged {
  return new AuditDamaged(
    `${path} is damaged at byte ${offset}, where line ${seq} of the audit log is expected`,
    formatRepairHint(dirname(dirname(path)), basename(path)),
  );
}

/** What a reader says that found one bad line, without a check of the whole file. */
export const lineUnreadable = (folder: string, seq: number): AuditDamaged =>
  new AuditDamaged(
    `line ${seq} of the audit log in ${join(folder, AUDIT_FOLDER)} is damaged or missing`,
    formatRepairHint(folder, "FILE"),
  );

function linesMissing(folder: string, from: number, to: number): AuditDamaged {
  return new AuditDamaged(
    `the audit log in ${join(folder, AUDIT_FOLDER)} lacks lines ${from} to ${to}`,
    formatRepairHint(folder, "FILE"),
  );
}

function lastLineDiffers(folder: string, { file, seq }: Snapshot["audit"]): AuditDamaged {
  return new AuditDamaged(
    `line ${seq}, the last one of the audit log in ${join(folder, AUDIT_FOLDER)}, is not the line that ${STATE_FILE} names`,
    formatRepairHint(folder, file ?? "FILE"),
  );
}

/** Names the repair without loss first. */
export const formatRepairHint = (folder: string, name: string): string =>
  `licenses are not affected; to restore the file from a backup without loss, run as the folder's owner: tar xf BACKUP -C ${quoteForShell(folder)} ${AUDIT_FOLDER}/${name}; without a backup, run berth audit repair`;
