import { join } from "node:path";
import type { State } from "../domain/state.ts";
import type { Disk } from "../platform/disk.ts";
import { writeAll } from "../platform/files.ts";
import { STATE_FILE } from "./files.ts";
import type { ChainHead } from "./journal.ts";
import { replay, type ValidSegment, type ReplayResult } from "./replay.ts";
import { refuseUnsigned, type SignatureCheck } from "./signatures.ts";

export interface LoadedFolder {
  readonly state: State;
  readonly head: ChainHead;
  /** The segment that new lines go to. */
  readonly segment: ValidSegment;
  readonly lastBatch: ReplayResult["lastBatch"];
  /** What an operator should hear about. */
  readonly notes: readonly string[];
  /** Closed segments lie beyond the state: the checkpoint after them failed or was interrupted. */
  readonly hasUnfoldedSegments: boolean;
  /** Of the state's file, which may be an older one. */
  readonly format: number;
  /** The last line the state covers: what is on record of those up to it is in files of its own. */
  readonly coveredSeq: number;
}

/** What a start goes on from; an interrupted write at the end is cut off. Null: no state yet. */
export async function loadFolder(
  disk: Disk,
  folder: string,
  checkSignatures?: SignatureCheck,
): Promise<LoadedFolder | null> {
  const replayed = await replay(disk, folder);
  if (replayed === null) return null;
  await refuseUnsigned(disk, folder, replayed, checkSignatures);
  const { snapshot, format, state, head, segments, tornTail, lastBatch } = replayed;
  const segment = segments.at(-1) as ValidSegment;
  const notes = tornTail === null ? [] : [await cutTornTail(disk, folder, segment, tornTail)];
  const covers = snapshot.covers.seq;
  const unfolded = segments.length > 1;
  return {
    state,
    head,
    segment,
    lastBatch,
    notes,
    format,
    hasUnfoldedSegments: unfolded,
    coveredSeq: covers,
  };
}

/** After a write that failed: nothing behind its last durable byte was ever answered. */
export async function reloadFolder(
  disk: Disk,
  folder: string,
  durable: { readonly path: string; readonly size: number },
  checkSignatures?: SignatureCheck,
): Promise<LoadedFolder> {
  const file = disk.open(durable.path);
  try {
    file.truncate(durable.size);
    // Synced: after a crash no line of what is cut off may stand behind one of the next batch.
    await file.sync();
  } finally {
    file.close();
  }
  const loaded = await loadFolder(disk, folder, checkSignatures);
  if (loaded === null) throw new Error(`${join(folder, STATE_FILE)} is gone`);
  return loaded;
}

/**
 * What a start reads may be in the kernel's memory only: its server was killed before the sync, or
 * ended because the sync failed, after which no later sync saves those bytes. So the last batch is
 * written once more, in place, and the folder's names are synced, before anybody is answered.
 */
export async function makeLastBatchDurable(
  disk: Disk,
  folder: string,
  { segment, lastBatch }: LoadedFolder,
): Promise<void> {
  const { offset, bytes } = lastBatch;
  if (bytes.length > 0) await disk.rewrite(segment.path, offset, bytes);
  await disk.syncFolder(folder);
}

/** Cuts an interrupted write off the end of the journal, keeping a copy of what is cut. */
async function cutTornTail(
  disk: Disk,
  folder: string,
  { path, size: end }: ValidSegment,
  torn: Uint8Array,
): Promise<string> {
  const kept = `${path}.${end}.torn`;
  const copy = disk.open(kept);
  try {
    copy.truncate(0);
    writeAll(copy, torn);
    await copy.sync();
  } finally {
    copy.close();
  }
  const segment = disk.open(path);
  try {
    segment.truncate(end);
    await segment.sync();
  } finally {
    segment.close();
  }
  await disk.syncFolder(folder);
  return `${path} ended in an interrupted write: ${torn.length} bytes that were never acknowledged were moved to ${kept}`;
}
