import { join } from "node:path";
import type { Disk, FileIdentity, FileLock, FolderHandle } from "../../platform/files/disk.ts";
import { isRunning, describeProcess, killProcess } from "../../platform/system/processes.ts";
import { CHECKPOINT_LOCK_FILE, FOLDER_LOCK_FILE } from "./files.ts";

const LOCK_TIMEOUT = 10_000;
/** Longer than a server needs to create a removed lock file again. */
const NOTE_TIMEOUT = 5_000;
const POLL_INTERVAL = 10;

/** Another process uses the folder; nothing is wrong with it. */
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

/** A process uses the folder for as long as it runs. */
export class FolderServed extends FolderBusy {}

/**
 * What a process locks a folder for: a server keeps the lock, a command holds it for a short time.
 */
export type LockHolder = "server" | "command";

/**
 * Two locks: one of the folder itself, which cannot be removed without removing the folder, and one
 * of a file in it, which names the holder. The file lock also keeps out versions that lock only the
 * file.
 */
export class FolderLock {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #holder: LockHolder;
  readonly #folder: FolderHandle;
  #file: FileLock;

  /** Null: another process holds one of the two locks. */
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

  get isFolderRemoved(): boolean {
    return this.#folder.isRemoved();
  }

  get fileIdentity(): FileIdentity {
    return this.#file.identity;
  }

  /**
   * Creates and locks the file again. Returns the name of another process that holds it; null: it
   * succeeded.
   */
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
 * A pid left in the file would be taken for the next holder's until that one writes its own. A pid
 * that cannot be erased does no more harm than that of a killed holder.
 */
function eraseAndRelease(lock: FileLock): void {
  try {
    lock.note("");
  } catch {
    // The lock is released anyway.
  }
  lock.release();
}

/** Locks the file and writes a note that names the holder; null: another process holds it. */
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
 * One process per data folder: two servers on one state would grant every slot twice. A command
 * that holds the lock is waited for; a server is not.
 */
export async function lockFolder(
  disk: Disk,
  folder: string,
  holder: LockHolder = "server",
  timeout = LOCK_TIMEOUT,
): Promise<FolderLock> {
  const path = join(folder, FOLDER_LOCK_FILE);
  let unnamedFor = 0;
  for (let waited = 0; ; waited += POLL_INTERVAL) {
    const lock = FolderLock.tryAcquire(disk, folder, holder);
    if (lock !== null) return lock;
    const note = readNote(disk, path);
    // A new holder writes its pid shortly after locking. Until then the file is empty, or has the
    // pid of a holder that was killed.
    const isHolderKnown = note !== null && isRunning(note.pid);
    unnamedFor = isHolderKnown ? 0 : unnamedFor + POLL_INTERVAL;
    const processName = describeProcess(note?.pid ?? null);
    if (unnamedFor > NOTE_TIMEOUT || (isHolderKnown && note.holder === "server")) {
      throw new FolderServed(`${folder} is in use by ${processName}`);
    }
    if (waited >= timeout) {
      const seconds = Math.round(timeout / 1_000);
      throw new FolderBusy(
        `${folder} is in use by ${processName}, which did not end within ${seconds} s`,
        "try again when that process has ended",
      );
    }
    await Bun.sleep(POLL_INTERVAL);
  }
}

/** Whether a process still holds the folder: a successor would have written another note. */
export const isLockedBy = (disk: Disk, folder: string, pid: number): boolean =>
  readNote(disk, join(folder, FOLDER_LOCK_FILE))?.pid === pid && isRunning(pid);

/** Held while a checkpoint runs, with the pid of its process. */
export function lockCheckpoint(disk: Disk, folder: string): Pick<FileLock, "release"> | null {
  const lock = disk.lock(join(folder, CHECKPOINT_LOCK_FILE));
  if (lock === null) return null;
  lock.note(String(process.pid));
  return { release: () => eraseAndRelease(lock) };
}

/**
 * A checkpoint survives a server that was killed, and would change the folder under its successor.
 * Called with the folder's lock held, so that no other process can start one.
 */
export async function stopOrphanCheckpoint(disk: Disk, folder: string): Promise<void> {
  for (let waited = 0; waited < LOCK_TIMEOUT; waited += POLL_INTERVAL) {
    const lock = disk.lock(join(folder, CHECKPOINT_LOCK_FILE));
    if (lock !== null) return lock.release();
    const pid = readNote(disk, join(folder, CHECKPOINT_LOCK_FILE))?.pid ?? null;
    // The note may be from an earlier holder, and another process may have its pid by now.
    if (pid !== null && describeProcess(pid).includes("checkpoint")) killProcess(pid);
    await Bun.sleep(POLL_INTERVAL);
  }
  throw new FolderBusy(`a checkpoint of ${folder} does not end`);
}

/**
 * A server's note is its pid and nothing else, so that versions that do not know of commands can
 * read it, too.
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
