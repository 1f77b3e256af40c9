// What a bad disk does to a folder at rest, tried on a copy of it: a bit flips, or a sector is what
// it was before. A start must find out and name the file, or stand exactly where it would have.
import { basename, join } from "node:path";
import { FolderRefused } from "../../../src/store/refusal.ts";
import { decodeLine, type JournalLine } from "../../../src/store/journal.ts";
import type { Store } from "../../../src/store/store.ts";
import type { SeededRandom } from "../../support/seeded-random.ts";
import type { SimulatedDisk } from "./simulated-disk.ts";
import { SECTOR, type SimulatedFile } from "./simulated-file.ts";
import { assertPromise, describeDifference, type SimulationFigures } from "./promises.ts";
import { checkAuditLog, listSegments } from "./audit-log-check.ts";
import { serializeState, type ReferenceModel } from "./reference-model.ts";

export interface DamageTrial {
  readonly disk: SimulatedDisk;
  readonly folder: string;
  readonly reference: ReferenceModel;
  readonly random: SeededRandom;
  readonly figures: SimulationFigures;
  /** Opens the copy as a server would. */
  readonly open: () => Promise<Store>;
  /** Whether there must be a generation to go back to. */
  readonly hasGeneration: boolean;
}

interface AppliedDamage {
  readonly path: string;
  readonly kind: "flip" | "stale";
  /** The bytes that are not what they were. */
  readonly from: number;
  readonly to: number;
  /** The file as it was. */
  readonly before: Uint8Array;
  /** Whether it is the segment that was being written. */
  readonly isNewest: boolean;
  /** Whether it holds what stood there once, as a write that never arrived leaves it. */
  readonly isOlderContent: boolean;
}

/** The copy must be one that starts with exactly what the reference holds. */
export async function tryDamage(trial: DamageTrial): Promise<void> {
  const damage = inflict(trial);
  if (damage === null) return;
  trial.figures[damage.kind === "flip" ? "flips" : "staleBlocks"] += 1;
  const said = `${damage.kind} of bytes ${damage.from} to ${damage.to} of ${damage.path}`;
  let store: Store;
  try {
    store = await trial.open();
  } catch (error) {
    assertPromise("damage", error instanceof FolderRefused, () => `${said}: ${String(error)}`);
    const refusal = error as FolderRefused;
    // Two names of one file are damaged together.
    const hit = trial.disk.findFile(damage.path);
    const names = [damage.path, join(trial.folder, "state.json")].some(
      (path) => trial.disk.findFile(path) === hit && refusal.message.includes(path),
    );
    assertPromise(
      "damage",
      names,
      () => `${said}: the refusal names another file: ${refusal.message}`,
    );
    trial.figures.damageRefused += 1;
    if (basename(damage.path) === "state.json") await goBack(trial, refusal.hint, said);
    return;
  }
  judge(trial, store, damage, said);
}

function judge(
  { disk, reference }: DamageTrial,
  store: Store,
  damage: AppliedDamage,
  said: string,
): void {
  const { seq, notes } = store.health();
  const [head, cut] = [reference.head.seq, mayBeCutTo(damage)];
  const noted = notes.some((note) => note.includes(damage.path));
  const allowed = seq === head || (seq === cut && noted);
  assertPromise("damage", allowed, () => {
    const may = cut === null ? "" : ` (or, with a note, ${cut})`;
    return `${said}: it started with line ${seq} as its last, not ${head}${may}; notes: ${notes.join("; ")}`;
  });
  if (!reference.canRebuildAt(seq)) return;
  const [found, wanted] = [store.peek(serializeState), serializeState(reference.stateAt(seq))];
  if (found !== wanted && isTakenBack(disk, damage)) return;
  assertPromise("damage", found === wanted, () => `${said}: ${describeDifference(found, wanted)}`);
}

/**
 * A last line that was written, taken back for want of room, and followed by another in its place,
 * which the disk has lost although it said otherwise: what is left is whole, and nothing behind it
 * could tell that there was another.
 */
function isTakenBack(
  disk: SimulatedDisk,
  { path, before, isNewest, isOlderContent }: AppliedDamage,
): boolean {
  if (!isNewest || !isOlderContent) return false;
  const [was, is] = [lastLine(before), lastLine(disk.findFile(path)?.bytes() ?? new Uint8Array())];
  return is !== null && was !== null && is.seq === was.seq && is.prev === was.prev;
}

/** Null when it is not whole. */
function lastLine(bytes: Uint8Array): JournalLine | null {
  const end = bytes.lastIndexOf(LF);
  const start = end <= 0 ? 0 : bytes.lastIndexOf(LF, end - 1) + 1;
  return end < 0 ? null : decodeLine(new Uint8Array(bytes.subarray(start, end)));
}

