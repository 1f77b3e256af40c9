import { join } from "node:path";
import { messageOfError } from "../../platform/error-message.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { checkpoint, type CheckpointOptions } from "../../store/checkpoint/checkpoint.ts";
import { USAGE_FOLDER } from "../../store/folder/files.ts";
import { StateFile } from "../../store/state/state-file.ts";
import { decodeSnapshot, headOf } from "../../store/state/state-rows.ts";
import { rebuildMarkerPath, removeRebuildMarker } from "./rebuild-usage.ts";
import { updateUsage, type CheckpointedState } from "./update-usage.ts";

export interface CheckpointWithUsageOptions extends Omit<CheckpointOptions, "onWritten"> {
  /** Months of usage to keep besides the current one. */
  readonly usageMonths?: number;
  /** Called after an update of the usage files; null: it succeeded, else why it failed. */
  readonly onUsageUpdate?: (error: string | null) => void;
}

/** Makes a checkpoint, and then brings the files of the usage up to it. */
export async function checkpointWithUsage(
  disk: Disk,
  folder: string,
  openSegment: number,
  { usageMonths, onUsageUpdate = () => {}, ...options }: CheckpointWithUsageOptions = {},
): Promise<void> {
  let written: CheckpointedState | null = null as CheckpointedState | null;
  await checkpoint(disk, folder, openSegment, {
    ...options,
    onWritten: (state, head) => {
      written = { state, head };
    },
  });
  const progress = new ProgressFile(disk, folder);
  try {
    const state = written ?? (await readCheckpoint(disk, folder));
    const result = await updateUsage(disk, folder, state, {
      rebuilds: disk.stat(rebuildMarkerPath(folder)) !== null,
      onProgress: () => progress.grow(),
      ...(usageMonths !== undefined && { keepMonths: usageMonths }),
    });
    if (result.kind === "rebuilt") removeRebuildMarker(disk, folder);
    if (result.kind !== "busy") onUsageUpdate(null);
  } catch (error) {
    // The checkpoint is complete. Usage is computed from the audit log until the next update.
    onUsageUpdate(messageOfError(error));
  } finally {
    progress.remove();
  }
}

export async function readCheckpoint(disk: Disk, folder: string): Promise<CheckpointedState> {
  const file = new StateFile(disk, folder);
  const snapshot = await file.read();
  if (snapshot === null) throw new Error(`${file.path} does not exist`);
  return { state: decodeSnapshot(snapshot), head: headOf(snapshot) };
}

/** Grows while a long audit log is read, so that the server does not take the process for hung. */
class ProgressFile {
  readonly #disk: Disk;
  readonly #path: string;

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#path = join(folder, USAGE_FOLDER, "progress");
  }

  grow(): void {
    const file = this.#disk.open(this.#path);
    try {
      file.write(Buffer.from("."));
    } finally {
      file.close();
    }
  }

  remove(): void {
    try {
      if (this.#disk.stat(this.#path) !== null) this.#disk.remove(this.#path);
    } catch {
      // The next update tries again.
    }
  }
}
