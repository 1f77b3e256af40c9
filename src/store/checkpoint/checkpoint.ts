import type { State } from "../../domain/model/state.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { readDeclaredGaps } from "../audit/declared-gaps.ts";
import { repairTailFromJournal } from "../audit/tail-repair.ts";
import { measureEncodedSize } from "../state/durable-file.ts";
import { listGenerations, listSegments } from "../folder/files.ts";
import { AuditLogWriter } from "../audit/audit-log-writer.ts";
import { computeAnchor, removeFilesBeforeAnchor } from "../audit/audit-log.ts";
import { scanSegment, type ChainHead, type JournalLine } from "../journal/journal.ts";
import { lockCheckpoint } from "../folder/lock.ts";
import { applyLine } from "../journal/replay.ts";
import { FolderChanged } from "../folder/folder-changed.ts";
import { requireDiskSpace } from "../folder/disk-space.ts";
import type { Snapshot } from "../state/snapshot.ts";
import { decodeSnapshot, encodeSnapshot, headOf } from "../state/state-rows.ts";
import { StateFile } from "../state/state-file.ts";
import { removeUnfinishedCheckpoint } from "./unfinished-checkpoint.ts";

export interface CheckpointOptions {
  /** How many months of the audit log to keep besides the current one; 0: all. */
  readonly keepMonths?: number;
  /**
   * Called with the lock held: if the server was killed meanwhile, its successor does not know of
   * this checkpoint.
   */
  readonly isStillWanted?: () => boolean;
  /** Called with the new state, once it and the audit log are on disk. */
  readonly onWritten?: (state: State, head: ChainHead) => void;
}

/**
 * Merges every journal segment that begins before `open` into `state.json`. Runs in a separate
 * process beside the server, on the same files and with the same rules. The result is what a
 * restart would have produced, and the server never stops for it.
 */
export async function checkpoint(
  disk: Disk,
  folder: string,
  open: number,
  { keepMonths = 0, isStillWanted = () => true, onWritten = () => {} }: CheckpointOptions = {},
): Promise<void> {
  const lock = lockCheckpoint(disk, folder);
  if (lock === null) throw new Error("another checkpoint is running");
  try {
    if (!isStillWanted()) throw new Error("the server that started it has ended");
    const file = new StateFile(disk, folder);
    const before = await file.read();
    if (before === null)
      throw new FolderChanged(
        file.path,
        `${file.path} was removed`,
        "put the file back, or restore a backup with berth restore FILE",
      );
    if (before.covers.seq >= open - 1) return;
    const { state, head } = await replaceState(disk, folder, file, before, open, keepMonths);
    await removeOldGenerations(disk, folder, before);
    onWritten(state, head);
  } finally {
    lock.release();
  }
}

/**
 * Replaces the state `before` by the state after all closed segments; a failure leaves nothing
 * behind.
 */
async function replaceState(
  disk: Disk,
  folder: string,
  file: StateFile,
  before: Snapshot,
  open: number,
  keepMonths: number,
): Promise<Pick<ComputedSnapshot, "state" | "head">> {
  const computed = computeSnapshot(disk, folder, before, open);
  const { snapshot, state, segments, auditedBytes } = computed;
  requireDiskSpace(
    disk,
    folder,
    // A journal line is longer than what it adds to the state; an older format may lack fields.
    auditedBytes + 1.25 * (disk.stat(file.path)?.size ?? 0) + sumOf(segments, ({ size }) => size),
    () => auditedBytes + measureEncodedSize(snapshot),
  );
  const auditWriter = new AuditLogWriter(disk, folder, before.audit, before.audit.seq, {
    gaps: readDeclaredGaps(disk, folder, before, open),
    repairTail: () => repairTailFromJournal(disk, folder, before.audit),
  });
  try {
    for (const segment of segments) await appendAuditedLines(disk, segment, auditWriter);
    const end = await auditWriter.close();
    const anchor =
      keepMonths === 0
        ? end.anchor
        : computeAnchor(disk, folder, end, keepMonths, state.latestEventAt);
    const audit = { ...snapshot.audit, file: end.file, length: end.length, anchor };
    await file.write({ ...snapshot, audit }, before);
    return computed;
  } catch (error) {
    removeUnfinishedCheckpoint(disk, folder, Infinity, {
      auditEnd: before.audit,
      writtenFiles: auditWriter.abandon(),
    });
    throw error;
  }
}

interface ClosedSegment {
  readonly path: string;
  readonly size: number;
  /** The chain positions before this segment. */
  readonly startHead: ChainHead;
}

interface ComputedSnapshot {
  /** Complete except for the end of the audit log, which is not written yet. */
  readonly snapshot: Snapshot;
  readonly state: State;
  readonly head: ChainHead;
  readonly segments: readonly ClosedSegment[];
  /** The size of all audited lines. */
  readonly auditedBytes: number;
}

/** Computes the new state without writing anything. */
function computeSnapshot(
  disk: Disk,
  folder: string,
  before: Snapshot,
  open: number,
): ComputedSnapshot {
  const state = decodeSnapshot(before);
  const segments: ClosedSegment[] = [];
  let auditedBytes = 0;
  let head = headOf(before);
  for (const { number, path } of listSegments(disk, folder)) {
    if (number <= before.covers.seq || number >= open) continue;
    const bytes = disk.read(path) ?? new Uint8Array();
    segments.push({ path, size: bytes.length, startHead: head });
    head = scanOrThrow(path, bytes, head, (line, raw) => {
      applyLine(state, folder, path, line);
      if (line.audit_seq !== undefined) auditedBytes += raw.length;
    });
  }
  if (head.seq !== open - 1) throw new Error(`the journal ends at ${head.seq}, not ${open - 1}`);
  const snapshot = encodeSnapshot(state, head, before.audit);
  return { snapshot, state, head, segments, auditedBytes };
}

async function appendAuditedLines(
  disk: Disk,
  { path, startHead }: ClosedSegment,
  auditWriter: AuditLogWriter,
): Promise<void> {
  const lines: { readonly line: JournalLine; readonly raw: Uint8Array }[] = [];
  scanOrThrow(path, disk.read(path) ?? new Uint8Array(), startHead, (line, raw) => {
    if (line.audit_seq !== undefined) lines.push({ line, raw });
  });
  for (const { line, raw } of lines) await auditWriter.append(line.at, line.audit_seq ?? 0, raw);
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
 * Keeps the previous checkpoint and the journal since then: all that is needed if the new file is
 * bad.
 */
async function removeOldGenerations(disk: Disk, folder: string, before: Snapshot): Promise<void> {
  for (const { number, path } of listGenerations(disk, folder)) {
    if (number < before.covers.seq) disk.remove(path);
  }
  for (const { number, path } of listSegments(disk, folder)) {
    if (number <= before.covers.seq) disk.remove(path);
  }
  await disk.syncFolder(folder);
  // Only files that the kept generation does not need either: going back to it must not find a gap.
  if (before.audit.anchor.seq > 0) await removeFilesBeforeAnchor(disk, folder, before.audit.anchor);
}
