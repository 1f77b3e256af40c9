import { join } from "node:path";
import type { Disk, FileIdentity, FileLock, FolderHandle } from "../platform/disk.ts";
import { isRunning, describeProcess, killProcess } from "../platform/processes.ts";
import { CHECKPOINT_LOCK_FILE, FOLDER_LOCK_FILE } from "./files.ts";

const LOCK_TIMEOUT = 10_000;
/** Longer than it takes a server to make a lock file again that was removed. */
const NOTE_TIMEOUT = 5_000;
const POLL_INTERVAL = 10;

/** Another process works on the folder; nothing is wrong with it. */
export class FolderBusy extends Error {
  override readonly name = "FolderBusy";
  readonly hint: string;

  constructor(
    message: string,
    hint = "stop that process, or specify another folder with --data DIR",
  ) {
    super(message);
    this.hint = hint;
  }
}

/** What a process takes a folder for: a server keeps it, a command has it for a moment. */
export type LockHolder = "server" | "command";

/**
 * Two locks: of the folder itself, which nobody can remove without removing the folder, and of a
 * file in it, which says who the holder is. Versions that lock the file alone are kept out, too.
 */
export class FolderLock {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #holder: LockHolder;
  readonly #folder: FolderHandle;
  #file: FileLock;

  /** Null when another process has one of them. */
  static tryAcquire(disk: Disk, folder: string, holder: LockHolder): FolderLock | null {
    const path = join(folder, FOLDER_LOCK_FILE);
    const handle = disk.lockFolder(folder);
    if (handle === null) return null;
    try {
      const file = lockFile(disk, path, holder);
      if (file !== null) return new FolderLock(disk, path, holder, handle, file);
    } catch (error) {
      handle.release();
      throw error;
    }
    handle.release();
    return null;
  }

  private constructor(
    disk: Disk,
    path: string,
    holder: LockHolder,
    folder: FolderHandle,
    file: FileLock,
  ) {
    this.#disk = disk;
    this.#path = path;
    this.#holder = holder;
    this.#folder = folder;
    this.#file = file;
  }

  get folderIdentity(): FileIdentity {
    return this.#folder.identity;
  }

  get fileIdentity(): FileIdentity {
    return this.#file.identity;
  }

  /** Makes and locks the file anew. Who has it, when that is another process; else null. */
  reacquireFile(): string | null {
    const file = lockFile(this.#disk, this.#path, this.#holder);
    if (file === null) return describeProcess(readNote(this.#disk, this.#path)?.pid ?? null);
    this.#file.release();
    this.#file = file;
    return null;
  }

  release(): void {
    eraseAndRelease(this.#file);
    this.#folder.release();
  }
}

/**
 * A pid left behind would be taken for the next holder's until that one has left its own. One that
 * cannot be erased does no more harm than that of a killed holder.
 */
function eraseAndRelease(lock: FileLock): void {
  try {
    lock.note("");
  } catch {
    // It is given back all the same.
  }
  lock.release();
}

/** With a note in it that says who has it; null when another process does. */
function lockFile(disk: Disk, path: string, holder: LockHolder): FileLock | null {
  const file = disk.lock(path);
  try {
    file?.note(formatNote(process.pid, holder));
    return file;
  } catch (error) {
    file?.release();
    throw error;
  }
}

/**
 * One process per data folder: two servers on one state would lend every slot twice. A command that
 * has it is waited for; a server is not.
 */
export async function lockFolder(
  disk: Disk,
  folder: string,
  holder: LockHolder = "server",
  patience = LOCK_TIMEOUT,
): Promise<FolderLock> {
  const path = join(folder, FOLDER_LOCK_FILE);
  let unnamed = 0;
  for (let waited = 0; ; waited += POLL_INTERVAL) {
    const lock = FolderLock.tryAcquire(disk, folder, holder);
    if (lock !== null) return lock;
    const note = readNote(disk, path);
    // Whoever has just taken it leaves its pid a moment later; until then none stands there, or
    // that of a holder that was killed.
    const isNamed = note !== null && isRunning(note.pid);
    unnamed = isNamed ? 0 : unnamed + POLL_INTERVAL;
    const name = describeProcess(note?.pid ?? null);
    if (unnamed > NOTE_TIMEOUT || (isNamed && note.holder === "server")) {
      throw new FolderBusy(`${folder} is in use by ${name}`);
    }
    if (waited >= patience) {
      const seconds = Math.round(patience / 1_000);
      throw new FolderBusy(
        `${folder} is in use by ${name}, which did not end within ${seconds} s`,
        "try again when that process has ended",
      );
    }
    await Bun.sleep(POLL_INTERVAL);
  }
}

/** Whether a process still has the folder: its successor would have left another note. */
export const isLockedBy = (disk: Disk, folder: string, pid: number): boolean =>
  readNote(disk, join(folder, FOLDER_LOCK_FILE))?.pid === pid && isRunning(pid);

/** Held while a checkpoint is made, with the pid of who makes it. */
export function lockCheckpoint(disk: Disk, folder: string): Pick<FileLock, "release"> | null {
  const lock = disk.lock(join(folder, CHECKPOINT_LOCK_FILE));
  if (lock === null) return null;
  lock.note(String(process.pid));
  return { release: () => eraseAndRelease(lock) };
}

/**
 * A checkpoint outlives a server that was killed, and would go on changing the folder under its
 * successor. Called with the folder's lock held: nobody else can have started one since.
 */
export async function stopOrphanCheckpoint(disk: Disk, folder: string): Promise<void> {
  for (let waited = 0; waited < LOCK_TIMEOUT; waited += POLL_INTERVAL) {
    const lock = disk.lock(join(folder, CHECKPOINT_LOCK_FILE));
    if (lock !== null) return lock.release();
    const pid = readNote(disk, join(folder, CHECKPOINT_LOCK_FILE))?.pid ?? null;
    // The note may be an earlier holder's, and the pid somebody else's by now.
    if (pid !== null && describeProcess(pid).includes("checkpoint")) killProcess(pid);
    await Bun.sleep(POLL_INTERVAL);
  }
  throw new FolderBusy(`a checkpoint of ${folder} does not end`);
}

/**
 * A server's note is its pid and nothing else, as every version wrote it: one that does not know of
 * commands reads it, too.
 */
const formatNote = (pid: number, holder: LockHolder): string =>
  holder === "server" ? String(pid) : `${pid} ${holder}`;

const NOTE_PATTERN = /^([1-9]\d{0,9})( command)?$/;

function readNote(
  disk: Disk,
  path: string,
): { readonly pid: number; readonly holder: LockHolder } | null {
  const text = new TextDecoder().decode(disk.read(path) ?? new Uint8Array());
  const [, pid, command] = NOTE_PATTERN.exec(text) ?? [];
  if (pid === undefined) return null;
  return { pid: Number(pid), holder: command === undefined ? "server" : "command" };
}
