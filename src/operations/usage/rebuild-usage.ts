import { join } from "node:path";
import { err, ok, type Result } from "../../domain/result.ts";
import type { Instant } from "../../domain/time.ts";
import type { MaintenanceFault } from "../../faults/fault-types.ts";
import { messageOfError } from "../../platform/error-message.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { USAGE_FOLDER } from "../../store/folder/files.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import type { Store } from "../../store/store.ts";
import { makeUsageFolder } from "./usage-files.ts";
import { readPosition, type UsagePosition } from "./usage-position.ts";
import type { UsageUpdates } from "./usage-updates.ts";

export interface RebuiltUsage {
  /** The last line of the audit log that the files cover. */
  readonly auditSeq: number;
  readonly from: Instant | null;
  readonly until: Instant;
  readonly files: number;
  readonly bytes: number;
}

/** The next update of the files computes everything again, if this file exists. */
export const rebuildMarkerPath = (folder: string): string => join(folder, USAGE_FOLDER, "rebuild");

/**
 * Computes the files of the folder `usage/` again, in the process of a checkpoint. What is older
 * than the oldest line of the audit log stays.
 */
export async function rebuildUsage(
  store: Store,
  updates: UsageUpdates,
): Promise<Result<RebuiltUsage, StorageFault | MaintenanceFault>> {
  const source = await store.read(() => store.auditLogSource());
  if (!source.ok) return source;
  const { disk, folder } = source.value;
  const markerPath = rebuildMarkerPath(folder);
  try {
    await makeUsageFolder(disk, folder);
    disk.open(markerPath).close();
    // The first checkpoint may have begun before the marker was there.
    for (let tries = 0; tries < 2 && disk.stat(markerPath) !== null; tries += 1) {
      await store.checkpoint();
    }
    const position = disk.stat(markerPath) === null ? readPosition(disk, folder) : null;
    if (position !== null) return ok(describePosition(position));
  } catch (error) {
    return err({ code: "maintenance_failed", reason: messageOfError(error) });
  }
  const { checkpointError } = store.status();
  const reason =
    checkpointError ?? updates.error ?? "the files are in use, or could not be written";
  return err({ code: "maintenance_failed", reason });
}

function describePosition(position: UsagePosition): RebuiltUsage {
  const { audit_seq: auditSeq, until, files, observed } = position;
  const bytes = files.reduce((sum, { length }) => sum + length, 0);
  return { auditSeq, from: observed[0]?.[0] ?? null, until, files: files.length, bytes };
}

export function removeRebuildMarker(disk: Disk, folder: string): void {
  const path = rebuildMarkerPath(folder);
  if (disk.stat(path) !== null) disk.remove(path);
}
