// Everything a disk, a slip of the shell or a bad copy does to the files of a data folder.
import {
  fileBytes,
  replaceInode,
  isSameBytes,
  concatBytes,
  LOCK_FILES,
  replaceFile,
  withoutFiles,
} from "../shared/memory-disk.ts";
import type { Bytes, FileTree } from "../shared/memory-disk.ts";

export interface DamagedFolder {
  /** What was done, in words that suffice to do it again. */
  readonly description: string;
  /** The files it was done to. */
  readonly files: readonly string[];
  readonly tree: FileTree;
}

/** How much of each kind; what there is less of is done in full. */
export interface DamageAmounts {
  /** Of each file. */
  readonly flips: number;
  /** Up to this size a file is cut at every length. */
  readonly maxSizeCutEverywhere: number;
  readonly swaps: number;
  readonly pairs: number;
}

interface FileEdit {
  readonly description: string;
  /** Null: there is no file any more. */
  readonly bytes: Bytes | null;
}

const REMOVED: FileEdit = { description: "removed", bytes: null };

const edited = (tree: FileTree, name: string, { bytes }: FileEdit): FileTree =>
  bytes === null ? withoutFiles(tree, name) : replaceInode(tree, name, bytes);

const SECTOR = 512;
const LF = 10;

type Random = () => number;

const below = (random: Random, limit: number): number => Math.floor(random() * limit);

/**
 * The folder damaged in one place after the other, then in two at once. `others` are trees whose
 * files can be taken for these: older ones of the same folder, and another folder's.
 */
export function* generateDamagedFolders(
  tree: FileTree,
  others: Readonly<Record<string, FileTree>>,
  random: Random,
  amounts: DamageAmounts,
): Generator<DamagedFolder> {
  const names = [...tree.keys()].toSorted();
  for (const name of names) {
    const before = fileBytes(tree, name);
    for (const edit of edits(before, random, amounts)) {
      if (edit.bytes !== null && isSameBytes(edit.bytes, before)) continue;
      yield {
        description: `${name} ${edit.description}`,
        files: [name],
        tree: edited(tree, name, edit),
      };
    }
    for (const [what, bytes] of foreignFilesFor(name, tree, others)) {
      if (isSameBytes(bytes, before)) continue;
      const instead = replaceFile(tree, name, bytes);
      yield { description: `${name} replaced by ${what}`, files: [name], tree: instead };
    }
  }
  yield* swapsBetween(tree, random, amounts.swaps);
  yield* stateless(tree, random, amounts.flips);
  for (let count = 0; count < amounts.pairs; count += 1) {
    const [one, other] = shuffled(names, random);
    if (one === undefined || other === undefined) return;
    const first = oneEdit(fileBytes(tree, one), random);
    const second = oneEdit(fileBytes(tree, other), random);
    yield {
      description: `${one} ${first.description} and ${other} ${second.description}`,
      files: [one, other],
      tree: edited(edited(tree, one, first), other, second),
    };
  }
}

/** What can happen within one file. */
function* edits(before: Bytes, random: Random, amounts: DamageAmounts): Generator<FileEdit> {
  for (const length of lengths(before, amounts.maxSizeCutEverywhere)) yield cutTo(before, length);
  const bits = before.length * 8;
  const all = bits <= amounts.flips;
  for (let count = 0; count < Math.min(bits, amounts.flips); count += 1) {
    yield flipped(before, all ? count : below(random, bits));
  }
  // Where one line ends and the next begins is worth more than chance.
  for (let at = before.indexOf(LF); at >= 0; at = before.indexOf(LF, at + 1)) {
    yield flipped(before, at * 8);
  }
  const sectors = Math.ceil(before.length / SECTOR);
  for (let sector = 0; sector < sectors; sector += 1) {
    yield zeroed(before, sector, sector + 1);
    yield zeroed(before, sector, sectors);
  }
  for (const [one, other] of pairsOf(sectors, random, amounts.swaps)) {
    const bytes = putSector(before, one, sectorOf(before, other));
    const what = `sectors ${one} and ${other} swapped`;
    yield { description: what, bytes: putSector(bytes, other, sectorOf(before, one)) };
  }
  yield* lineEdits(before);
  yield* appended(before, random);
  yield REMOVED;
}

function* lengths(bytes: Bytes, everyLength: number): Generator<number> {
  if (bytes.length <= everyLength) {
    for (let length = 0; length < bytes.length; length += 1) yield length;
    return;
  }
  const some = new Set<number>();
  for (let length = 0; length < bytes.length; length += SECTOR) some.add(length);
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    for (const length of [at, at + 1, at + 2]) if (length < bytes.length) some.add(length);
  }
  yield* some;
}

const cutTo = (before: Bytes, length: number): FileEdit => ({
  description: `cut to ${length} bytes`,
  bytes: before.slice(0, length),
});

function flipped(before: Bytes, bit: number): FileEdit {
  const bytes = before.slice();
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return { description: `with bit ${bit & 7} of byte ${bit >> 3} flipped`, bytes };
}

function zeroed(before: Bytes, from: number, to: number): FileEdit {
  const bytes = before.slice();
  bytes.fill(0, from * SECTOR, to * SECTOR);
  return { description: `with sectors ${from} to ${to - 1} zeroed`, bytes };
}

