// Judges files that a start does not read: the audit log, which the next checkpoint appends to, and
// the sealed credentials.
import { checkpoint } from "../../../src/store/checkpoint/checkpoint.ts";
import type { Snapshot } from "../../../src/store/state/snapshot.ts";
import { SealedFile } from "../../../src/store/secrets/sealed-file.ts";
import { CREDENTIALS, type PendingCheckpoint } from "./site-history.ts";
import {
  fileBytes,
  changedFiles,
  MEMORY_FOLDER,
  replaceInode,
  isSameBytes,
  concatBytes,
  MemoryDisk,
  withoutFiles,
  type Bytes,
  type FileTree,
} from "../shared/memory-disk.ts";

/** Runs the checkpoint on the undamaged folder, to compare with. */
export async function runCheckpoint({ tree, openSegment }: PendingCheckpoint): Promise<FileTree> {
  const disk = new MemoryDisk(tree);
  await checkpoint(disk, MEMORY_FOLDER, openSegment);
  return disk.toTree();
}

/**
 * A checkpoint may append to the audit log only where the state says that it ends. No line in it
 * may be lost: cut, overwritten, or mistaken for the leftover of an unfinished checkpoint.
 */
export async function judgeCheckpoint(
  { tree, openSegment }: PendingCheckpoint,
  clean: FileTree,
  name: string,
  damaged: FileTree,
): Promise<string | null> {
  const bytes = damaged.get(name)?.bytes;
  const before = bytes === undefined ? withoutFiles(tree, name) : replaceInode(tree, name, bytes);
  const { audit } = JSON.parse(Buffer.from(fileBytes(tree, "state.json")).toString()) as Snapshot;
  const isNewestMonth = name === `history/${audit.file}`;
  const isTooShort = isNewestMonth && (bytes?.length ?? 0) < audit.length;
  const disk = new MemoryDisk(before);
  const failure = await checkpoint(disk, MEMORY_FOLDER, openSegment).then(
    () => null,
    (error: unknown) => String(error),
  );
  const after = disk.toTree();
  if (isTooShort) {
    const changed = changedFiles(before, after);
    // Either the journal had the missing part, or nothing may be written after the gap.
    if (failure === null) return compareTrees(after, clean);
    return changed.length === 0
      ? null
      : `the checkpoint failed (${failure}), but changed ${changed.join()}`;
  }
  if (failure !== null) return `the checkpoint failed: ${failure}`;
  if (bytes === undefined || !bytes.includes(LF)) return null;
  if (!isNewestMonth && !hasLineOf(bytes, fileBytes(tree, name))) return findLoss(after, bytes);
  const appended = fileBytes(clean, name).slice(
    isNewestMonth ? audit.length : fileBytes(tree, name).length,
  );
  const expected = isNewestMonth ? concatBytes(bytes.slice(0, audit.length), appended) : bytes;
  return compareTrees(after, new Map([...clean, [name, { bytes: expected }]]));
}

const LF = 10;

/** Whether a complete line of the file is left, by which it can be recognized. */
function hasLineOf(bytes: Bytes, before: Bytes): boolean {
  const text = Buffer.from(bytes).toString("latin1");
  const lines = Buffer.from(before).toString("latin1").match(/.*\n/g) ?? [];
  return lines.some((line) => text.startsWith(line) || text.includes(`\n${line}`));
}

/** A file that looks like a leftover may be moved, but not removed. */
function findLoss(after: FileTree, bytes: Bytes): string | null {
  const isKept = [...after.values()].some((inode) => isSameBytes(inode.bytes, bytes));
  return isKept ? null : "the file was mistaken for a leftover and removed";
}

function compareTrees(after: FileTree, expected: FileTree): string | null {
  const names = changedFiles(expected, after);
  return names.length === 0 ? null : `the checkpoint wrote another ${names.join(", ")}`;
}

/** Both credentials must be read as they were set, or neither. */
export async function judgeCredentials(tree: FileTree, damaged: FileTree): Promise<string | null> {
  const { status, apiKey, sharedKey } = await new SealedFile(
    new MemoryDisk(damaged),
    MEMORY_FOLDER,
  ).read();
  const files = ["credentials.sealed", "sealing.key"];
  const isIntact = files.every((name) =>
    isSameBytes(fileBytes(tree, name), fileBytes(damaged, name)),
  );
  const actual: Record<string, string | null> = { apiKey, sharedKey };
  const expected = isIntact ? CREDENTIALS : { apiKey: null, sharedKey: null };
  if (Bun.deepEquals(actual, expected) && (status === "opened") === isIntact) return null;
  return `the credentials are "${status}" and read as ${JSON.stringify(actual)}`;
}
