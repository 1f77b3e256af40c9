import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { realDisk } from "../../platform/files/disk.ts";
import { hasSpaceForCopy } from "../../store/folder/disk-space.ts";
import { DOWNLOADS_FOLDER } from "../../store/folder/files.ts";

/**
 * Creates files for download in the data folder: no other place that a service may write to is on
 * a disk. Each server process has its own folder there. A command that a killed server started
 * finds its folder removed and cannot finish.
 */
export class Downloads {
  readonly #dataFolder: string;
  readonly #root: string;
  readonly #serverFolder: string;

  constructor(folder: string) {
    this.#dataFolder = folder;
    this.#root = join(folder, DOWNLOADS_FOLDER);
    this.#serverFolder = join(this.#root, randomUUID());
  }

  /** Also removes what earlier servers left behind: a backup contains the appliance's key. */
  removeAll(): void {
    for (const name of realDisk.list(this.#root)) remove(join(this.#root, name));
  }

  /** A backup must not use the disk space that the server needs to continue. */
  hasSpaceForBackup(): boolean {
    return hasSpaceForCopy(realDisk, this.#dataFolder);
  }

  /** The path of a file that is to be created. */
  newPath(): string {
    realDisk.makeFolder(this.#serverFolder);
    return join(this.#serverFolder, `${randomUUID()}.tar`);
  }

  /** Also removes what a killed command left under a name that begins with this one. */
  remove(path: string): void {
    const names = realDisk
      .list(this.#serverFolder)
      .filter((name) => name.startsWith(basename(path)));
    for (const name of names) remove(join(this.#serverFolder, name));
  }
}

const remove = (path: string): void => rmSync(path, { recursive: true, force: true });

/** Whether a path is that of a running server's download. */
export const isDownloadPath = (folder: string, path: string): boolean =>
  `${dirname(path)}${sep}`.startsWith(`${join(folder, DOWNLOADS_FOLDER)}${sep}`);
