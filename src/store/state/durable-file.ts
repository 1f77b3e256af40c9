import { dirname } from "node:path";
import type { Adapter } from "lowdb";
import type { Disk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { writeAll } from "../../platform/files/files.ts";

/** The file exists but is not what was written. */
export class FileDamaged extends Error {
  override readonly name = "FileDamaged";
}

/**
 * lowdb's adapter for `state.json`. lowdb's own adapter never syncs: a power cut loses the file.
 * This one writes a new file, syncs it, renames it over the old one and syncs the folder, so that
 * the name always leads to one complete state. The old file can be kept under another name.
 *
 * The file is plain JSON with one row per line. Its last member is the SHA-256 of everything before
 * it.
 */
export class DurableFile implements Adapter<unknown> {
  readonly #disk: Disk;
  readonly #path: string;
  /** The name under which the replaced file is kept; null: it is not kept. */
  keepPreviousAs: string | null = null;

  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.#path = path;
  }

  /** Null only if there is no file: lowdb would replace an empty or damaged one by defaults. */
  async read(): Promise<unknown> {
    const bytes = this.#disk.read(this.#path);
    return bytes === null ? null : decode(bytes);
  }

  async write(data: unknown): Promise<void> {
    const temporaryPath = `${this.#path}.new`;
    if (this.#disk.stat(temporaryPath) !== null) this.#disk.remove(temporaryPath);
    try {
      await this.#writeFile(temporaryPath, data);
      if (this.keepPreviousAs !== null) linkIfAbsent(this.#disk, this.#path, this.keepPreviousAs);
      this.#disk.rename(temporaryPath, this.#path);
    } catch (error) {
      // The usual cause is a full disk, and the journal needs the space.
      removeLeftover(this.#disk, temporaryPath);
      throw error;
    }
    await this.#disk.syncFolder(dirname(this.#path));
  }

  async #writeFile(temporaryPath: string, data: unknown): Promise<void> {
    const file = this.#disk.open(temporaryPath);
    try {
      let unsynced = 0;
      for (const chunk of encode(data as object)) {
        writeAll(file, chunk);
        unsynced += chunk.length;
        if (unsynced < BYTES_PER_SYNC) continue;
        await file.syncData();
        unsynced = 0;
      }
      await file.sync();
    } finally {
      file.close();
    }
  }
}

/**
 * How much is synced at once. A large file synced in one step delays every small sync beside it,
 * and the server's answers wait for those.
 */
const BYTES_PER_SYNC = 1024 * 1024;

const ROWS_PER_CHUNK = 1_000;

/** The size that the file would have. */
export function measureEncodedSize(data: object): number {
  let size = 0;
  for (const chunk of encode(data)) size += chunk.length;
  return size;
}

/**
 * Encodes in chunks: a million registrations as one string would take more memory than the server.
 */
function* encode(data: object): Generator<Uint8Array> {
  const hash = new Bun.CryptoHasher("sha256");
  const hashText = (text: string): Uint8Array => {
    const bytes = Buffer.from(text);
    hash.update(bytes);
    return bytes;
  };
  yield hashText("{\n");
  for (const [name, value] of Object.entries(data)) {
    if (!Array.isArray(value)) {
      yield hashText(`${JSON.stringify(name)}:${JSON.stringify(value)},\n`);
      continue;
    }
    yield hashText(`${JSON.stringify(name)}:[`);
    for (let start = 0; start < value.length; start += ROWS_PER_CHUNK) {
      const rows = value.slice(start, start + ROWS_PER_CHUNK).map((row) => JSON.stringify(row));
      yield hashText(`${start === 0 ? "" : ","}\n${rows.join(",\n")}`);
    }
    yield hashText("],\n");
  }
  yield Buffer.from(`"sum":"${hash.digest("hex")}"\n}\n`);
}

const TAIL = /^"sum":"([0-9a-f]{64})"\n\}\n$/;
const TAIL_LENGTH = 64 + '"sum":""\n}\n'.length;

function decode(bytes: Uint8Array<ArrayBuffer>): unknown {
  const end = Math.max(0, bytes.length - TAIL_LENGTH);
  const text = new TextDecoder();
  const sum = TAIL.exec(text.decode(bytes.subarray(end)))?.[1];
  const hash = new Bun.CryptoHasher("sha256").update(bytes.subarray(0, end)).digest("hex");
  if (sum !== hash) {
    throw new FileDamaged(bytes.length === 0 ? "is empty" : "does not match its checksum");
  }
  try {
    return JSON.parse(text.decode(bytes));
  } catch {
    throw new FileDamaged("is not JSON");
  }
}

/** Ignores errors: the caller reports the error that came first. */
function removeLeftover(disk: Disk, path: string): void {
  try {
    if (disk.stat(path) !== null) disk.remove(path);
  } catch {
    // The next write, or the next start, tries again.
  }
}

function linkIfAbsent(disk: Disk, from: string, to: string): void {
  try {
    disk.link(from, to);
  } catch (error) {
    // An interrupted checkpoint left the same link behind.
    if (errorCode(error) !== "EEXIST") throw error;
  }
}
