// Files a start does not read: what the next checkpoint makes of a damaged record, and what is
// opened of damaged credentials.
import { checkpoint } from "../../../src/store/checkpoint.ts";
import type { Snapshot } from "../../../src/store/snapshot.ts";
import { SealedFile } from "../../../src/store/sealed-file.ts";
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

/** The same fold with nothing damaged, to compare with. */
export async function runCheckpoint({ tree, openSegment }: PendingCheckpoint): Promise<FileTree> {
  const disk = new MemoryDisk(tree);
  await checkpoint(disk, MEMORY_FOLDER, openSegment);
  return disk.toTree();
}

/**
 * The record may be written on only from where the state says it ends, and nothing that is on it
 * may be lost: neither cut, nor overwritten, nor taken for the leftover of an unfinished fold.
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
  const isEnd = name === `history/${audit.file}`;
  const isShort = isEnd && (bytes?.length ?? 0) < audit.length;
  const disk = new MemoryDisk(before);
  const complaint = await checkpoint(disk, MEMORY_FOLDER, openSegment).then(
    () => null,
    (error: unknown) => String(error),
  );
  const after = disk.toTree();
  if (isShort) {
    const changed = changedFiles(before, after);
    // Either the journal had the rest of it, or nothing is written behind a hole.
    if (complaint === null) return wrong(after, clean);
    return changed.length === 0 ? null : `refused (${complaint}), and changed: ${changed.join()}`;
  }
  if (complaint !== null) return `it was not folded: ${complaint}`;
  if (bytes === undefined || !bytes.includes(LF)) return null;
  if (!isEnd && !holdsLineOf(bytes, fileBytes(tree, name))) return lost(after, bytes);
  const added = fileBytes(clean, name).slice(isEnd ? audit.length : fileBytes(tree, name).length);
  const wanted = isEnd ? concatBytes(bytes.slice(0, audit.length), added) : bytes;
  return wrong(after, new Map([...clean, [name, { bytes: wanted }]]));
}

const LF = 10;

/** Is a line of it left that says what it was? */
function holdsLineOf(bytes: Bytes, before: Bytes): boolean {
  const text = Buffer.from(bytes).toString("latin1");
  const lines = Buffer.from(before).toString("latin1").match(/.*\n/g) ?? [];
  return lines.some((line) => text.startsWith(line) || text.includes(`\n${line}`));
}

/** What cannot be told from a leftover may go elsewhere, but not away. */
function lost(after: FileTree, bytes: Bytes): string | null {
  const kept = [...after.values()].some((inode) => isSameBytes(inode.bytes, bytes));
  return kept ? null : "it was taken for a leftover, and is gone";
}

function wrong(after: FileTree, wanted: FileTree): string | null {
  const names = changedFiles(wanted, after);
  return names.length === 0 ? null : `the fold made another ${names.join(", ")}`;
}

/** Both credentials as they were set, or none. */
export async function judgeCredentials(tree: FileTree, damaged: FileTree): Promise<string | null> {
  const { status, apiKey, sharedKey } = await new SealedFile(
    new MemoryDisk(damaged),
    MEMORY_FOLDER,
  ).read();
  const files = ["credentials.sealed", "sealing.key"];
  const whole = files.every((name) => isSameBytes(fileBytes(tree, name), fileBytes(damaged, name)));
  const pair: Record<string, string | null> = { apiKey, sharedKey };
  const wanted = whole ? CREDENTIALS : { apiKey: null, sharedKey: null };
  if (Bun.deepEquals(pair, wanted) && (status === "opened") === whole) return null;
  return `${status}: ${JSON.stringify(pair)}`;
}
