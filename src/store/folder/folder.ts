import { dirname, join, resolve } from "node:path";
import { emptyState } from "../../domain/evolve/evolve.ts";
import type { DataFolderKind } from "../../domain/model/state.ts";
import { instant, type Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { writeAll } from "../../platform/files/files.ts";
import {
  generationName,
  listGenerations,
  AUDIT_FOLDER,
  segmentName,
  listSegments,
  STATE_FILE,
} from "./files.ts";
import { encodeLine, genesisHead, scanSegment } from "../journal/journal.ts";
import { loadFolder, makeLastBatchDurable, type LoadedFolder } from "./load.ts";
import { stopOrphanCheckpoint, lockFolder, type FolderLock, type LockHolder } from "./lock.ts";
import { FolderRefused, FormatRefused } from "./refusal.ts";
import {
  NO_RECOVERY_HINT,
  findRecoveryHint,
  readState,
  type ReplayOptions,
} from "../journal/replay.ts";
import type { SignatureCheck } from "../state/signature-check.ts";
import { finishRestore, hasUnfinishedRestore } from "./restore-steps.ts";
import { emptyAuditLogEnd, STATE_FORMAT } from "../state/snapshot.ts";
import { encodeSnapshot } from "../state/state-rows.ts";
import { StateFile } from "../state/state-file.ts";
import { StateFormat } from "../state/state-format.ts";
import { removeUnfinishedCheckpoint } from "../checkpoint/unfinished-checkpoint.ts";

export interface OpenedFolder extends Omit<LoadedFolder, "format"> {
  readonly lock: FolderLock;
  readonly format: StateFormat;
}

export interface FolderOptions extends ReplayOptions {
  readonly disk: Disk;
  readonly folder: string;
  /** The required kind of folder; null: either. */
  readonly kind: DataFolderKind | null;
  /** Whether an empty folder is made into a data folder. */
  readonly create: boolean;
  readonly uid: number;
  /** What the folder is locked for; default: a server. */
  readonly holder?: LockHolder;
  readonly now: (mark: Instant, jumps: readonly []) => Instant;
  /** Returns the appliance id, which is created before anything else on a first start. */
  readonly identify: () => Promise<string>;
  /**
   * Throws if this is not the appliance that created the folder, or if the folder may not be served
   * now.
   */
  readonly recognize?: (appliance: string) => void | Promise<void>;
  readonly checkSignatures?: SignatureCheck | undefined;
  /** Whether a state of an older format is rewritten in the current format. */
  readonly migrateOnOpen?: boolean;
}

/** Locks the folder for this process and checks whether its contents can be served. */
export async function openFolder(options: FolderOptions): Promise<OpenedFolder> {
  const { disk, folder, kind } = options;
  await refuseUnknownFormat(disk, folder);
  const { lock, notes } = await acquireFolder(options);
  try {
    const existing = await loadFolder(disk, folder, options.checkSignatures, options);
    const loaded = existing ?? (await createOnFirstStart(options));
    const actualKind = loaded.state.kind;
    if (kind !== null && kind !== actualKind) throw wrongKind(folder, kind, actualKind);
    await options.recognize?.(loaded.state.appliance);
    removeUnfinishedCheckpoint(disk, folder, loaded.head.auditSeq);
    await makeLastBatchDurable(disk, folder, loaded);
    const format = new StateFormat(disk, folder, loaded.format);
    if (options.migrateOnOpen === true) await format.migrateOrRefuse();
    return { ...loaded, format, lock, notes: [...notes, ...loaded.notes] };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/** Locks the folder for this process, whatever it contains, and finishes interrupted work in it. */
export async function acquireFolder({
  disk,
  folder,
  create,
  uid,
  holder,
}: Pick<FolderOptions, "disk" | "folder" | "create" | "uid" | "holder">): Promise<{
  readonly lock: FolderLock;
  readonly notes: readonly string[];
}> {
  if (create) disk.makeFolder(folder);
  if (isEmptyFolder(disk, folder)) {
    if (!create) throw notDataFolder(folder);
    if (hasForeignFiles(disk, folder)) throw notEmptyFolder(folder);
  }
  const notes = restrictPermissions(disk, folder, uid);
  const lock = await lockFolder(disk, folder, holder);
  try {
    await stopOrphanCheckpoint(disk, folder);
    const finished = await finishRestore(disk, folder);
    if (finished !== null) {
      const location =
        finished.replaced === null ? "" : `; the previous contents are in ${finished.replaced}`;
      notes.push(`an interrupted restore was finished${location}`);
    }
    return { lock, notes };
  } catch (error) {
    lock.release();
    throw error;
  }
}

/**
 * A folder of another version is not touched at all: no lock, no mode, no interrupted work. Damage,
 * which can change the number too, is reported later.
 */
async function refuseUnknownFormat(disk: Disk, folder: string): Promise<void> {
  const file = new StateFile(disk, folder);
  try {
    if ([STATE_FORMAT, null].includes(file.writtenFormat)) return;
    await readState(disk, folder, file);
  } catch (error) {
    const isDamage = error instanceof FolderRefused && !(error instanceof FormatRefused);
    if (!isDamage && errorCode(error) !== "EISDIR") throw error;
  }
}

export const isEmptyFolder = (disk: Disk, folder: string): boolean =>
  disk.stat(join(folder, STATE_FILE)) === null &&
  listSegments(disk, folder).length === 0 &&
  listGenerations(disk, folder).length === 0 &&
  !hasUnfinishedRestore(disk, folder);

/** Files that may already exist in a folder that was prepared for berth. */
const ALLOWED_NAMES = [
  /^\./,
  /^(?:lost\+found|history|downloads|backups|demo|tls|berth\.sock|restore\.new)$/,
  /^(?:access|settings|shared-files)\.json$/,
  /^pair-request\.json$/,
  /^(?:.*\.)?lock$/,
  /^(?:identity|state)\.j/,
  /^replaced-/,
];

/**
 * Changing the mode of a folder with other files, or writing into it, would surprise its users. The
 * folder is checked again last: an unknown file may come from another first start at the same time.
 */
const hasForeignFiles = (disk: Disk, folder: string): boolean =>
  disk.list(folder).some((name) => !ALLOWED_NAMES.some((pattern) => pattern.test(name))) &&
  isEmptyFolder(disk, folder);

const GROUP_AND_OTHERS = 0o077;

function restrictPermissions(disk: Disk, folder: string, uid: number): string[] {
  const stat = disk.stat(folder);
  if (stat === null || (stat.mode & GROUP_AND_OTHERS) === 0) return [];
  const hasContents = !isEmptyFolder(disk, folder);
  const mode = stat.mode.toString(8).padStart(4, "0");
  if (stat.uid !== uid) {
    throw new FolderRefused(
      `${folder} can be read by other users (mode ${mode}) and belongs to another user (uid ${stat.uid})`,
      `run as its owner: chmod 700 ${folder}`,
    );
  }
  disk.setMode(folder, 0o700);
  // An empty folder had nothing that others could have read.
  if (!hasContents) return [];
  return [`${folder} could be read by other users (mode ${mode}); its mode is now 0700`];
}

/**
 * Writes the journal first, then the state. So a journal without a state that contains only
 * `Created` can only be an interrupted first start, which is begun again.
 */
async function createOnFirstStart(options: FolderOptions): Promise<LoadedFolder> {
  const { disk, folder, kind, create } = options;
  const segments = listSegments(disk, folder);
  const leftoverSegment = segments.length === 1 && segments[0]?.number === 1 ? segments[0] : null;
  const isInterruptedStart =
    leftoverSegment !== null && containsOnlyCreated(disk, leftoverSegment.path);
  if (listGenerations(disk, folder).length > 0 || (segments.length > 0 && !isInterruptedStart)) {
    const path = join(folder, STATE_FILE);
    throw new FolderRefused(
      `${path} is missing, but its journal exists`,
      (await findRecoveryHint(disk, folder, path)) ?? NO_RECOVERY_HINT,
    );
  }
  if (!create || kind === null) throw notDataFolder(folder);
  if (leftoverSegment !== null) disk.remove(leftoverSegment.path);
  await syncParentFolder(disk, folder);
  await writeNewFolder(disk, folder, kind, await options.identify(), options.now(instant(0), []));
  const loaded = await loadFolder(disk, folder);
  if (loaded === null) throw new Error("the data folder was created but does not exist");
  return loaded;
}

/** The folder's own name must survive a power cut, too. */
async function syncParentFolder(disk: Disk, folder: string): Promise<void> {
  try {
    await disk.syncFolder(dirname(resolve(folder)));
  } catch (error) {
    // If the parent cannot be read, this process did not create the folder in it.
    if (errorCode(error) !== "EACCES") throw error;
  }
}

async function writeNewFolder(
  disk: Disk,
  folder: string,
  kind: DataFolderKind,
  appliance: string,
  at: Instant,
): Promise<void> {
  disk.makeFolder(join(folder, AUDIT_FOLDER));
  const journal = disk.open(join(folder, segmentName(1)));
  try {
    const { text } = encodeLine(genesisHead, null, at, [{ type: "Created", at, kind, appliance }]);
    writeAll(journal, Buffer.from(text));
    await journal.sync();
  } finally {
    journal.close();
  }
  await disk.syncFolder(folder);
  const empty = encodeSnapshot(emptyState(kind), genesisHead, emptyAuditLogEnd);
  await new StateFile(disk, folder).write(empty, null);
  // A generation exists from the start, so that there is always one to go back to.
  await new StateFile(disk, folder, generationName(0)).write(empty, null);
}

/** Anything after the first line, intact or damaged, cannot come from a first start alone. */
function containsOnlyCreated(disk: Disk, path: string): boolean {
  const bytes = readUnlessFolder(disk, path);
  if (bytes === null) return false;
  const lineEnd = bytes.indexOf(LF);
  if (lineEnd >= 0 && lineEnd + 1 < bytes.length) return false;
  const types: string[] = [];
  scanSegment(bytes, genesisHead, ({ events }) => types.push(...events.map(({ type }) => type)));
  return types.length === 0 || (types.length === 1 && types[0] === "Created");
}

const LF = 10;

/** Null: the path is a folder. */
function readUnlessFolder(disk: Disk, path: string): Uint8Array<ArrayBuffer> | null {
  try {
    return disk.read(path) ?? new Uint8Array();
  } catch (error) {
    if (errorCode(error) === "EISDIR") return null;
    throw error;
  }
}

export function notDataFolder(folder: string): FolderRefused {
  return new FolderRefused(
    `${folder} is not a data folder`,
    "specify the server's folder with --data DIR; berth serve creates a new one",
  );
}

function notEmptyFolder(folder: string): FolderRefused {
  return new FolderRefused(
    `${folder} contains other files and is not a data folder`,
    "specify a new or an empty folder with --data DIR",
  );
}

function wrongKind(
  folder: string,
  requiredKind: DataFolderKind,
  actualKind: DataFolderKind,
): FolderRefused {
  const command = { site: "berth serve", demo: "berth demo" };
  return new FolderRefused(
    `${folder} was created by ${command[actualKind]} and cannot be used by ${command[requiredKind]}`,
    `specify another folder with --data DIR, or run ${command[actualKind]}`,
  );
}
