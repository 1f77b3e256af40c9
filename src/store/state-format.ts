import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import { STATE_FILE } from "./files.ts";
import { MigrationFailed } from "./refusal.ts";
import { STATE_FORMAT } from "./snapshot.ts";
import { StateFile } from "./state-file.ts";

/**
 * The format of the state on disk. A version that does not know what this one writes must find out
 * by that number: so it is today's before the first new line is in the journal.
 */
export class StateFormat {
  readonly #disk: Disk;
  readonly #folder: string;
  #writtenFormat: number;
  #migrating: Promise<void> | null = null;

  constructor(disk: Disk, folder: string, found: number) {
    this.#disk = disk;
    this.#folder = folder;
    this.#writtenFormat = found;
  }

  get isOld(): boolean {
    return this.#writtenFormat !== STATE_FORMAT;
  }

  /** Writes the same state in today's format; the old file stays as a generation to go back to. */
  migrate(): Promise<void> {
    this.#migrating ??= this.#rewriteState().finally(() => {
      this.#migrating = null;
    });
    return this.#migrating;
  }

  async #rewriteState(): Promise<void> {
    const file = new StateFile(this.#disk, this.#folder);
    const state = await file.read();
    if (state === null) throw new Error(`${file.path} is gone`);
    await file.write(state, state);
    this.#writtenFormat = STATE_FORMAT;
  }

  /** For a server, which would only find out with its first change. */
  async migrateOrRefuse(): Promise<void> {
    if (!this.isOld) return;
    try {
      await this.migrate();
    } catch (error) {
      const path = join(this.#folder, STATE_FILE);
      const why = error instanceof Error ? error.message : String(error);
      throw new MigrationFailed(
        `${path} has format ${this.#writtenFormat} and cannot be written in format ${STATE_FORMAT}: ${why}`,
        "free disk space or check the disk, and start again; nothing was changed",
      );
    }
  }
}
