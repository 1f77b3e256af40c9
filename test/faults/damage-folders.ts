// Everything a disk, a slip of the shell or a bad copy does to the files of a data folder.
import { bytesOf, inPlace, isSame, joined, LOCKS, replaced, without } from "./tree.ts";
import type { Bytes, Tree } from "./tree.ts";

export interface DamagedFolder {
  /** What was done, in words that suffice to do it again. */
  readonly what: string;
  /** The files it was done to. */
  readonly files: readonly string[];
  readonly tree: Tree;
}

/** How much of each kind; what there is less of is done in full. */
export interface Amounts {
  /** Of each file. */
  readonly flips: number;
  /** Up to this size a file is cut at every length. */
  readonly everyLength: number;
  readonly swaps: number;
  readonly pairs: number;
}

interface Edit {
  readonly what: string;
  /** Null: there is no file any more. */
  readonly bytes: Bytes | null;
}

const REMOVED: Edit = { what: "removed", bytes: null };

const edited = (tree: Tree, name: string, { bytes }: Edit): Tree =>
  bytes === null ? without(tree, name) : inPlace(tree, name, bytes);

const SECTOR = 512;
const LF = 10;

type Random = () => number;

const below = (random: Random, limit: number): number => Math.floor(random() * limit);

/**
 * The folder damaged in one place after the other, then in two at once. `others` are trees whose
 * files can be taken for these: older ones of the same folder, and another folder's.
 */
export function* damagedFolders(
  tree: Tree,
  others: Readonly<Record<string, Tree>>,
  random: Random,
  amounts: Amounts,
): Generator<DamagedFolder> {
  const names = [...tree.keys()].toSorted();
  for (const name of names) {
    const before = bytesOf(tree, name);
    for (const edit of edits(before, random, amounts)) {
      if (edit.bytes !== null && isSame(edit.bytes, before)) continue;
      yield { what: `${name} ${edit.what}`, files: [name], tree: edited(tree, name, edit) };
    }
    for (const [what, bytes] of strangersFor(name, tree, others)) {
      if (isSame(bytes, before)) continue;
      const instead = replaced(tree, name, bytes);
      yield { what: `${name} replaced by ${what}`, files: [name], tree: instead };
    }
  }
  yield* swapsBetween(tree, random, amounts.swaps);
  yield* stateless(tree, random, amounts.flips);
  for (let count = 0; count < amounts.pairs; count += 1) {
    const [one, other] = shuffled(names, random);
    if (one === undefined || other === undefined) return;
    const first = oneEdit(bytesOf(tree, one), random);
    const second = oneEdit(bytesOf(tree, other), random);
    yield {
      what: `${one} ${first.what} and ${other} ${second.what}`,
      files: [one, other],
      tree: edited(edited(tree, one, first), other, second),
    };
  }
}

/** What can happen within one file. */
function* edits(before: Bytes, random: Random, amounts: Amounts): Generator<Edit> {
  for (const length of lengths(before, amounts.everyLength)) yield cutTo(before, length);
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
    yield { what, bytes: putSector(bytes, other, sectorOf(before, one)) };
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

const cutTo = (before: Bytes, length: number): Edit => ({
  what: `cut to ${length} bytes`,
  bytes: before.slice(0, length),
});

function flipped(before: Bytes, bit: number): Edit {
  const bytes = before.slice();
  bytes[bit >> 3] = (bytes[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return { what: `with bit ${bit & 7} of byte ${bit >> 3} flipped`, bytes };
}

function zeroed(before: Bytes, from: number, to: number): Edit {
  const bytes = before.slice();
  bytes.fill(0, from * SECTOR, to * SECTOR);
  return { what: `with sectors ${from} to ${to - 1} zeroed`, bytes };
}

/** What a hand does in an editor: every line whole, and not all of them where they were. */
function* lineEdits(before: Bytes): Generator<Edit> {
  const text = Buffer.from(before).toString("latin1").replaceAll("\n", "\r\n");
  yield { what: "with CR LF line ends", bytes: new Uint8Array(Buffer.from(text, "latin1")) };
  const lines: Bytes[] = [];
  for (let from = 0, feed = before.indexOf(LF); feed >= 0; feed = before.indexOf(LF, from)) {
    lines.push(before.slice(from, feed + 1));
    from = feed + 1;
  }
  for (const [at, line] of lines.entries()) {
    yield { what: `with line ${at} left out`, bytes: joined(...lines.toSpliced(at, 1)) };
    yield { what: `with line ${at} twice`, bytes: joined(...lines.toSpliced(at, 0, line)) };
    const next = lines.slice(at, at + 2).toReversed();
    yield {
      what: `with line ${at} after the next`,
      bytes: joined(...lines.toSpliced(at, 2, ...next)),
    };
  }
}

/** Grown by what a crash, a stuck editor or a doubled write leaves behind. */
function* appended(before: Bytes, random: Random): Generator<Edit> {
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
    yield { what: `followed by ${what}`, bytes: joined(before, tail) };
  }
}

/** What else could lie under that name. */
function* strangersFor(
  name: string,
  tree: Tree,
  others: Readonly<Record<string, Tree>>,
): Generator<[string, Bytes]> {
  const kind = kindOf(name);
  for (const other of tree.keys()) {
    if (other !== name && kindOf(other) === kind) yield [other, bytesOf(tree, other)];
  }
  for (const [whose, files] of Object.entries(others)) {
    for (const other of files.keys()) {
      if (kindOf(other) !== kind) continue;
      yield [`${other} of ${whose}`, bytesOf(files, other)];
    }
  }
}

const kindOf = (name: string): string => name.replaceAll(/[-\d]/g, "").replace(/\.new$/, "");

function* swapsBetween(tree: Tree, random: Random, count: number): Generator<DamagedFolder> {
  const names = [...tree.keys()].filter((name) => bytesOf(tree, name).length > 0 && !isLock(name));
  for (let done = 0; done < count; done += 1) {
    const [one = "", other = ""] = shuffled(names, random);
    const [a, b] = [bytesOf(tree, one), bytesOf(tree, other)];
    const first = below(random, Math.ceil(a.length / SECTOR));
    const second = below(random, Math.ceil(b.length / SECTOR));
    const once = inPlace(tree, one, putSector(a, first, sectorOf(b, second)));
    yield {
      what: `sector ${first} of ${one} and ${second} of ${other} swapped`,
      files: [one, other],
      tree: inPlace(once, other, putSector(b, second, sectorOf(a, first))),
    };
  }
}

const isLock = (name: string): boolean => LOCKS.has(name);

/** No state of any age is left, and the journal is damaged: not to be taken for a first start. */
function* stateless(tree: Tree, random: Random, count: number): Generator<DamagedFolder> {
  const states = [...tree.keys()].filter((name) => name.startsWith("state"));
  const bare = without(tree, ...states);
  const files = [...states, ...[...bare.keys()].filter((name) => name.startsWith("journal"))];
  yield { what: "every state removed", files, tree: bare };
  for (const name of files.slice(states.length)) {
    if (bytesOf(tree, name).length === 0) continue;
    for (let done = 0; done < count / 16; done += 1) {
      const edit = oneEdit(bytesOf(tree, name), random);
      const what = `every state removed and ${name} ${edit.what}`;
      yield { what, files, tree: edited(bare, name, edit) };
    }
  }
}

function oneEdit(before: Bytes, random: Random): Edit {
  const sectors = Math.ceil(before.length / SECTOR);
  if (sectors === 0) return { what: "with a zero in it", bytes: new Uint8Array(1) };
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
