// A real file system with little room, and a file beside the data that takes up the rest of it.
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../../src/platform/disk.ts";
import { atEnd, makeTempFolder } from "../../support/suite-harness.ts";

const PAGE = 4096;

export class SmallDisk {
  readonly folder: string;
  readonly #ballast: string;

  private constructor(folder: string) {
    this.folder = folder;
    this.#ballast = join(folder, "ballast");
  }

  /** Or why there is none. */
  static mount(mebibytes: number): SmallDisk | string {
    const folder = join(makeTempFolder(), "small");
    mkdirSync(folder);
    const options = `size=${mebibytes}m,mode=700`;
    const words = ["mount", "-t", "tmpfs", "-o", options, "berth-full", folder];
    if (Bun.which("mount") === null) return "there is no mount";
    const mounted = Bun.spawnSync(words, { stderr: "pipe" });
    if (!mounted.success) return mounted.stderr.toString().trim();
    // Whoever still has a file open there is on its way out: the name goes at once.
    atEnd(() => Bun.spawnSync(["umount", "-l", folder]));
    return new SmallDisk(folder);
  }

  /** Takes all but so many pages, or all there are if others are quicker. */
  fill(pagesLeft: number): void {
    const { bavail, bsize } = statfsSync(this.folder);
    const file = openSync(this.#ballast, "a");
    try {
      let left = Math.floor((bavail * bsize) / PAGE) - pagesLeft;
      const page = new Uint8Array(PAGE);
      for (; left > 0; left -= 1) if (writeSync(file, page) < PAGE) return;
    } catch (error) {
      if (errorCode(error) !== "ENOSPC") throw error;
    } finally {
      closeSync(file);
    }
  }

  removeBallast(): void {
    rmSync(this.#ballast, { force: true });
  }
}
