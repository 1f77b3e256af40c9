import { wallClock } from "../platform/clock.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { Ledger } from "./ledger/ledger.ts";
import { LEDGER_FILE } from "./ledger/ledger-lines.ts";
import { dirname, join } from "node:path";
import type { Disk, OpenFile } from "../platform/files/disk.ts";
import { writeAll } from "../platform/files/files.ts";
import { randomBytes } from "../platform/crypto/random.ts";
import { BACKUP_KIND, BACKUP_VERSION } from "./desk-backup.ts";
import { isDeskFile, listPresets, PRESETS_FOLDER } from "./desk-files.ts";
import { readDeskTrust } from "./desk-records.ts";
import { DeskFormatRefused, DeskRefused } from "./desk-refused.ts";
import { LineReader } from "./ledger/line-reader.ts";
import { TRUST_FILE } from "./trust-document.ts";

/** What the first line of a backup says. */
interface BackupHead {
  readonly made_at: string;
  readonly vendor: string;
}

/** In the order of the backup. The hash of a file is checked before its `end`. */
type BackupPart =
  | { readonly type: "head"; readonly head: BackupHead }
  | { readonly type: "file"; readonly name: string }
  | { readonly type: "bytes"; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly type: "end" };

/** Reads a backup part by part, and checks it. */
function* readDeskBackup(disk: Disk, path: string): Generator<BackupPart> {
  refuseOtherFile(disk, path);
  const reader = new LineReader(disk, path);
  let file: BackedUpFile | null = null;
  let [count, isComplete, isFirst] = [0, false, true];
  for (const { bytes: line } of reader) {
    const isText = line[0] !== BRACE;
    if (isFirst) {
      yield { type: "head", head: parseHead(line) };
      isFirst = false;
    } else if (file !== null && isText) {
      const bytes = new Uint8Array(Buffer.from(line.toString("latin1"), "base64"));
      file.hash.update(bytes);
      file.rest -= bytes.length;
      yield { type: "bytes", bytes };
    } else if (file !== null) {
      const { sha256 } = parseLine(line);
      if (file.rest !== 0 || sha256 !== file.hash.digest("hex")) throw damaged(file.name);
      file = null;
      count += 1;
      yield { type: "end" };
    } else {
      const { name, size, files } = parseLine(line);
      if (isComplete || (files !== undefined && files !== count)) throw damaged("its end");
      isComplete = files !== undefined;
      if (isComplete) continue;
      if (typeof name !== "string" || typeof size !== "number") throw damaged(`file ${count + 1}`);
      file = { name, rest: size, hash: new Bun.SHA256() };
      yield { type: "file", name };
    }
  }
  if (!isComplete || reader.rest > 0) throw damaged(file?.name ?? "its end");
}

interface BackedUpFile {
  readonly name: string;
  rest: number;
  readonly hash: Bun.SHA256;
}

const BRACE = 0x7b;
const HEAD_BYTES = 4_096;

