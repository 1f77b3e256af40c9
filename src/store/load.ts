import { join } from "node:path";
import { evolve } from "../domain/evolve.ts";
import type { State } from "../domain/state.ts";
import type { Disk } from "../platform/disk.ts";
import { FileDamaged } from "./durable-file.ts";
import { writeAll } from "../platform/files.ts";
import { generationName, generationsIn, segmentsIn, STATE, type Numbered } from "./files.ts";
import { scan, type Damage, type Head } from "./journal.ts";
import { FolderRefused } from "./refusal.ts";
import { decodeSnapshot, headOf, type Snapshot } from "./snapshot.ts";
import { FormatUnknown, StateFile } from "./state-file.ts";

export interface Loaded {
  readonly state: State;
  readonly head: Head;
  /** The segment that new lines go to, and how much of it is good. */
  readonly segment: Numbered & { readonly size: number };
  /** What an operator should hear about. */
  readonly notes: readonly string[];
  /** Closed segments lie beyond the state: the checkpoint after them failed or was interrupted. */
  readonly unfolded: boolean;
}

/** Reads `state.json` and replays the journal from there on; null when there is no state yet. */
export async function load(disk: Disk, folder: string): Promise<Loaded | null> {
  const snapshot = await readState(disk, folder);
  if (snapshot === null) return null;
  const state = await rowsOf(disk, folder, snapshot);
  let head = headOf(snapshot);
  const segments = segmentsIn(disk, folder).filter(({ number }) => number > head.seq);
  const notes: string[] = [];
  let size = 0;
  for (const segment of segments) {
    if (segment.number !== head.seq + 1) throw gap(folder, head.seq + 1, segment.number - 1);
    const bytes = disk.read(segment.path) ?? new Uint8Array();
    const scanned = scan(bytes, head, ({ seq, events }) => {
      try {
        for (const event of events) evolve(state, event);
      } catch (error) {
        throw new FolderRefused(
          `${segment.path}: line ${seq} cannot be applied: ${String(error)}`,
          `keep a copy of ${folder} and ask for help; nothing was changed`,
        );
      }
    });
    if (scanned.damage !== null) {
      if (segment !== segments.at(-1) || scanned.damage.inside) {
        throw damaged(folder, segment, scanned.damage);
      }
      notes.push(await cutTail(disk, folder, segment, bytes, scanned.end));
    }
    head = scanned.head;
    size = scanned.end;
  }
  const newest = segments.at(-1);
  if (newest === undefined) throw gap(folder, head.seq + 1, null);
  return { state, head, segment: { ...newest, size }, notes, unfolded: segments.length > 1 };
}

async function readState(disk: Disk, folder: string): Promise<Snapshot | null> {
  const file = new StateFile(disk, folder);
  try {
    return await file.read();
  } catch (error) {
    if (error instanceof FormatUnknown) {
      throw new FolderRefused(`${file.path} ${error.message}`, "start the berth that wrote it");
    }
    if (!(error instanceof FileDamaged)) throw error;
    throw new FolderRefused(
      `${file.path} ${error.message}`,
      await wayBack(disk, folder, file.path),
    );
  }
}

async function rowsOf(disk: Disk, folder: string, snapshot: Snapshot): Promise<State> {
  try {
    return decodeSnapshot(snapshot);
  } catch (error) {
    const path = join(folder, STATE);
    throw new FolderRefused(`${path} ${String(error)}`, await wayBack(disk, folder, path));
  }
}

/**
 * The one command that brings back the checkpoint before the damaged one, and what it would cost.
 */
export async function wayBack(disk: Disk, folder: string, path: string): Promise<string> {
  const segments = segmentsIn(disk, folder);
  for (const { number, path: kept } of generationsIn(disk, folder).toReversed()) {
    const whole = segments.some((segment) => segment.number === number + 1);
    if (!whole || !(await isUsable(disk, folder, number))) continue;
    return `cp -p ${quoted(kept)} ${quoted(path)} # nothing is lost, the journal has every change since`;
  }
  return "no earlier generation is left in this folder; bring one back from a backup";
}

async function isUsable(disk: Disk, folder: string, covers: number): Promise<boolean> {
  try {
    const kept = new StateFile(disk, folder, generationName(covers));
    return (await kept.read())?.covers.seq === covers;
  } catch {
    return false;
  }
}

/** Cuts an interrupted write off the end of the journal, keeping a copy of what is cut. */
async function cutTail(
  disk: Disk,
  folder: string,
  { path }: Numbered,
  bytes: Uint8Array,
  end: number,
): Promise<string> {
  const kept = `${path}.${end}.torn`;
  const copy = disk.open(kept);
  try {
    copy.truncate(0);
    writeAll(copy, bytes.subarray(end));
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
  const cut = bytes.length - end;
  return `${path} ended in an interrupted write: ${cut} bytes that were never answered are now in ${kept}`;
}

function damaged(folder: string, { path }: Numbered, { offset, seq }: Damage): FolderRefused {
  return new FolderRefused(
    `${path} is damaged at byte ${offset}, where line ${seq} should stand; lines follow that were safe on disk`,
    `bring back a backup, or keep a copy of ${folder} and ask for help; nothing was changed`,
  );
}

function gap(folder: string, from: number, to: number | null): FolderRefused {
  const lines = to === null ? `line ${from} on` : `lines ${from} to ${to}`;
  return new FolderRefused(
    `the journal in ${folder} does not continue its state: ${lines} ${to === null ? "has" : "have"} no file (${join(folder, `journal-${from}.jsonl`)})`,
    "put the missing file back, or bring back a backup; nothing was changed",
  );
}

const quoted = (path: string): string => `'${path.replaceAll("'", `'\\''`)}'`;
