import { join } from "node:path";
import { Low } from "lowdb";
import type { Disk } from "../../platform/files/disk.ts";
import { DurableFile, FileDamaged } from "./durable-file.ts";
import { generationName, STATE_FILE } from "../folder/files.ts";
import { migrate } from "./migrations.ts";
import { STATE_FORMAT, getSnapshotCheck, type Snapshot } from "./snapshot.ts";

const FORMAT_PATTERN = /^\{\n"format":(\d+),/;
const FORMAT_LENGTH = 32;

/** `state.json`: all license state as of the last checkpoint, managed by lowdb. */
export class StateFile {
  readonly path: string;
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #adapter: DurableFile;
  readonly #low: Low;
  /** The format of the file that was read last. */
  format = STATE_FORMAT;

  constructor(disk: Disk, folder: string, name: string = STATE_FILE) {
    this.path = join(folder, name);
    this.#disk = disk;
    this.#folder = folder;
    this.#adapter = new DurableFile(disk, this.path);
    this.#low = new Low(this.#adapter, null);
  }

  /** Null: there is no file. Throws FileDamaged or FormatUnknown for one that cannot be used. */
  async read(): Promise<Snapshot | null> {
    this.#low.data = null;
    await this.#low.read();
    if (this.#low.data === null) return null;
    const storedData = this.#low.data;
    const data = migrate(storedData);
    const check = getSnapshotCheck();
    if (!check.Check(data)) throw new FileDamaged("does not have the shape of a state");
    this.format = Number((storedData as { readonly format: unknown }).format);
    return data;
  }

  /** The format in the file, which costs reading only its first bytes; null: it has none. */
  get writtenFormat(): number | null {
    const prefix = this.#disk.readPart(this.path, 0, FORMAT_LENGTH) ?? new Uint8Array();
    const format = FORMAT_PATTERN.exec(new TextDecoder().decode(prefix))?.[1];
    return format === undefined ? null : Number(format);
  }

  /** Replaces the file durably; the previous one is kept as a generation. */
  async write(snapshot: Snapshot, before: Snapshot | null): Promise<void> {
    this.#adapter.keepPreviousAs =
      before === null ? null : join(this.#folder, generationName(before.covers.seq));
    this.#low.data = snapshot;
    await this.#low.write();
  }
}
