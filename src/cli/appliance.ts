import { join } from "node:path";
import type { Kind } from "../domain/state.ts";
import { Operations } from "../operations/operations.ts";
import { carriedClock } from "../platform/clock.ts";
import { realDisk } from "../platform/disk.ts";
import { log } from "../platform/log.ts";
import { becomeOwnerOf } from "../platform/owner.ts";
import { ownCommand } from "../platform/version.ts";
import { Store } from "../store/store.ts";
import { FAILED } from "./command.ts";

export interface ApplianceOptions {
  readonly folder: string;
  /** Null takes a folder of either kind. */
  readonly kind: Kind | null;
  readonly create: boolean;
}

/** Where the command line finds a running server. */
export const socketIn = (folder: string): string => join(folder, "berth.sock");

/** A moment for those who wait to get their 503 before the process is gone. */
const LAST_WORDS = 250;

/** The data folder with everything that works on it: the one place where the real parts meet. */
export async function openAppliance({
  folder,
  kind,
  create,
}: ApplianceOptions): Promise<Operations> {
  becomeOwnerOf(folder);
  const store = await Store.open({
    disk: realDisk,
    folder,
    kind,
    create,
    clock: carriedClock(),
    checkpoint: checkpointInChild,
    onFatal(error) {
      log.error("the disk failed; stopping, the next start replays what is safe", { error });
      setTimeout(() => process.exit(FAILED), LAST_WORDS);
    },
  });
  return new Operations(store);
}

/**
 * Folding needs the whole state a second time in memory: a process of its own gives it all back.
 */
async function checkpointInChild(folder: string, open: number): Promise<void> {
  const child = Bun.spawn([...ownCommand, "checkpoint", folder, String(open)], {
    stdin: "ignore",
    stdout: "ignore",
    stderr: "pipe",
  });
  const [code, complaint] = await Promise.all([child.exited, new Response(child.stderr).text()]);
  if (code !== 0) throw new Error(complaint.trim() || `the checkpoint ended with code ${code}`);
}