/** What a hand does in an editor: every line whole, and not all of them where they were. */
function* lineEdits(before: Bytes): Generator<FileEdit> {
  const text = Buffer.from(before).toString("latin1").replaceAll("\n", "\r\n");
  yield { description: "with CR LF line ends", bytes: new Uint8Array(Buffer.from(text, "latin1")) };
  const lines: Bytes[] = [];
  for (let from = 0, feed = before.indexOf(LF); feed >= 0; feed = before.indexOf(LF, from)) {
    lines.push(before.slice(from, feed + 1));
    from = feed + 1;
  }
  for (const [at, line] of lines.entries()) {
    yield {
      description: `with line ${at} left out`,
      bytes: concatBytes(...lines.toSpliced(at, 1)),
    };
    yield {
      description: `with line ${at} twice`,
      bytes: concatBytes(...lines.toSpliced(at, 0, line)),
    };
    const next = lines.slice(at, at + 2).toReversed();
    yield {
      description: `with line ${at} after the next`,
      bytes: concatBytes(...lines.toSpliced(at, 2, ...next)),
    };
  }
}

/** Grown by what a crash, a stuck editor or a doubled write leaves behind. */
function* appended(before: Bytes, random: Random): Generator<FileEdit> {
  const noise = Uint8Array.from({ length: 700 }, () => below(random, 256));
  const lastLine = before.slice(before.lastIndexOf(LF, before.length - 2) + 1);
  const firstLine = before.slice(0, before.indexOf(LF) + 1);
  const tails: Record<string, Uint8Array> = {
    "a line feed": Buffer.from("\n"),
    "an empty object": Buffer.from("{}\n"),
    "a zero": new Uint8Array(1),
    "4096 zeros": new Uint8Array(4096),
    noise,
    "its last line again": lastLine,
    "its first line again": firstLine,
    "all of it again": before,
  };
  for (const [what, tail] of Object.entries(tails)) {
    yield { description: `followed by ${what}`, bytes: concatBytes(before, tail) };
  }
}

/** What else could lie under that name. */
function* foreignFilesFor(
  name: string,
  tree: FileTree,
  others: Readonly<Record<string, FileTree>>,
): Generator<[string, Bytes]> {
  const kind = kindOf(name);
  for (const other of tree.keys()) {
    if (other !== name && kindOf(other) === kind) yield [other, fileBytes(tree, other)];
  }
  for (const [whose, files] of Object.entries(others)) {
    for (const other of files.keys()) {
      if (kindOf(other) !== kind) continue;
      yield [`${other} of ${whose}`, fileBytes(files, other)];
    }
  }
}

const kindOf = (name: string): string => name.replaceAll(/[-\d]/g, "").replace(/\.new$/, "");

function* swapsBetween(tree: FileTree, random: Random, count: number): Generator<DamagedFolder> {
  const names = [...tree.keys()].filter(
    (name) => fileBytes(tree, name).length > 0 && !isLock(name),
  );
  for (let done = 0; done < count; done += 1) {
    const [one = "", other = ""] = shuffled(names, random);
    const [a, b] = [fileBytes(tree, one), fileBytes(tree, other)];
    const first = below(random, Math.ceil(a.length / SECTOR));
    const second = below(random, Math.ceil(b.length / SECTOR));
    const once = replaceInode(tree, one, putSector(a, first, sectorOf(b, second)));
    yield {
      description: `sector ${first} of ${one} and ${second} of ${other} swapped`,
      files: [one, other],
      tree: replaceInode(once, other, putSector(b, second, sectorOf(a, first))),
    };
  }
}

const isLock = (name: string): boolean => LOCK_FILES.has(name);

/** No state of any age is left, and the journal is damaged: not to be taken for a first start. */
function* stateless(tree: FileTree, random: Random, count: number): Generator<DamagedFolder> {
  const states = [...tree.keys()].filter((name) => name.startsWith("state"));
  const bare = withoutFiles(tree, ...states);
  const files = [...states, ...[...bare.keys()].filter((name) => name.startsWith("journal"))];
  yield { description: "every state removed", files, tree: bare };
  for (const name of files.slice(states.length)) {
    if (fileBytes(tree, name).length === 0) continue;
    for (let done = 0; done < count / 16; done += 1) {
      const edit = oneEdit(fileBytes(tree, name), random);
      const what = `every state removed and ${name} ${edit.description}`;
      yield { description: what, files, tree: edited(bare, name, edit) };
    }
  }
}

function oneEdit(before: Bytes, random: Random): FileEdit {
  const sectors = Math.ceil(before.length / SECTOR);
  if (sectors === 0) return { description: "with a zero in it", bytes: new Uint8Array(1) };
  switch (below(random, 5)) {
    case 0:
      return cutTo(before, below(random, before.length));
    case 1: {
      const sector = below(random, sectors);
      return zeroed(before, sector, sector + 1);
    }
    case 2:
      return REMOVED;
    default:
      return flipped(before, below(random, before.length * 8));
  }
}

/** With what lies behind the end of a file: zeros. */
function sectorOf(bytes: Bytes, sector: number): Bytes {
  const found = new Uint8Array(SECTOR);
  found.set(bytes.subarray(sector * SECTOR, (sector + 1) * SECTOR));
  return found;
}

function putSector(before: Bytes, sector: number, content: Bytes): Bytes {
  const bytes = before.slice();
  bytes.set(content.subarray(0, bytes.length - sector * SECTOR), sector * SECTOR);
  return bytes;
}

/** All pairs where there are few, else some of them. */
function pairsOf(count: number, random: Random, most: number): [number, number][] {
  const pairs: [number, number][] = [];
  for (let one = 0; one < count; one += 1) {
    for (let other = one + 1; other < count; other += 1) pairs.push([one, other]);
  }
  return pairs.length <= most ? pairs : shuffled(pairs, random).slice(0, most);
}

function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items];
  return items.flatMap(() => left.splice(below(random, left.length), 1));
}
