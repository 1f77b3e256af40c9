// Damages a copy of a folder as a bad disk does: a bit flips, or a sector has older content. A
// start must detect it and name the file, or have exactly the state that it would have without
// damage.
import { basename, join } from "node:path";
import { FolderRefused } from "../../../src/store/folder/refusal.ts";
import { decodeLine, type JournalLine } from "../../../src/store/journal/journal.ts";
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
  /** Whether there must be a previous generation to recover from. */
  readonly hasGeneration: boolean;
}

interface AppliedDamage {
  readonly path: string;
  readonly kind: "flip" | "stale";
  /** The range of changed bytes. */
  readonly from: number;
  readonly to: number;
  /** The file's content before the damage. */
  readonly before: Uint8Array;
  /** Whether the file is the newest segment, which was being written. */
  readonly isNewest: boolean;
  /** Whether the bytes are older content of the same sector, as after a lost write. */
  readonly isOlderContent: boolean;
}

/** Without damage, the copy must start with exactly the state of the reference. */
export async function tryDamage(trial: DamageTrial): Promise<void> {
  const damage = applyDamage(trial);
  if (damage === null) return;
  trial.figures[damage.kind === "flip" ? "flips" : "staleBlocks"] += 1;
  const description = `${damage.kind} of bytes ${damage.from} to ${damage.to} of ${damage.path}`;
  let store: Store;
  try {
    store = await trial.open();
  } catch (error) {
    assertPromise(
      "damage",
      error instanceof FolderRefused,
      () => `${description}: ${String(error)}`,
    );
    const refusal = error as FolderRefused;
    // Damage affects all names of a file.
    const damagedFile = trial.disk.findFile(damage.path);
    const isFileNamed = [damage.path, join(trial.folder, "state.json")].some(
      (path) => trial.disk.findFile(path) === damagedFile && refusal.message.includes(path),
    );
    assertPromise(
      "damage",
      isFileNamed,
      () => `${description}: the refusal names another file: ${refusal.message}`,
    );
    trial.figures.damageRefused += 1;
    if (basename(damage.path) === "state.json")
      await checkRecovery(trial, refusal.hint, description);
    return;
  }
  checkState(trial, store, damage, description);
}

function checkState(
  { disk, reference }: DamageTrial,
  store: Store,
  damage: AppliedDamage,
  description: string,
): void {
  const { seq, notes } = store.status();
  const [head, cutSeq] = [reference.head.seq, lastSeqIfCut(damage)];
  const isNoted = notes.some((note) => note.includes(damage.path));
  const isAllowed = seq === head || (seq === cutSeq && isNoted);
  assertPromise("damage", isAllowed, () => {
    const alternative = cutSeq === null ? "" : ` (or, with a note, ${cutSeq})`;
    return `${description}: the last line after the start is ${seq}, not ${head}${alternative}; notes: ${notes.join("; ")}`;
  });
  if (!reference.canRebuildAt(seq)) return;
  const [found, expected] = [store.peek(serializeState), serializeState(reference.stateAt(seq))];
  if (found !== expected && isRefusedLine(disk, damage)) return;
  assertPromise(
    "damage",
    found === expected,
    () => `${description}: ${describeDifference(found, expected)}`,
  );
}

/**
 * Whether the last line is one that was written, then removed because the disk was full, and
 * replaced by another, which the disk lost although it had confirmed the sync. The old line is
 * intact, and nothing after it shows that there was another, so a start cannot detect this.
 */
function isRefusedLine(
  disk: SimulatedDisk,
  { path, before, isNewest, isOlderContent }: AppliedDamage,
): boolean {
  if (!isNewest || !isOlderContent) return false;
  const [lineBefore, lineAfter] = [
    lastLine(before),
    lastLine(disk.findFile(path)?.bytes() ?? new Uint8Array()),
  ];
  return (
    lineAfter !== null &&
    lineBefore !== null &&
    lineAfter.seq === lineBefore.seq &&
    lineAfter.prev === lineBefore.prev
  );
}

/** Null if the line is incomplete. */
function lastLine(bytes: Uint8Array): JournalLine | null {
  const end = bytes.lastIndexOf(LF);
  const start = end <= 0 ? 0 : bytes.lastIndexOf(LF, end - 1) + 1;
  return end < 0 ? null : decodeLine(new Uint8Array(bytes.subarray(start, end)));
}

