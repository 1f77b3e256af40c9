import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import { STATE } from "./files.ts";
import { MigrationFailed } from "./refusal.ts";
import { FORMAT } from "./snapshot.ts";
import { StateFile } from "./state-file.ts";

/**
 * The format of the state on disk. A version that does not know what this one writes must find out
 * by that number: so it is today's before the first new line is in the journal.
 */
export class StateFormat {
  readonly #disk: Disk;
  readonly #folder: string;
  #found: number;
  #writing: Promise<void> | null = null;

  constructor(disk: Disk, folder: string, found: number) {
    this.#disk = disk;
    this.#folder = folder;
    this.#found = found;
  }

  get isOld(): boolean {
    return this.#found !== FORMAT;
  }

  /** Writes the same state in today's format; the old file stays as a generation to go back to. */
  migrate(): Promise<void> {
    this.#writing ??= this.#write().finally(() => {
      this.#writing = null;
    });
    return this.#writing;
  }

  async #write(): Promise<void> {
    const file = new StateFile(this.#disk, this.#folder);
    const state = await file.read();
    if (state === null) throw new Error(`${file.path} is gone`);
    await file.write(state, state);
    this.#found = FORMAT;
  }

  /** For a server, which would only find out with its first change. */
  async migrateOrRefuse(): Promise<void> {
    if (!this.isOld) return;
    try {
      await this.migrate();
    } catch (error) {
      const path = join(this.#folder, STATE);
      const why = error instanceof Error ? error.message : String(error);
      throw new MigrationFailed(
        `${path} has format ${this.#found} and cannot be written in format ${FORMAT}: ${why}`,
        "free disk space or check the disk, and start again; nothing was changed",
      );
    }
  }
}
