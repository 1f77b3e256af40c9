import { join } from "node:path";
import type { State } from "../../domain/model/state.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { writeAll } from "../../platform/files/files.ts";
import { STATE_FILE } from "./files.ts";
import type { ChainHead } from "../journal/journal.ts";
import {
  replay,
  type ReplayOptions,
  type ReplayResult,
  type ValidSegment,
} from "../journal/replay.ts";
import { refuseUnsigned } from "../state/refuse-unsigned.ts";
import type { SignatureCheck } from "../state/signature-check.ts";

export interface LoadedFolder {
  readonly state: State;
  readonly head: ChainHead;
  /** The segment that new lines are appended to. */
  readonly segment: ValidSegment;
  readonly lastBatch: ReplayResult["lastBatch"];
  /** Messages for the operator. */
  readonly notes: readonly string[];
  /**
   * Closed segments exist that the state does not cover: their checkpoint failed or was
   * interrupted.
   */
  readonly hasUncheckpointedSegments: boolean;
  /** The format of the state file, which may be an older one. */
  readonly format: number;
  /** The last line the state covers. Audited lines up to it are in the files of the audit log. */
  readonly coveredSeq: number;
}

/**
 * Loads what a start continues from, and cuts off an interrupted write at the end. Null: no state
 * yet.
 */
export async function loadFolder(
  disk: Disk,
  folder: string,
  checkSignatures?: SignatureCheck,
  options: ReplayOptions = {},
): Promise<LoadedFolder | null> {
  const replayed = await replay(disk, folder, () => {}, options);
  if (replayed === null) return null;
  await refuseUnsigned(disk, folder, replayed, checkSignatures);
  const { snapshot, format, state, head, segments, tornTail, lastBatch } = replayed;
  const segment = segments.at(-1) as ValidSegment;
  const isInLog = options.hasLog === true && state.pair !== null;
  const cut = { bytes: tornTail ?? new Uint8Array(), isInLog };
  const notes = tornTail === null ? [] : [await cutTornTail(disk, folder, segment, cut)];
  return {
    state,
    head,
    segment,
    lastBatch,
    notes,
    format,
    hasUncheckpointedSegments: segments.length > 1,
    coveredSeq: snapshot.covers.seq,
  };
}

/** Loads again after a failed write: nothing after its last durable byte was ever acknowledged. */
export async function reloadFolder(
  disk: Disk,
  folder: string,
  durable: { readonly path: string; readonly size: number },
  checkSignatures?: SignatureCheck,
  options: ReplayOptions = {},
): Promise<LoadedFolder> {
  const file = disk.open(durable.path);
  try {
    file.truncate(durable.size);
    // Synced, so that after a crash no line of the cut part can follow a line of the next batch.
    await file.sync();
  } finally {
    file.close();
  }
  const loaded = await loadFolder(disk, folder, checkSignatures, options);
  if (loaded === null) throw new Error(`${join(folder, STATE_FILE)} no longer exists`);
  return loaded;
}

/**
 * What a start reads may exist only in the kernel's memory: the previous server was killed before
 * the sync, or ended because the sync failed, after which no later sync writes those bytes. So the
 * last batch is written again, in place, and the folder is synced, before the first answer.
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

/** Cuts an interrupted write off the end of the journal, and keeps a copy of the cut bytes. */
async function cutTornTail(
  disk: Disk,
  folder: string,
  { path, size: end }: ValidSegment,
  { bytes: tornBytes, isInLog }: { readonly bytes: Uint8Array; readonly isInLog: boolean },
): Promise<string> {
  const tornPath = `${path}.${end}.torn`;
  const copy = disk.open(tornPath);
  try {
    copy.truncate(0);
    writeAll(copy, tornBytes);
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
  const contents = isInLog
    ? "bytes that are read from the log of the pair again"
    : "bytes that were never acknowledged";
  return `${path} ended in an interrupted write: ${tornBytes.length} ${contents} were moved to ${tornPath}`;
}
