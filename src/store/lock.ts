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
}

/** One process per data folder: two servers on one state would lend every slot twice. */
export async function lockFolder(disk: Disk, folder: string): Promise<FileLock> {
  const path = join(folder, FOLDER_LOCK);
  for (let waited = 0; ; waited += STEP) {
    const lock = disk.lock(path);
    if (lock !== null) {
      lock.note(String(process.pid));
      return lock;
    }
    // Whoever has just taken it leaves its pid a moment later; until then none stands there, or
    // that of a holder that was killed.
    const pid = noted(disk, path);
    if ((pid !== null && isRunning(pid)) || waited >= NAMING) {
      throw new FolderBusy(`${folder} is in use by ${nameOfProcess(pid)}`);
    }
    await Bun.sleep(STEP);
  }
}

/** Whether a process still has the folder: its successor would have left another note. */
export const isHeldBy = (disk: Disk, folder: string, pid: number): boolean =>
  noted(disk, join(folder, FOLDER_LOCK)) === pid && isRunning(pid);

/** Held while a checkpoint is made, with the pid of who makes it. */
export function lockCheckpoint(disk: Disk, folder: string): Pick<FileLock, "release"> | null {
  const lock = disk.lock(join(folder, CHECKPOINT_LOCK));
  if (lock === null) return null;
  lock.note(String(process.pid));
  return {
    release() {
      // A pid left behind would be somebody else's one day.
      lock.note("");
      lock.release();
    },
  };
}

/**
 * A checkpoint outlives a server that was killed, and would go on changing the folder under its
 * successor. Called with the folder's lock held: nobody else can have started one since.
 */
export async function endOrphanCheckpoint(disk: Disk, folder: string): Promise<void> {
  for (let waited = 0; waited < PATIENCE; waited += STEP) {
    const lock = disk.lock(join(folder, CHECKPOINT_LOCK));
    if (lock !== null) return lock.release();
    const pid = noted(disk, join(folder, CHECKPOINT_LOCK));
    // The note may be an earlier holder's, and the pid somebody else's by now.
    if (pid !== null && nameOfProcess(pid).includes("checkpoint")) stopProcess(pid);
    await Bun.sleep(STEP);
  }
  throw new FolderBusy(`a checkpoint of ${folder} does not end`);
}

function noted(disk: Disk, path: string): number | null {
  const text = new TextDecoder().decode(disk.read(path) ?? new Uint8Array());
  return /^[1-9]\d{0,9}$/.test(text) ? Number(text) : null;
}
