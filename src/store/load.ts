import type { State } from "../domain/state.ts";
import type { Disk } from "../platform/disk.ts";
import { writeAll } from "../platform/files.ts";
import type { Head } from "./journal.ts";
import { replay, type GoodSegment } from "./replay.ts";

export interface Loaded {
  readonly state: State;
  readonly head: Head;
  /** The segment that new lines go to. */
  readonly segment: GoodSegment;
  /** What an operator should hear about. */
  readonly notes: readonly string[];
  /** Closed segments lie beyond the state: the checkpoint after them failed or was interrupted. */
  readonly unfolded: boolean;
}

/** What a start goes on from; an interrupted write at the end is cut off. Null: no state yet. */
export async function load(disk: Disk, folder: string): Promise<Loaded | null> {
  const replayed = await replay(disk, folder);
  if (replayed === null) return null;
  const { state, head, segments, torn } = replayed;
  const segment = segments.at(-1) as GoodSegment;
  const notes = torn === null ? [] : [await cutTail(disk, folder, segment, torn)];
  return { state, head, segment, notes, unfolded: segments.length > 1 };
}

/** Cuts an interrupted write off the end of the journal, keeping a copy of what is cut. */
async function cutTail(
  disk: Disk,
  folder: string,
  { path, size: end }: GoodSegment,
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
  return `${path} ended in an interrupted write: ${torn.length} bytes that were never answered are now in ${kept}`;
}
