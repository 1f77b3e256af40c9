// A folder another process works on: what it held before each change was kept, and whoever reads it
// through here finds it moving on between two calls of his own.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { realDisk, type Disk } from "../../src/platform/disk.ts";
import type { DiskCallName, FaultyDisk } from "./faulty-disk.ts";
import { tempFolder } from "./temp-folder.ts";

const CHANGING_CALLS: ReadonlySet<DiskCallName> = new Set([
  "open",
  "write",
  "truncate",
  "rename",
  "link",
  "remove",
  "removeFolder",
  "makeFolder",
]);

export interface FolderStage {
  readonly folder: string;
  /** Everything up to this line had been answered by then. */
  readonly acknowledgedSeq: number;
}

/** Keeps what a folder holds before each change that is made to it through this disk. */
export function captureStages(disk: FaultyDisk, folder: string, acknowledged: () => number) {
  const root = tempFolder();
  const stages: FolderStage[] = [];
  const keep = (): void => {
    const copy = join(root, String(stages.length));
    cpSync(folder, copy, { recursive: true });
    stages.push({ folder: copy, acknowledgedSeq: acknowledged() });
  };
  disk.beforeCall = ({ name }) => {
    if (CHANGING_CALLS.has(name)) keep();
  };
  return { stages, keep };
}

/** The real disk, on which `folder` is at the stage that `at` says before each look at it. */
export function makeChangingDisk(folder: string, at: (look: number) => string): Disk {
  let looks = 0;
  const placed = (path: string): string => {
    if (!path.startsWith(folder)) return path;
    looks += 1;
    return join(at(looks), path.slice(folder.length));
  };
  return {
    ...realDisk,
    list: (path) => realDisk.list(placed(path)),
    read: (path) => realDisk.read(placed(path)),
    readPart: (path, offset, length) => realDisk.readPart(placed(path), offset, length),
    stat: (path) => realDisk.stat(placed(path)),
  };
}
