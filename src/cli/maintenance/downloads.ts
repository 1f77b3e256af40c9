import { randomUUID } from "node:crypto";
import { rmSync } from "node:fs";
import { basename, join } from "node:path";
import { realDisk } from "../../platform/disk.ts";
import { DOWNLOADS_FOLDER } from "../../store/files.ts";

/**
 * Where files are made for those who take them away: in the data folder, the one place that a
 * service may write to and that is no memory. Each life of a server has a folder there, so that
 * what a killed one began finds its own gone, and can finish nothing.
 */
export class Downloads {
  readonly #all: string;
  readonly #own: string;

  constructor(folder: string) {
    this.#all = join(folder, DOWNLOADS_FOLDER);
    this.#own = join(this.#all, randomUUID());
  }

  /** What was left behind; a backup holds the appliance's key. */
  removeAll(): void {
    for (const name of realDisk.list(this.#all)) remove(join(this.#all, name));
  }

  /** The path of a file that is yet to be made. */
  newPath(): string {
    realDisk.makeFolder(this.#own);
    return join(this.#own, `${randomUUID()}.tar`);
  }

  /** With whatever a command that was ended left of it under a name that begins like this. */
  remove(path: string): void {
    const left = realDisk.list(this.#own).filter((name) => name.startsWith(basename(path)));
    for (const name of left) remove(join(this.#own, name));
  }
}

const remove = (path: string): void => rmSync(path, { recursive: true, force: true });
