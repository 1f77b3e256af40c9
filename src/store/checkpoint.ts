import type { Disk } from "../platform/disk.ts";
import { generationsIn, segmentsIn } from "./files.ts";
import { History } from "./history.ts";
import { anchorFor, dropRecord } from "./record.ts";
import { scan, type Line } from "./journal.ts";
import { lockCheckpoint } from "./lock.ts";
import { applyLine } from "./replay.ts";
import { decodeSnapshot, encodeSnapshot, headOf, type Snapshot } from "./snapshot.ts";
import { StateFile } from "./state-file.ts";

export interface CheckpointOptions {
  /** How many months of the record to keep besides the current one; 0: all of it. */
  readonly keepMonths?: number;
  /**
   * Asked with the lock held: a server that was killed before that has a successor who could not
   * know of this one.
   */
  readonly isWanted?: () => boolean;
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
  { keepMonths = 0, isWanted = () => true }: CheckpointOptions = {},
): Promise<void> {
  const lock = lockCheckpoint(disk, folder);
  if (lock === null) throw new Error("another checkpoint is under way");
  try {
    if (!isWanted()) throw new Error("the server that wanted it is gone");
    const file = new StateFile(disk, folder);
    const before = await file.read();
    if (before === null) throw new Error(`${file.path} is not there`);
    if (before.covers.seq >= open - 1) return;
    await file.write(await fold(disk, folder, before, open, keepMonths), before);
    await dropOld(disk, folder, before);
  } finally {
    lock.release();
  }
}

async function fold(
  disk: Disk,
  folder: string,
  before: Snapshot,
  open: number,
  keepMonths: number,
): Promise<Snapshot> {
  const state = decodeSnapshot(before);
  const history = new History(disk, folder, before.audit, before.audit.seq);
  let head = headOf(before);
  for (const { number, path } of segmentsIn(disk, folder)) {
    if (number <= before.covers.seq || number >= open) continue;
    const audited: { readonly line: Line; readonly raw: Uint8Array }[] = [];
    const { head: after, damage } = scan(disk.read(path) ?? new Uint8Array(), head, (line, raw) => {
      applyLine(state, folder, path, line);
      if (line.audit_seq !== undefined) audited.push({ line, raw });
    });
    if (damage !== null) throw new Error(`${path} is damaged at byte ${damage.offset}`);
    for (const { line, raw } of audited) await history.add(line.at, line.audit_seq ?? 0, raw);
    head = after;
  }
  if (head.seq !== open - 1) throw new Error(`the journal ends at ${head.seq}, not ${open - 1}`);
  const end = await history.close();
  const anchor =
    keepMonths === 0 ? end.anchor : anchorFor(disk, folder, end, keepMonths, state.mark);
  return encodeSnapshot(state, head, { ...end, anchor });
}

/**
 * Keeps the checkpoint before this one and the journal since: all that a bad new file would need.
 */
async function dropOld(disk: Disk, folder: string, before: Snapshot): Promise<void> {
  for (const { number, path } of generationsIn(disk, folder)) {
    if (number < before.covers.seq) disk.remove(path);
  }
  for (const { number, path } of segmentsIn(disk, folder)) {
    if (number <= before.covers.seq) disk.remove(path);
  }
  await disk.syncFolder(folder);
  // Only what the kept generation does not need either: going back to it must not find a gap.
  if (before.audit.anchor.seq > 0) await dropRecord(disk, folder, before.audit.anchor);
}
