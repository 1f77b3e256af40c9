import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { instant } from "../../domain/time.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { listAuditFileNames } from "../../store/audit/audit-log.ts";
import { AUDIT_FOLDER } from "../../store/folder/files.ts";
import { isEmptyFolder, notDataFolder } from "../../store/folder/folder.ts";
import { isLockedBy } from "../../store/folder/lock.ts";

/** "empty": it has no data of an appliance, though perhaps settings or certificates. */
export function readFolderUse(folder: string): "missing" | "empty" | "used" {
  if (realDisk.stat(folder) === null) return "missing";
  return isEmptyFolder(realDisk, folder) ? "empty" : "used";
}

/** Refuses a folder that is missing or has no data of an appliance. */
export function requireDataFolder(folder: string): void {
  if (readFolderUse(folder) !== "used") throw notDataFolder(folder);
}

/** Whether the server of the folder started this process. */
export const isStartedByServer = (folder: string): boolean =>
  isLockedBy(realDisk, folder, process.ppid);

/** Names, sizes and modes of the files in a data folder. */
export const describeFiles = (folder: string) =>
  realDisk.list(folder).flatMap((name) => {
    const path = join(folder, name);
    const { size, mode, uid, mtimeMs } = statSync(path, { throwIfNoEntry: false }) ?? {};
    if (size === undefined || mode === undefined) return [];
    const facts = { file: name, size, mode: (mode & 0o7777).toString(8), uid };
    const files = name === AUDIT_FOLDER ? readdirSync(path) : undefined;
    return [{ ...facts, modified_at: rfc3339(instant(Math.floor(mtimeMs ?? 0))), files }];
  });

/**
 * The last lines of the audit log that a checkpoint wrote: only the number of each line, and the
 * times and types of its events.
 */
export function readAuditLineTypes(folder: string, limit: number): unknown[] {
  const newest = listAuditFileNames(realDisk, folder).toSorted().at(-1);
  if (newest === undefined) return [];
  const lines = readFileSync(join(folder, AUDIT_FOLDER, newest), "utf8")
    .trimEnd()
    .split("\n");
  return lines.slice(-limit).map((line) => {
    try {
      const { seq, events } = JSON.parse(line) as {
        readonly seq?: number;
        readonly events?: readonly { readonly type: string; readonly at: number }[];
      };
      return { seq, events: events?.map(({ type, at }) => ({ type, at })) };
    } catch {
      return { unreadable: line.length };
    }
  });
}
