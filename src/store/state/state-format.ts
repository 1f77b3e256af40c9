import { join } from "node:path";
import { err, type Result } from "../../domain/result.ts";
import { messageOfError } from "../../platform/error-message.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { STATE_FILE } from "../folder/files.ts";
import { MigrationFailed } from "../folder/refusal.ts";
import { toStorageFault, type StorageFault } from "../journal/storage-fault.ts";
import { STATE_FORMAT } from "./snapshot.ts";
import { StateFile } from "./state-file.ts";

/**
 * The format of the state on disk. An older version must recognize by this number that it cannot
 * read the journal, so the state has the current format before the first new line is written.
 */
export class StateFormat {
  readonly #disk: Disk;
  readonly #folder: string;
  #writtenFormat: number;
  #migrating: Promise<void> | null = null;

  constructor(disk: Disk, folder: string, format: number) {
    this.#disk = disk;
    this.#folder = folder;
    this.#writtenFormat = format;
  }

  get isOld(): boolean {
    return this.#writtenFormat !== STATE_FORMAT;
  }

  /** Writes the same state in the current format; the old file is kept as a generation. */
  migrate(): Promise<void> {
    this.#migrating ??= this.#rewriteState().finally(() => {
      this.#migrating = null;
    });
    return this.#migrating;
  }

  async #rewriteState(): Promise<void> {
    const file = new StateFile(this.#disk, this.#folder);
    const state = await file.read();
    if (state === null) throw new Error(`${file.path} no longer exists`);
    await file.write(state, state);
    this.#writtenFormat = STATE_FORMAT;
  }

  /** Migrates before the first change, which is refused if that fails. */
  async migrateThen<T, F>(
    change: () => Promise<Result<T, F>>,
  ): Promise<Result<T, F | StorageFault>> {
    try {
      await this.migrate();
    } catch (error) {
      return err(toStorageFault(error));
    }
    return change();
  }

  /** Migrates when a server starts, so that an error does not appear only with the first change. */
  async migrateOrRefuse(): Promise<void> {
    if (!this.isOld) return;
    try {
      await this.migrate();
    } catch (error) {
      const path = join(this.#folder, STATE_FILE);
      const reason = messageOfError(error);
      throw new MigrationFailed(
        `${path} has format ${this.#writtenFormat} and cannot be written in format ${STATE_FORMAT}: ${reason}`,
        "free disk space or check the disk, and start again; nothing was changed",
      );
    }
  }
}
