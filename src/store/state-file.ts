import { join } from "node:path";
import { Low } from "lowdb";
import type { Disk } from "../platform/disk.ts";
import { DurableFile, FileDamaged } from "./durable-file.ts";
import { generationName, STATE_FILE } from "./files.ts";
import { migrate } from "./migrations.ts";
import { STATE_FORMAT, getSnapshotCheck, type Snapshot } from "./snapshot.ts";

const FORMAT_PATTERN = /^\{\n"format":(\d+),/;
const FORMAT_LENGTH = 32;

/** `state.json`: all license state as of the last checkpoint, owned by lowdb. */
export class StateFile {
  readonly path: string;
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #adapter: DurableFile;
  readonly #low: Low;
  /** Of what was read last, as it stands in the file. */
  format = STATE_FORMAT;

  constructor(disk: Disk, folder: string, name: string = STATE_FILE) {
    this.path = join(folder, name);
    this.#disk = disk;
    this.#folder = folder;
    this.#adapter = new DurableFile(disk, this.path);
    this.#low = new Low(this.#adapter, null);
  }

  /** Null when there is none; throws FileDamaged or FormatUnknown for one that cannot be used. */
  async read(): Promise<Snapshot | null> {
    this.#low.data = null;
    await this.#low.read();
    if (this.#low.data === null) return null;
    const found = this.#low.data;
    const data = migrate(found);
    const check = getSnapshotCheck();
    if (!check.Check(data)) throw new FileDamaged("does not have the shape of a state");
    this.format = Number((found as { readonly format: unknown }).format);
    return data;
  }

  /** The format it was written in, at the cost of its first bytes; null: it does not say. */
  get writtenFormat(): number | null {
    const start = this.#disk.readPart(this.path, 0, FORMAT_LENGTH) ?? new Uint8Array();
    const format = FORMAT_PATTERN.exec(new TextDecoder().decode(start))?.[1];
    return format === undefined ? null : Number(format);
  }

  /** Replaces the file durably; the one before stays as the generation it covers. */
  async write(snapshot: Snapshot, before: Snapshot | null): Promise<void> {
    this.#adapter.keepPreviousAs =
      before === null ? null : join(this.#folder, generationName(before.covers.seq));
    this.#low.data = snapshot;
    await this.#low.write();
  }
}
