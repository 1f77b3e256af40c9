import { join } from "node:path";
import type { Disk, FileLock } from "../platform/disk.ts";
import { isRunning, nameOfProcess, stopProcess } from "../platform/processes.ts";
import { CHECKPOINT_LOCK, FOLDER_LOCK } from "./files.ts";

const PATIENCE = 10_000;
const NAMING = 1_000;
const STEP = 10;

/** Another process works on the folder; nothing is wrong with it. */
export class FolderBusy extends Error {
  override readonly name = "FolderBusy";
  readonly hint: string;

  constructor(message: string, hint = "stop that process, or name another folder with --data DIR") {
    super(message);
    this.hint = hint;
  }
}

/** What a process takes a folder for: a server keeps it, a command has it for a moment. */
export type Holder = "server" | "command";

/**
 * One process per data folder: two servers on one state would lend every slot twice. A command that
 * has it is waited for; a server is not.
 */
export async function lockFolder(
  disk: Disk,
  folder: string,
  holder: Holder = "server",
  patience = PATIENCE,
): Promise<FileLock> {
  const path = join(folder, FOLDER_LOCK);
  let unnamed = 0;
  for (let waited = 0; ; waited += STEP) {
    const lock = disk.lock(path);
    if (lock !== null) {
      lock.note(noteOf(process.pid, holder));
      return { ...lock, release: () => letGo(lock) };
    }
    const note = readNote(disk, path);
    // Whoever has just taken it leaves its pid a moment later; until then none stands there, or
    // that of a holder that was killed.
    const isNamed = note !== null && isRunning(note.pid);
    unnamed = isNamed ? 0 : unnamed + STEP;
    const name = nameOfProcess(note?.pid ?? null);
    if (unnamed > NAMING || (isNamed && note.holder === "server")) {
      throw new FolderBusy(`${folder} is in use by ${name}`);
    }
    if (waited >= patience) {
      const seconds = Math.round(patience / 1_000);
      throw new FolderBusy(
        `${folder} is in use by ${name}, which did not end within ${seconds} s`,
        "try again when that process has ended",
      );
    }
    await Bun.sleep(STEP);
  }
}

/** A pid left behind would be somebody else's one day; one that cannot be erased does no harm. */
function letGo(lock: FileLock): void {
  try {
    lock.note("");
  } catch {
    // Nothing is lost by it.
  }
  lock.release();
}

/** Whether a process still has the folder: its successor would have left another note. */
export const isHeldBy = (disk: Disk, folder: string, pid: number): boolean =>
  readNote(disk, join(folder, FOLDER_LOCK))?.pid === pid && isRunning(pid);

/** Held while a checkpoint is made, with the pid of who makes it. */
export function lockCheckpoint(disk: Disk, folder: string): Pick<FileLock, "release"> | null {
  const lock = disk.lock(join(folder, CHECKPOINT_LOCK));
  if (lock === null) return null;
  lock.note(String(process.pid));
  return { release: () => letGo(lock) };
}

/**
 * A checkpoint outlives a server that was killed, and would go on changing the folder under its
 * successor. Called with the folder's lock held: nobody else can have started one since.
 */
export async function endOrphanCheckpoint(disk: Disk, folder: string): Promise<void> {
  for (let waited = 0; waited < PATIENCE; waited += STEP) {
    const lock = disk.lock(join(folder, CHECKPOINT_LOCK));
    if (lock !== null) return lock.release();
    const pid = readNote(disk, join(folder, CHECKPOINT_LOCK))?.pid ?? null;
    // The note may be an earlier holder's, and the pid somebody else's by now.
    if (pid !== null && nameOfProcess(pid).includes("checkpoint")) stopProcess(pid);
    await Bun.sleep(STEP);
  }
  throw new FolderBusy(`a checkpoint of ${folder} does not end`);
}

/**
 * A server's note is its pid and nothing else, as every version wrote it: one that does not know of
 * commands reads it, too.
 */
const noteOf = (pid: number, holder: Holder): string =>
  holder === "server" ? String(pid) : `${pid} ${holder}`;

const NOTE = /^([1-9]\d{0,9})( command)?$/;

function readNote(
  disk: Disk,
  path: string,
): { readonly pid: number; readonly holder: Holder } | null {
  const text = new TextDecoder().decode(disk.read(path) ?? new Uint8Array());
  const [, pid, command] = NOTE.exec(text) ?? [];
  if (pid === undefined) return null;
  return { pid: Number(pid), holder: command === undefined ? "server" : "command" };
}