const LF = 10;

/** What the refusal says to do must bring everything back. */
async function goBack(trial: DamageTrial, hint: string, said: string): Promise<void> {
  const [, from, to] = /^cp -p '(\S+)' '(\S+)' # nothing is lost/.exec(hint) ?? [];
  if (from === undefined || to === undefined) {
    assertPromise("way back", !trial.hasGeneration, () => `${said}: ${hint}`);
    return;
  }
  const { disk, folder, reference, figures } = trial;
  const [kept, damaged] = [disk.findFile(from), disk.findFile(to)];
  damaged?.truncate(0);
  damaged?.append(kept?.bytes() ?? new Uint8Array());
  const store = await trial.open().catch((error: unknown) => {
    assertPromise("way back", false, () => `${said}: ${hint}: ${String(error)}`);
    throw error;
  });
  const [found, wanted] = [store.peek(serializeState), serializeState(reference.state)];
  assertPromise(
    "way back",
    found === wanted,
    () => `${said}: ${describeDifference(found, wanted)}`,
  );
  await store.close();
  checkAuditLog(disk, folder, reference);
  figures.waysBack += 1;
}

function inflict({ disk, folder, random }: DamageTrial): AppliedDamage | null {
  const path = victim(disk, folder, random);
  const file = path === null ? null : disk.findFile(path);
  if (path === null || file === null || file.size === 0) return null;
  const before = file.bytes();
  const isNewest = path === listSegments(disk, folder).at(-1);
  const kind = random.pick(["flip", "stale"] as const);
  const offset = random.intBelow(file.size);
  if (kind === "flip") {
    file.corrupt(offset, Uint8Array.of((before[offset] ?? 0) ^ (1 << random.intBelow(8))));
    return { path, kind, from: offset, to: offset + 1, before, isNewest, isOlderContent: false };
  }
  const place = Math.floor(offset / SECTOR);
  const start = place * SECTOR;
  const own = file.staleSector(place);
  const stale =
    own !== null && random.chance(0.7) ? own : foreignBytes(disk, folder, file, place, random);
  const bytes = stale.subarray(0, file.size - start);
  file.corrupt(start, bytes);
  const differs = [...bytes].map((byte, at) => byte !== before[start + at]);
  if (!differs.includes(true)) return null;
  const [from, to] = [start + differs.indexOf(true), start + differs.lastIndexOf(true) + 1];
  return { path, kind, from, to, before, isNewest, isOlderContent: stale === own };
}

/** What is read at a start, mostly. */
function victim(disk: SimulatedDisk, folder: string, dice: SeededRandom): string | null {
  const journal = listSegments(disk, folder);
  const all = [...(disk.findFolder(folder)?.files(folder) ?? [])].map(({ path }) => path);
  const choice = dice.pickWeighted({ state: 30, newest: 40, journal: 15, any: 15 });
  if (choice === "state") return join(folder, "state.json");
  if (choice === "newest") return journal.at(-1) ?? null;
  if (choice === "journal") return journal.length === 0 ? null : dice.pick(journal);
  return all.length === 0 ? null : dice.pick(all);
}

/** A sector that belongs elsewhere: another file's from before, or nothing. */
function foreignBytes(
  disk: SimulatedDisk,
  folder: string,
  file: SimulatedFile,
  place: number,
  dice: SeededRandom,
): Uint8Array {
  const others = [...(disk.findFolder(folder)?.files(folder) ?? [])].filter(
    (other) => other.file !== file && other.file.size >= (place + 1) * SECTOR,
  );
  if (others.length === 0 || dice.chance(0.3)) return new Uint8Array(SECTOR);
  const other = dice.pick(others).file.bytes();
  return other.slice(place * SECTOR, (place + 1) * SECTOR);
}

/**
 * The end of the newest segment may have been cut there by a power failure for all anybody can
 * tell, as long as no line of a later batch stands behind it. Returns what is left then; null when
 * it can be told.
 */
function mayBeCutTo({ isNewest, from, to, before }: AppliedDamage): number | null {
  if (!isNewest) return null;
  let first: number | null = null;
  for (let start = 0; start < before.length;) {
    const end = before.indexOf(10, start) + 1;
    const line = end === 0 ? null : lineIn(before.subarray(start, end));
    if (line === null) return first === null ? null : first - 1;
    if (first === null && end > from) first = line.seq;
    if (first !== null && start >= to && line.from > first) return null;
    start = end;
  }
  return first === null ? null : first - 1;
}

function lineIn(bytes: Uint8Array): JournalLine | null {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as JournalLine;
  } catch {
    return null;
  }
}
