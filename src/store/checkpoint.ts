import type { Instant } from "../domain/time.ts";
import type { Disk } from "../platform/disk.ts";
import { readDeclaredGaps } from "./audit/declared-gaps.ts";
import { repairTailFromJournal } from "./audit/tail-repair.ts";
import { measureEncodedSize } from "./durable-file.ts";
import { listGenerations, listSegments } from "./files.ts";
import { AuditLogWriter } from "./audit/audit-log-writer.ts";
import { computeAnchor, removeFilesBeforeAnchor } from "./audit/audit-log.ts";
import { scanSegment, type ChainHead, type JournalLine } from "./journal.ts";
import { lockCheckpoint } from "./lock.ts";
import { applyLine } from "./replay.ts";
import { requireDiskSpace } from "./disk-space.ts";
import type { Snapshot } from "./snapshot.ts";
import { decodeSnapshot, encodeSnapshot, headOf } from "./state-rows.ts";
import { StateFile } from "./state-file.ts";
import { removeUnfinishedCheckpoint } from "./unfinished-checkpoint.ts";

export interface CheckpointOptions {
  /** How many months of the record to keep besides the current one; 0: all of it. */
  readonly keepMonths?: number;
  /**
   * Asked with the lock held: a server that was killed before that has a successor who could not
   * know of this one.
   */
  readonly isStillWanted?: () => boolean;
}

/**
 * Folds every journal segment that begins before `open` into `state.json`. Runs in a process of its
 * own beside the server, on the same files and through the same rules: what it makes is what a
 * restart would have made, and the server never stops for it.
 */
export async function checkpoint(
  disk: Disk,
  folder: string,
  open: number,
  { keepMonths = 0, isStillWanted = () => true }: CheckpointOptions = {},
): Promise<void> {
  const lock = lockCheckpoint(disk, folder);
  if (lock === null) throw new Error("another checkpoint is running");
  try {
    if (!isStillWanted()) throw new Error("the server that started it has ended");
    const file = new StateFile(disk, folder);
    const before = await file.read();
    if (before === null) throw new Error(`${file.path} does not exist`);
    if (before.covers.seq >= open - 1) return;
    await replaceState(disk, folder, file, before, open, keepMonths);
    await removeOldGenerations(disk, folder, before);
  } finally {
    lock.release();
  }
}

/** The state after all closed segments takes the place of `before`; a failure leaves no trace. */
async function replaceState(
  disk: Disk,
  folder: string,
  file: StateFile,
  before: Snapshot,
  open: number,
  keepMonths: number,
): Promise<void> {
  const { snapshot, mark, segments, auditedBytes } = foldSegments(disk, folder, before, open);
  requireDiskSpace(
    disk,
    folder,
    // A journal line is longer than what it adds to the state; an older format may lack fields.
    auditedBytes + 1.25 * (disk.stat(file.path)?.size ?? 0) + sumOf(segments, ({ size }) => size),
    () => auditedBytes + measureEncodedSize(snapshot),
  );
  const history = new AuditLogWriter(disk, folder, before.audit, before.audit.seq, {
    gaps: readDeclaredGaps(disk, folder, before, open),
    repairTail: () => repairTailFromJournal(disk, folder, before.audit),
  });
  try {
    for (const segment of segments) await appendAuditedLines(disk, segment, history);
    const end = await history.close();
    const anchor =
      keepMonths === 0 ? end.anchor : computeAnchor(disk, folder, end, keepMonths, mark);
    const audit = { ...snapshot.audit, file: end.file, length: end.length, anchor };
    await file.write({ ...snapshot, audit }, before);
  } catch (error) {
    removeUnfinishedCheckpoint(disk, folder, Infinity, {
      auditEnd: before.audit,
      writtenFiles: history.abandon(),
    });
    throw error;
  }
}

interface ClosedSegment {
  readonly path: string;
  readonly size: number;
  /** Where the chains stood before it. */
  readonly startHead: ChainHead;
}

interface FoldResult {
  /** But for the end of the audit log, which is still to be written. */
  readonly snapshot: Snapshot;
  readonly mark: Instant;
  readonly segments: readonly ClosedSegment[];
  /** The bytes of all audited lines. */
  readonly auditedBytes: number;
}

/** Reads what is to be folded, and writes nothing. */
function foldSegments(disk: Disk, folder: string, before: Snapshot, open: number): FoldResult {
  const state = decodeSnapshot(before);
  const segments: ClosedSegment[] = [];
  let audited = 0;
  let head = headOf(before);
  for (const { number, path } of listSegments(disk, folder)) {
    if (number <= before.covers.seq || number >= open) continue;
    const bytes = disk.read(path) ?? new Uint8Array();
    segments.push({ path, size: bytes.length, startHead: head });
    head = scanOrThrow(path, bytes, head, (line, raw) => {
      applyLine(state, folder, path, line);
      if (line.audit_seq !== undefined) audited += raw.length;
    });
  }
  if (head.seq !== open - 1) throw new Error(`the journal ends at ${head.seq}, not ${open - 1}`);
  const snapshot = encodeSnapshot(state, head, before.audit);
  return { snapshot, mark: state.latestEventAt, segments, auditedBytes: audited };
}

async function appendAuditedLines(
  disk: Disk,
  { path, startHead }: ClosedSegment,
  history: AuditLogWriter,
): Promise<void> {
  const audited: { readonly line: JournalLine; readonly raw: Uint8Array }[] = [];
  scanOrThrow(path, disk.read(path) ?? new Uint8Array(), startHead, (line, raw) => {
    if (line.audit_seq !== undefined) audited.push({ line, raw });
  });
  for (const { line, raw } of audited) await history.append(line.at, line.audit_seq ?? 0, raw);
}

function scanOrThrow(
  path: string,
  bytes: Uint8Array<ArrayBuffer>,
  start: ChainHead,
  each: (line: JournalLine, raw: Uint8Array) => void,
): ChainHead {
  const { head, damage } = scanSegment(bytes, start, each);
  if (damage !== null) throw new Error(`${path} is damaged at byte ${damage.offset}`);
  return head;
}

const sumOf = <T>(items: readonly T[], size: (item: T) => number): number =>
  items.reduce((total, item) => total + size(item), 0);

/**
 * Keeps the checkpoint before this one and the journal since: all that a bad new file would need.
 */
async function removeOldGenerations(disk: Disk, folder: string, before: Snapshot): Promise<void> {
  for (const { number, path } of listGenerations(disk, folder)) {
    if (number < before.covers.seq) disk.remove(path);
  }
  for (const { number, path } of listSegments(disk, folder)) {
    if (number <= before.covers.seq) disk.remove(path);
  }
  await disk.syncFolder(folder);
  // Only what the kept generation does not need either: going back to it must not find a gap.
  if (before.audit.anchor.seq > 0) await removeFilesBeforeAnchor(disk, folder, before.audit.anchor);
}
