import { join } from "node:path";
import { evolve, UnknownEvent } from "../../domain/evolve/evolve.ts";
import type { State } from "../../domain/model/state.ts";
import { messageOfError } from "../../platform/error-message.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { quoteForShell } from "../../platform/shell-quote.ts";
import { FileDamaged } from "../state/durable-file.ts";
import {
  generationName,
  listGenerations,
  listSegments,
  STATE_FILE,
  type NumberedFile,
} from "../folder/files.ts";
import { scanSegment, type JournalDamage, type ChainHead, type JournalLine } from "./journal.ts";
import { FormatUnknown } from "../state/migrations.ts";
import { FolderRefused, FormatRefused } from "../folder/refusal.ts";
import type { Snapshot } from "../state/snapshot.ts";
import { decodeSnapshot, headOf } from "../state/state-rows.ts";
import { StateFile } from "../state/state-file.ts";
import type { SignatureCheck } from "../state/signature-check.ts";
import { hasUnfinishedRestore } from "../folder/restore-steps.ts";

/** A segment, and the size of its valid part. */
export interface ValidSegment extends NumberedFile {
  readonly size: number;
}

export interface ReplayResult {
  readonly snapshot: Snapshot;
  /** The format of the state file. */
  readonly format: number;
  readonly state: State;
  readonly head: ChainHead;
  /**
   * From the first line that the snapshot does not cover; new lines are appended to the last one.
   */
  readonly segments: readonly [...ValidSegment[], ValidSegment];
  /** The bytes after the last valid line: an interrupted write. */
  readonly tornTail: Uint8Array | null;
  /** The last batch of the last segment: only its lines may not be synced. In a pair, all lines. */
  readonly lastBatch: { readonly offset: number; readonly bytes: Uint8Array };
  /** The line that installed a license, if it is in these segments and not in the snapshot. */
  readonly installedBy: ReadonlyMap<number, string>;
}

export interface ReplayOptions {
  /** Whether the log of a pair has the lines of the last segment, too. */
  readonly hasLog?: boolean;
}

/**
 * Reads `state.json` and replays the journal after it; null: there is no state yet. Changes
 * nothing, and refuses everything that is not exactly what was written.
 */
export async function replay(
  disk: Disk,
  folder: string,
  each: (line: JournalLine) => void = () => {},
  { hasLog = false }: ReplayOptions = {},
): Promise<ReplayResult | null> {
  if (hasUnfinishedRestore(disk, folder)) throw restoreUnfinished(folder);
  const file = new StateFile(disk, folder);
  const snapshot = await readState(disk, folder, file);
  if (snapshot === null) return null;
  const state = await decodeState(disk, folder, snapshot);
  return {
    snapshot,
    format: file.format,
    state,
    ...replaySegments(disk, folder, state, headOf(snapshot), each, hasLog),
  };
}

/** Applies the journal from `start` on to `state`. */
function replaySegments(
  disk: Disk,
  folder: string,
  state: State,
  start: ChainHead,
  each: (line: JournalLine) => void,
  hasLog: boolean,
): Omit<ReplayResult, "snapshot" | "format" | "state"> {
  let head = start;
  const newSegments = listSegments(disk, folder).filter(({ number }) => number > head.seq);
  const segments: ValidSegment[] = [];
  let tornTail: Uint8Array | null = null;
  let lastBatch: ReplayResult["lastBatch"] = { offset: 0, bytes: new Uint8Array() };
  const installedBy = new Map<number, string>();
  for (const segment of newSegments) {
    if (segment.number !== head.seq + 1)
      throw segmentMissing(folder, head.seq + 1, segment.number - 1);
    const bytes = readSegment(disk, segment.path);
    let batchOffset = 0;
    const scan = scanSegment(bytes, head, (line, raw) => {
      if (line.from === line.seq) batchOffset = raw.byteOffset - bytes.byteOffset;
      applyLine(state, folder, segment.path, line);
      for (const event of line.events) {
        if (event.type !== "LicenseInstalled") continue;
        installedBy.set(event.license, `${segment.path}: line ${line.seq}`);
      }
      each(line);
    });
    // A host of a pair does not wait for the sync of a batch before it writes the next one.
    const isInPair = state.pair !== null;
    if (scan.damage !== null) {
      const isInLog = hasLog && isInPair;
      if (segment !== newSegments.at(-1) || (scan.damage.isCorruption && !isInLog)) {
        throw segmentDamaged(folder, segment, scan.damage, isInPair);
      }
      tornTail = bytes.subarray(scan.end);
    }
    head = scan.head;
    segments.push({ ...segment, size: scan.end });
    const offset = isInPair ? 0 : batchOffset;
    lastBatch = { offset, bytes: bytes.subarray(offset, scan.end) };
  }
  const lastSegment = segments.pop();
  if (lastSegment === undefined) throw segmentMissing(folder, head.seq + 1, null);
  return { head, segments: [...segments, lastSegment], tornTail, lastBatch, installedBy };
}