/** Before a line is read: another file may be a single line of any length. */
function refuseOtherFile(disk: Disk, path: string): void {
  const start = new TextDecoder().decode(disk.readPart(path, 0, HEAD_BYTES) ?? new Uint8Array());
  const version = /^\{\s*"kind":\s*"berth-desk-backup",\s*"version":\s*(\d+)/.exec(start)?.[1];
  if (version === undefined) throw notBackup();
  if (Number(version) === BACKUP_VERSION) return;
  throw new DeskFormatRefused(
    `this backup of a desk has version ${version}; this version of berth reads version ${BACKUP_VERSION}`,
    "use the version of berth that wrote it",
  );
}

function parseHead(line: Buffer): BackupHead {
  const { kind, made_at, vendor } = parseLine(line);
  if (kind !== BACKUP_KIND || typeof made_at !== "string" || typeof vendor !== "string")
    throw notBackup();
  return { made_at, vendor };
}

function parseLine(line: Buffer): Readonly<Record<string, unknown>> {
  try {
    return (JSON.parse(line.toString()) ?? {}) as Readonly<Record<string, unknown>>;
  } catch {
    throw damaged("a line that is not JSON");
  }
}

const notBackup = (): DeskRefused =>
  new DeskRefused("the file is not a backup of a desk", "berth vendor backup FILE creates one");

const damaged = (where: string): DeskRefused =>
  new DeskRefused(`the backup is damaged at ${where}`, "use another copy of the backup");

/** Reads the whole backup and checks it; returns the number of its files. */
export function countBackedUpFiles(disk: Disk, path: string): number {
  let count = 0;
  for (const { type } of readDeskBackup(disk, path)) count += type === "file" ? 1 : 0;
  return count;
}

export interface RestoredDesk extends BackupHead {
  /** Files that do not belong to a desk. */
  readonly leftOut: readonly string[];
}

/**
 * Restores into a folder that is empty or does not exist. Writes to a temporary folder first, so
 * that the desk appears complete or not at all.
 */
export async function restoreDesk(
  disk: Disk,
  folder: string,
  backup: string,
): Promise<RestoredDesk> {
  if (disk.stat(folder) !== null && disk.list(folder).length > 0) {
    throw new DeskRefused(`${folder} is not empty`, "specify a new folder with --dir DIR");
  }
  const temporary = `${folder}.${randomBytes(8)}.new`;
  disk.makeFolder(temporary);
  try {
    const { names, ...restored } = await writeFiles(disk, temporary, backup);
    if (!names.has(TRUST_FILE)) {
      throw new DeskRefused(
        `the backup does not contain ${TRUST_FILE}`,
        "use another backup of the desk",
      );
    }
    await readDeskTrust(disk, temporary);
    await recordRestore(disk, temporary, restored);
    if (disk.stat(folder) !== null) disk.removeFolder(folder);
    disk.rename(temporary, folder);
    await disk.syncFolder(dirname(folder));
    return restored;
  } catch (error) {
    if (disk.stat(temporary) !== null) removeDesk(disk, temporary);
    throw error;
  }
}

/** The ledger lacks what was issued since. One that is damaged signs nothing: it gets no line. */
async function recordRestore(disk: Disk, folder: string, { made_at }: BackupHead): Promise<void> {
  try {
    const ledger = await Ledger.open(disk, folder);
    const cause = `it was restored from a backup of ${made_at}`;
    await ledger.transact((append) =>
      append({ type: "restored", at: rfc3339(wallClock()), cause }),
    );
    disk.remove(join(folder, `${LEDGER_FILE}.lock`));
  } catch (error) {
    if (!(error instanceof DeskRefused)) throw error;
  }
}

async function writeFiles(disk: Disk, folder: string, backup: string) {
  const names = new Set<string>();
  const leftOut: string[] = [];
  let head: BackupHead = { made_at: "", vendor: "" };
  let file: OpenFile | null = null;
  try {
    for (const part of readDeskBackup(disk, backup)) {
      if (part.type === "head") ({ head } = part);
      if (part.type === "bytes" && file !== null) writeAll(file, part.bytes);
      if (part.type === "file" && !isDeskFile(part.name)) leftOut.push(part.name);
      else if (part.type === "file") {
        if (names.has(part.name)) throw damaged(part.name);
        names.add(part.name);
        const path = join(folder, part.name);
        disk.makeFolder(dirname(path));
        file = disk.open(path, "new");
      }
      if (part.type === "end") {
        await file?.sync();
        file?.close();
        file = null;
      }
    }
  } finally {
    file?.close();
  }
  if (disk.stat(join(folder, PRESETS_FOLDER)) !== null)
    await disk.syncFolder(join(folder, PRESETS_FOLDER));
  await disk.syncFolder(folder);
  return { ...head, leftOut, names };
}

function removeDesk(disk: Disk, folder: string): void {
  const presets = join(folder, PRESETS_FOLDER);
  for (const name of listPresets(disk, folder)) disk.remove(join(presets, name));
  if (disk.stat(presets) !== null) disk.removeFolder(presets);
  for (const name of disk.list(folder)) disk.remove(join(folder, name));
  disk.removeFolder(folder);
}
