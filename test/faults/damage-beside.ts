// Files a start does not read: what the next checkpoint makes of a damaged record, and what is
// opened of damaged credentials.
import { checkpoint } from "../../src/store/checkpoint.ts";
import type { Snapshot } from "../../src/store/snapshot.ts";
import { SealedFile } from "../../src/store/sealed-file.ts";
import { CREDENTIALS, type Foldable } from "./damage-moments.ts";
import {
  bytesOf,
  differences,
  FOLDER,
  inPlace,
  isSame,
  joined,
  TreeDisk,
  without,
  type Bytes,
  type Tree,
} from "./tree.ts";

/** The same fold with nothing damaged, to compare with. */
export async function folded({ tree, open }: Foldable): Promise<Tree> {
  const disk = new TreeDisk(tree);
  await checkpoint(disk, FOLDER, open);
  return disk.tree();
}

/**
 * The record may be written on only from where the state says it ends, and nothing that is on it
 * may be lost: neither cut, nor overwritten, nor taken for the leftover of an unfinished fold.
 */
export async function judgeFold(
  { tree, open }: Foldable,
  clean: Tree,
  name: string,
  damaged: Tree,
): Promise<string | null> {
  const bytes = damaged.get(name)?.bytes;
  const before = bytes === undefined ? without(tree, name) : inPlace(tree, name, bytes);
  const { audit } = JSON.parse(Buffer.from(bytesOf(tree, "state.json")).toString()) as Snapshot;
  const isEnd = name === `history/${audit.file}`;
  const isShort = isEnd && (bytes?.length ?? 0) < audit.length;
  const disk = new TreeDisk(before);
  const complaint = await checkpoint(disk, FOLDER, open).then(
    () => null,
    (error: unknown) => String(error),
  );
  const after = disk.tree();
  if (isShort) {
    const changed = differences(before, after);
    // Either the journal had the rest of it, or nothing is written behind a hole.
    if (complaint === null) return wrong(after, clean);
    return changed.length === 0 ? null : `refused (${complaint}), and changed: ${changed.join()}`;
  }
  if (complaint !== null) return `it was not folded: ${complaint}`;
  if (bytes === undefined || !bytes.includes(LF)) return null;
  if (!isEnd && !holdsLineOf(bytes, bytesOf(tree, name))) return lost(after, bytes);
  const added = bytesOf(clean, name).slice(isEnd ? audit.length : bytesOf(tree, name).length);
  const wanted = isEnd ? joined(bytes.slice(0, audit.length), added) : bytes;
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
function lost(after: Tree, bytes: Bytes): string | null {
  const kept = [...after.values()].some((inode) => isSame(inode.bytes, bytes));
  return kept ? null : "it was taken for a leftover, and is gone";
}

function wrong(after: Tree, wanted: Tree): string | null {
  const names = differences(wanted, after);
  return names.length === 0 ? null : `the fold made another ${names.join(", ")}`;
}

/** Both credentials as they were set, or none. */
export async function judgeSealed(tree: Tree, damaged: Tree): Promise<string | null> {
  const {
    status: found,
    apiKey,
    sharedKey,
  } = await new SealedFile(new TreeDisk(damaged), FOLDER).read();
  const files = ["credentials.sealed", "sealing.key"];
  const whole = files.every((name) => isSame(bytesOf(tree, name), bytesOf(damaged, name)));
  const pair: Record<string, string | null> = { apiKey, sharedKey };
  const wanted = whole ? CREDENTIALS : { apiKey: null, sharedKey: null };
  if (Bun.deepEquals(pair, wanted) && (found === "opened") === whole) return null;
  return `${found}: ${JSON.stringify(pair)}`;
}