const LF = 10;

/** Runs the command of the refusal's hint, which must restore the whole state. */
async function checkRecovery(trial: DamageTrial, hint: string, description: string): Promise<void> {
  const [, from, to] = /^cp -p '(\S+)' '(\S+)' # nothing is lost/.exec(hint) ?? [];
  if (from === undefined || to === undefined) {
    assertPromise("recovery", !trial.hasGeneration, () => `${description}: ${hint}`);
    return;
  }
  const { disk, folder, reference, figures } = trial;
  const [source, target] = [disk.findFile(from), disk.findFile(to)];
  target?.truncate(0);
  target?.append(source?.bytes() ?? new Uint8Array());
  const store = await trial.open().catch((error: unknown) => {
    assertPromise("recovery", false, () => `${description}: ${hint}: ${String(error)}`);
    throw error;
  });
  const [found, expected] = [store.peek(serializeState), serializeState(reference.state)];
  assertPromise(
    "recovery",
    found === expected,
    () => `${description}: ${describeDifference(found, expected)}`,
  );
  await store.close();
  checkAuditLog(disk, folder, reference);
  figures.recoveries += 1;
}

function applyDamage({ disk, folder, random }: DamageTrial): AppliedDamage | null {
  const path = pickFile(disk, folder, random);
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
  const sector = Math.floor(offset / SECTOR);
  const start = sector * SECTOR;
  const previousContent = file.staleSector(sector);
  const stale =
    previousContent !== null && random.chance(0.7)
      ? previousContent
      : foreignBytes(disk, folder, file, sector, random);
  const bytes = stale.subarray(0, file.size - start);
  file.corrupt(start, bytes);
  const isDifferent = [...bytes].map((byte, index) => byte !== before[start + index]);
  if (!isDifferent.includes(true)) return null;
  const [from, to] = [start + isDifferent.indexOf(true), start + isDifferent.lastIndexOf(true) + 1];
  return { path, kind, from, to, before, isNewest, isOlderContent: stale === previousContent };
}

/** Picks a file, mostly one that a start reads. */
function pickFile(disk: SimulatedDisk, folder: string, random: SeededRandom): string | null {
  const journal = listSegments(disk, folder);
  const all = [...(disk.findFolder(folder)?.files(folder) ?? [])].map(({ path }) => path);
  const choice = random.pickWeighted({ state: 30, newest: 40, journal: 15, any: 15 });
  if (choice === "state") return join(folder, "state.json");
  if (choice === "newest") return journal.at(-1) ?? null;
  if (choice === "journal") return journal.length === 0 ? null : random.pick(journal);
  return all.length === 0 ? null : random.pick(all);
}

/** A sector of another file, or zeros. */
function foreignBytes(
  disk: SimulatedDisk,
  folder: string,
  file: SimulatedFile,
  sector: number,
  random: SeededRandom,
): Uint8Array {
  const others = [...(disk.findFolder(folder)?.files(folder) ?? [])].filter(
    (other) => other.file !== file && other.file.size >= (sector + 1) * SECTOR,
  );
  if (others.length === 0 || random.chance(0.3)) return new Uint8Array(SECTOR);
  const other = random.pick(others).file.bytes();
  return other.slice(sector * SECTOR, (sector + 1) * SECTOR);
}

/**
 * Damage at the end of the newest segment can look like a write that a power cut interrupted,
 * unless a line of a later batch follows it. Returns the last line that is left then; null if the
 * damage can be told from a power cut.
 */
function lastSeqIfCut({ isNewest, from, to, before }: AppliedDamage): number | null {
  if (!isNewest) return null;
  let first: number | null = null;
  for (let start = 0; start < before.length;) {
    const end = before.indexOf(LF, start) + 1;
    const line = end === 0 ? null : parseLine(before.subarray(start, end));
    if (line === null) return first === null ? null : first - 1;
    if (first === null && end > from) first = line.seq;
    if (first !== null && start >= to && line.from > first) return null;
    start = end;
  }
  return first === null ? null : first - 1;
}

function parseLine(bytes: Uint8Array): JournalLine | null {
  try {
    return JSON.parse(Buffer.from(bytes).toString("utf8")) as JournalLine;
  } catch {
    return null;
  }
}
