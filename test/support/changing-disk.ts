// A folder that another process changes while it is read: the content before each change is
// captured as a stage, and a reader of this disk sees a later stage with each call.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { realDisk, type Disk } from "../../src/platform/files/disk.ts";
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
  /** Every line up to this one was acknowledged at this stage. */
  readonly acknowledgedSeq: number;
}

/** Captures the content of a folder before each change that is made through this disk. */
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

/** The real disk, but each read of `folder` is redirected to the stage that `stageAt` returns. */
export function makeChangingDisk(folder: string, stageAt: (readCount: number) => string): Disk {
  let readCount = 0;
  const redirect = (path: string): string => {
    if (!path.startsWith(folder)) return path;
    readCount += 1;
    return join(stageAt(readCount), path.slice(folder.length));
  };
  return {
    ...realDisk,
    list: (path) => realDisk.list(redirect(path)),
    read: (path) => realDisk.read(redirect(path)),
    readPart: (path, offset, length) => realDisk.readPart(redirect(path), offset, length),
    stat: (path) => realDisk.stat(redirect(path)),
  };
}