/** Empty if the file does not exist: the caller then finds that lines are missing. */
export function readSegment(disk: Disk, path: string): Uint8Array<ArrayBuffer> {
  try {
    return disk.read(path) ?? new Uint8Array();
  } catch (error) {
    if (errorCode(error) !== "EISDIR") throw error;
    throw new FolderRefused(
      `${path} ${IS_FOLDER}`,
      "put the file back, or restore a backup with berth restore FILE; nothing was changed",
    );
  }
}

const IS_FOLDER = "is a folder instead of a file";

/** Applies a journal line to the state; refuses a line that cannot be applied. */
export function applyLine(
  state: State,
  folder: string,
  path: string,
  { seq, events }: Pick<JournalLine, "seq" | "events">,
): void {
  try {
    for (const event of events) evolve(state, event);
  } catch (error) {
    if (error instanceof UnknownEvent) {
      throw new FormatRefused(
        `${path}: line ${seq} ${error.message}`,
        "a newer version of berth wrote it: start that version, or a newer one; nothing was changed",
      );
    }
    throw new FolderRefused(
      `${path}: line ${seq} cannot be applied: ${messageOfError(error)}`,
      `keep a copy of ${folder} and ask for help; nothing was changed`,
    );
  }
}

export async function readState(
  disk: Disk,
  folder: string,
  file: StateFile,
): Promise<Snapshot | null> {
  try {
    return await file.read();
  } catch (error) {
    if (error instanceof FormatUnknown) {
      throw new FormatRefused(`${file.path} ${error.message}`, error.hint);
    }
    const isFolder = errorCode(error) === "EISDIR";
    if (!isFolder && !(error instanceof FileDamaged)) throw error;
    const copyCommand = await findRecoveryHint(disk, folder, file.path);
    if (error instanceof FileDamaged)
      throw new FolderRefused(`${file.path} ${error.message}`, copyCommand ?? NO_RECOVERY_HINT);
    // `cp` would copy the file into the folder.
    const moveCommand = `mv ${quoteForShell(file.path)} ${quoteForShell(`${file.path}.folder`)}`;
    throw new FolderRefused(
      `${file.path} ${IS_FOLDER}`,
      copyCommand === null ? NO_RECOVERY_HINT : `${moveCommand} && ${copyCommand}`,
    );
  }
}

async function decodeState(disk: Disk, folder: string, snapshot: Snapshot): Promise<State> {
  try {
    return decodeSnapshot(snapshot);
  } catch (error) {
    const path = join(folder, STATE_FILE);
    const hint = await findRecoveryHint(disk, folder, path);
    throw new FolderRefused(
      `${path} is damaged: ${messageOfError(error)}`,
      hint ?? NO_RECOVERY_HINT,
    );
  }
}

export const NO_RECOVERY_HINT =
  "this folder has no usable older state; restore a backup with berth restore FILE";

/**
 * The command that restores the checkpoint before the damaged one, and its cost; null: there is
 * none.
 */
export async function findRecoveryHint(
  disk: Disk,
  folder: string,
  path: string,
  check: SignatureCheck = async () => null,
): Promise<string | null> {
  for (const { number, path: generationPath } of listGenerations(disk, folder).toReversed()) {
    if (!(await isUsableGeneration(disk, folder, number, check))) continue;
    return `cp -p ${quoteForShell(generationPath)} ${quoteForShell(path)} # nothing is lost: the journal contains every change since`;
  }
  return null;
}

/** Whether a start would accept the generation and the whole journal since. */
async function isUsableGeneration(
  disk: Disk,
  folder: string,
  covers: number,
  check: SignatureCheck,
): Promise<boolean> {
  try {
    const snapshot = await new StateFile(disk, folder, generationName(covers)).read();
    if (snapshot?.covers.seq !== covers) return false;
    const state = decodeSnapshot(snapshot);
    replaySegments(disk, folder, state, headOf(snapshot), () => {}, false);
    return (await check(state)) === null;
  } catch {
    return false;
  }
}

function segmentDamaged(
  folder: string,
  { path }: NumberedFile,
  { offset, seq }: JournalDamage,
  isInPair: boolean,
): FolderRefused {
  return new FolderRefused(
    `${path} is damaged at byte ${offset}, where line ${seq} is expected; lines that were safely on disk follow`,
    isInPair
      ? "start the server with its pair_log, which has these lines; if it refuses, join the pair again: berth pair request; nothing was changed"
      : `restore a backup with berth restore FILE, or keep a copy of ${folder} and ask for help; nothing was changed`,
  );
}

function segmentMissing(folder: string, from: number, to: number | null): FolderRefused {
  const lines = to === null ? `everything from line ${from} on` : `lines ${from} to ${to}`;
  return new FolderRefused(
    `the journal in ${folder} does not continue its state: ${lines} ${to === null ? "is" : "are"} missing (no file ${join(folder, `journal-${from}.jsonl`)})`,
    "put the missing file back, or restore a backup with berth restore FILE; nothing was changed",
  );
}

/**
 * The folder contains old files, and some of the new ones may be missing. Readers take no lock, so
 * they do not know whether the restore is still running.
 */
function restoreUnfinished(folder: string): FolderRefused {
  return new FolderRefused(
    `a restore of ${folder} is not finished`,
    "wait until it ends; if it was interrupted, start the server, which finishes it",
  );
}
