// A small tmpfs, with a ballast file beside the data that fills it.
import { closeSync, mkdirSync, openSync, rmSync, statfsSync, writeSync } from "node:fs";
import { join } from "node:path";
import { errorCode } from "../../../src/platform/files/system-error.ts";
import { atEnd, makeTempFolder } from "../../support/suite-harness.ts";

const PAGE = 4096;

export class SmallDisk {
  readonly folder: string;
  readonly #ballast: string;

  private constructor(folder: string) {
    this.folder = folder;
    this.#ballast = join(folder, "ballast");
  }

  /** Mounts a disk; returns the reason as a text if that is not possible. */
  static mount(mebibytes: number): SmallDisk | string {
    const folder = join(makeTempFolder(), "small");
    mkdirSync(folder);
    const options = `size=${mebibytes}m,mode=700`;
    const command = ["mount", "-t", "tmpfs", "-o", options, "berth-full", folder];
    if (Bun.which("mount") === null) return "the mount command is missing";
    const mounted = Bun.spawnSync(command, { stderr: "pipe" });
    if (!mounted.success) return mounted.stderr.toString().trim();
    // Lazily: a process that still has a file open there is about to exit.
    atEnd(() => Bun.spawnSync(["umount", "-l", folder]));
    return new SmallDisk(folder);
  }

  /**
   * Fills the disk except for `pagesLeft` pages, or completely if other processes write meanwhile.
   */
  fill(pagesLeft: number): void {
    const { bavail, bsize } = statfsSync(this.folder);
    const file = openSync(this.#ballast, "a");
    try {
      let pagesToWrite = Math.floor((bavail * bsize) / PAGE) - pagesLeft;
      const page = new Uint8Array(PAGE);
      for (; pagesToWrite > 0; pagesToWrite -= 1) if (writeSync(file, page) < PAGE) return;
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
