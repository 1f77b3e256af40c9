// Generates damaged copies of a data folder: what a disk, a wrong shell command or a bad copy may
// do.
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
  /** The damage, in enough detail to repeat it. */
  readonly description: string;
  /** The damaged files. */
  readonly files: readonly string[];
  readonly tree: FileTree;
}

/** How many cases of each kind of damage; if fewer are possible, all of them are generated. */
export interface DamageAmounts {
  /** Flipped bits in each file. */
  readonly flips: number;
  /** A file up to this size is cut at every length. */
  readonly maxSizeCutEverywhere: number;
  readonly swaps: number;
  readonly pairs: number;
}

interface FileEdit {
  readonly description: string;
  /** Null if the file is removed. */
  readonly bytes: Bytes | null;
}

const REMOVED: FileEdit = { description: "removed", bytes: null };

const applyEdit = (tree: FileTree, name: string, { bytes }: FileEdit): FileTree =>
  bytes === null ? withoutFiles(tree, name) : replaceInode(tree, name, bytes);

const SECTOR = 512;
const LF = 10;

type Random = () => number;

const randomBelow = (random: Random, limit: number): number => Math.floor(random() * limit);

/**
 * Damages one file at a time, then two at once. `replacements` are trees with files that can be
 * mistaken for those of this folder: older ones of the same folder, and those of another folder.
 */
export function* generateDamagedFolders(
  tree: FileTree,
  replacements: Readonly<Record<string, FileTree>>,
  random: Random,
  amounts: DamageAmounts,
): Generator<DamagedFolder> {
  const names = [...tree.keys()].toSorted();
  for (const name of names) {
    const before = fileBytes(tree, name);
    for (const edit of generateEdits(before, random, amounts)) {
      if (edit.bytes !== null && isSameBytes(edit.bytes, before)) continue;
      yield {
        description: `${name} ${edit.description}`,
        files: [name],
        tree: applyEdit(tree, name, edit),
      };
    }
    for (const [source, bytes] of listReplacements(name, tree, replacements)) {
      if (isSameBytes(bytes, before)) continue;
      yield {
        description: `${name} replaced by ${source}`,
        files: [name],
        tree: replaceFile(tree, name, bytes),
      };
    }
  }
  yield* swapSectors(tree, random, amounts.swaps);
  yield* removeStates(tree, random, amounts.flips);
  for (let count = 0; count < amounts.pairs; count += 1) {
    const [firstName, secondName] = shuffle(names, random);
    if (firstName === undefined || secondName === undefined) return;
    const first = randomEdit(fileBytes(tree, firstName), random);
    const second = randomEdit(fileBytes(tree, secondName), random);
    yield {
      description: `${firstName} ${first.description} and ${secondName} ${second.description}`,
      files: [firstName, secondName],
      tree: applyEdit(applyEdit(tree, firstName, first), secondName, second),
    };
  }
}

/** All kinds of damage within one file. */
function* generateEdits(
  before: Bytes,
  random: Random,
  amounts: DamageAmounts,
): Generator<FileEdit> {
  for (const length of chooseLengths(before, amounts.maxSizeCutEverywhere))
    yield cutTo(before, length);
  const bitCount = before.length * 8;
  const flipsAllBits = bitCount <= amounts.flips;
  for (let count = 0; count < Math.min(bitCount, amounts.flips); count += 1) {
    yield flipBit(before, flipsAllBits ? count : randomBelow(random, bitCount));
  }
  // Line ends are always damaged: random bits would rarely hit them.
  for (let at = before.indexOf(LF); at >= 0; at = before.indexOf(LF, at + 1)) {
    yield flipBit(before, at * 8);
  }
  const sectors = Math.ceil(before.length / SECTOR);
  for (let sector = 0; sector < sectors; sector += 1) {
    yield zeroSectors(before, sector, sector + 1);
    yield zeroSectors(before, sector, sectors);
  }
  for (const [first, second] of choosePairs(sectors, random, amounts.swaps)) {
    const bytes = putSector(before, first, readSector(before, second));
    yield {
      description: `with sectors ${first} and ${second} swapped`,
      bytes: putSector(bytes, second, readSector(before, first)),
    };
  }
  yield* editLines(before);
  yield* appendTails(before, random);
  yield REMOVED;
}

function* chooseLengths(bytes: Bytes, maxSizeCutEverywhere: number): Generator<number> {
  if (bytes.length <= maxSizeCutEverywhere) {
    for (let length = 0; length < bytes.length; length += 1) yield length;
    return;
  }
  const lengths = new Set<number>();
  for (let length = 0; length < bytes.length; length += SECTOR) lengths.add(length);
  for (let at = bytes.indexOf(LF); at >= 0; at = bytes.indexOf(LF, at + 1)) {
    for (const length of [at, at + 1, at + 2]) if (length < bytes.length) lengths.add(length);
  }
  yield* lengths;
}

const cutTo = (before: Bytes, length: number): FileEdit => ({
  description: `cut to ${length} bytes`,
  bytes: before.slice(0, length),
});

function flipBit(before: Bytes, bit: number): FileEdit {
  const bytes = before.slice();
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return { description: `with bit ${bit & 7} of byte ${bit >> 3} flipped`, bytes };
}

function zeroSectors(before: Bytes, from: number, to: number): FileEdit {
  const bytes = before.slice();
  bytes.fill(0, from * SECTOR, to * SECTOR);
  return { description: `with sectors ${from} to ${to - 1} zeroed`, bytes };
}

