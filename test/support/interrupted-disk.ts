// A process that is killed between two of its changes to the disk.
import { FaultyDisk, makeDiskError, type DiskCallName } from "./faulty-disk.ts";

/** Only calls that change a folder: a failing read leaves it as the call before did. */
const CHANGING_CALLS = new Set<DiskCallName>([
  "makeFolder",
  "open",
  "write",
  "sync",
  "truncate",
  "rename",
  "remove",
  "syncFolder",
]);

/**
 * Interrupts `act` at each of its changes to the disk in turn, on a folder that is prepared each
 * time; returns the number of tries.
 */
export async function interruptEverywhere(
  prepare: () => Promise<string>,
  act: (disk: FaultyDisk, folder: string) => Promise<unknown>,
  check: (folder: string, isFinished: boolean) => Promise<void>,
): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const folder = await prepare();
    const disk = new FaultyDisk();
    let changes = 0;
    disk.beforeCall = ({ name }) => {
      changes += CHANGING_CALLS.has(name) ? 1 : 0;
      // Every later change fails too, as after a crash.
      if (changes >= attempt) throw makeDiskError("EIO");
    };
    const isFinished = await hasCompleted(act(disk, folder));
    disk.clearFaults();
    await check(folder, isFinished);
    if (isFinished) return attempt;
  }
}

/** False: the disk failed. */
export async function hasCompleted(action: Promise<unknown>): Promise<boolean> {
  try {
    await action;
    return true;
  } catch (error) {
    if ((error as { code?: unknown }).code !== "EIO") throw error;
    return false;
  }
}