/**
 * What a person may do in an editor: every line is intact, but some are moved, repeated or removed.
 */
function* editLines(before: Bytes): Generator<FileEdit> {
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

/** Appends what a crash, an editor or a repeated write may leave at the end of a file. */
function* appendTails(before: Bytes, random: Random): Generator<FileEdit> {
  const noise = Uint8Array.from({ length: 700 }, () => randomBelow(random, 256));
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
  for (const [description, tail] of Object.entries(tails)) {
    yield { description: `followed by ${description}`, bytes: concatBytes(before, tail) };
  }
}

/** Other files of the same kind, which could get this name by mistake. */
function* listReplacements(
  name: string,
  tree: FileTree,
  replacements: Readonly<Record<string, FileTree>>,
): Generator<[string, Bytes]> {
  const kind = kindOf(name);
  for (const other of tree.keys()) {
    if (other !== name && kindOf(other) === kind) yield [other, fileBytes(tree, other)];
  }
  for (const [origin, files] of Object.entries(replacements)) {
    for (const other of files.keys()) {
      if (kindOf(other) !== kind) continue;
      yield [`${other} of ${origin}`, fileBytes(files, other)];
    }
  }
}

const kindOf = (name: string): string => name.replaceAll(/[-\d]/g, "").replace(/\.new$/, "");

function* swapSectors(tree: FileTree, random: Random, count: number): Generator<DamagedFolder> {
  const names = [...tree.keys()].filter(
    (name) => fileBytes(tree, name).length > 0 && !isLock(name),
  );
  for (let swaps = 0; swaps < count; swaps += 1) {
    const [firstName = "", secondName = ""] = shuffle(names, random);
    const [firstBytes, secondBytes] = [fileBytes(tree, firstName), fileBytes(tree, secondName)];
    const first = randomBelow(random, Math.ceil(firstBytes.length / SECTOR));
    const second = randomBelow(random, Math.ceil(secondBytes.length / SECTOR));
    const firstReplaced = replaceInode(
      tree,
      firstName,
      putSector(firstBytes, first, readSector(secondBytes, second)),
    );
    yield {
      description: `sector ${first} of ${firstName} and sector ${second} of ${secondName} swapped`,
      files: [firstName, secondName],
      tree: replaceInode(
        firstReplaced,
        secondName,
        putSector(secondBytes, second, readSector(firstBytes, first)),
      ),
    };
  }
}

const isLock = (name: string): boolean => LOCK_FILES.has(name);

/** Removes all states and damages the journal: this must not be mistaken for a first start. */
function* removeStates(tree: FileTree, random: Random, count: number): Generator<DamagedFolder> {
  const states = [...tree.keys()].filter((name) => name.startsWith("state"));
  const withoutStates = withoutFiles(tree, ...states);
  const files = [
    ...states,
    ...[...withoutStates.keys()].filter((name) => name.startsWith("journal")),
  ];
  yield { description: "every state removed", files, tree: withoutStates };
  for (const name of files.slice(states.length)) {
    const before = fileBytes(tree, name);
    if (before.length === 0) continue;
    const randomEdits = Array.from({ length: count / 16 }, () => randomEdit(before, random));
    for (const edit of [...damageEachLine(before), ...randomEdits]) {
      const description = `every state removed and ${name} ${edit.description}`;
      yield { description, files, tree: applyEdit(withoutStates, name, edit) };
    }
  }
}

/** Random bits would often miss the first line, which tells a first start from a lost state. */
function* damageEachLine(before: Bytes): Generator<FileEdit> {
  for (let from = 0, feed = before.indexOf(LF); feed >= 0; feed = before.indexOf(LF, from)) {
    yield flipBit(before, Math.floor((from + feed) / 2) * 8);
    from = feed + 1;
  }
}

function randomEdit(before: Bytes, random: Random): FileEdit {
  const sectors = Math.ceil(before.length / SECTOR);
  if (sectors === 0) return { description: "with a zero in it", bytes: new Uint8Array(1) };
  switch (randomBelow(random, 5)) {
    case 0:
      return cutTo(before, randomBelow(random, before.length));
    case 1: {
      const sector = randomBelow(random, sectors);
      return zeroSectors(before, sector, sector + 1);
    }
    case 2:
      return REMOVED;
    default:
      return flipBit(before, randomBelow(random, before.length * 8));
  }
}

/** A sector that goes beyond the end of the file is filled with zeros. */
function readSector(bytes: Bytes, sector: number): Bytes {
  const content = new Uint8Array(SECTOR);
  content.set(bytes.subarray(sector * SECTOR, (sector + 1) * SECTOR));
  return content;
}

function putSector(before: Bytes, sector: number, content: Bytes): Bytes {
  const bytes = before.slice();
  bytes.set(content.subarray(0, bytes.length - sector * SECTOR), sector * SECTOR);
  return bytes;
}

/** All pairs if there are at most `limit`, else a random choice of them. */
function choosePairs(count: number, random: Random, limit: number): [number, number][] {
  const pairs: [number, number][] = [];
  for (let first = 0; first < count; first += 1) {
    for (let second = first + 1; second < count; second += 1) pairs.push([first, second]);
  }
  return pairs.length <= limit ? pairs : shuffle(pairs, random).slice(0, limit);
}

function shuffle<T>(items: readonly T[], random: Random): T[] {
  const rest = [...items];
  return items.flatMap(() => rest.splice(randomBelow(random, rest.length), 1));
}
