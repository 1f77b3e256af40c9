import { join } from "node:path";
import type {
  Disk,
  FileLock,
  FolderHandle,
  OpenFile,
  FileStat,
} from "../../platform/files/disk.ts";
import { writeAll } from "../../platform/files/files.ts";
import { BackupRefused } from "../../store/folder/refusal.ts";

/**
 * Backups are tar files (ustar), so that an operator can look into one with the tools on every
 * machine.
 */

const BLOCK = 512;
/** Two blocks of zeros, and nothing after them. */
const END_BYTES = 2 * BLOCK;
/** The largest number with eleven octal digits. */
const MAX_ENTRY_BYTES = 8 ** 11 - 1;

/** Writes entries one after the other, each in parts. */
export class ArchiveWriter {
  readonly #file: OpenFile;

  constructor(file: OpenFile) {
    this.#file = file;
  }

  add(name: string, size: number, parts: Iterable<Uint8Array>): void {
    if (size > MAX_ENTRY_BYTES) throw new Error(`${name} is too large for a backup file`);
    writeAll(this.#file, encodeHeader(name, size));
    let written = 0;
    for (const part of parts) {
      writeAll(this.#file, part);
      written += part.length;
    }
    if (written !== size) throw new Error(`${name} had ${written} bytes and should have ${size}`);
    writeAll(this.#file, new Uint8Array(countPaddingBytes(size)));
  }

  end(): void {
    writeAll(this.#file, new Uint8Array(END_BYTES));
  }
}

const FIELDS = { mode: "0000600", ids: "0000000\u00000000000", magic: "ustar\u000000" };

function encodeHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(BLOCK);
  if (header.write(name, 0, 100) !== Buffer.byteLength(name))
    throw new Error(`${name} is too long`);
  header.write(FIELDS.mode, 100);
  header.write(FIELDS.ids, 108);
  header.write(size.toString(8).padStart(11, "0"), 124);
  header.write("00000000000", 136);
  header.write("0", 156);
  header.write(FIELDS.magic, 257);
  header.write(`${checksum(header).toString(8).padStart(6, "0")}\u0000 `, 148);
  return header;
}

/** The sum of all bytes, with the eight bytes of the checksum itself counted as spaces. */
function checksum(header: Uint8Array): number {
  let sum = 0;
  header.forEach((byte, index) => {
    sum += index >= 148 && index < 156 ? 32 : byte;
  });
  return sum;
}

interface ArchiveEntry {
  readonly offset: number;
  readonly size: number;
}

/**
 * A backup file as a read-only disk: code that reads a data folder can read this too. The path of
 * the folder on it is the path of the file.
 */
export class Archive implements Disk {
  readonly path: string;
  readonly #disk: Disk;
  readonly #entries = new Map<string, ArchiveEntry>();

  constructor(disk: Disk, path: string) {
    this.#disk = disk;
    this.path = path;
    const size = disk.stat(path)?.size;
    if (size === undefined)
      throw new BackupRefused(`${path} does not exist`, "check the file name");
    for (let at = 0; at !== size - END_BYTES || !this.#isZero(at, END_BYTES);) {
      const entry = this.#readEntryAt(at);
      if (entry === null || this.#entries.has(entry.name)) {
        throw new BackupRefused(`${path} is damaged at byte ${at}`, "use another backup file");
      }
      this.#entries.set(entry.name, entry);
      at = entry.offset + entry.size + countPaddingBytes(entry.size);
    }
  }

  get names(): string[] {
    return [...this.#entries.keys()].map((path) => path.slice(this.path.length + 1));
  }

  list(folder: string): string[] {
    const names = [...this.#entries.keys()].filter((name) => name.startsWith(`${folder}/`));
    return [...new Set(names.map((name) => name.slice(folder.length + 1).split("/")[0] ?? ""))];
  }

  read(path: string): Uint8Array<ArrayBuffer> | null {
    return this.readPart(path, 0, Infinity);
  }

  readPart(path: string, offset: number, length: number): Uint8Array<ArrayBuffer> | null {
    const entry = this.#entries.get(path);
    if (entry === undefined) return null;
    const size = Math.max(0, Math.min(length, entry.size - offset));
    return this.#disk.readPart(this.path, entry.offset + offset, size);
  }

  stat(path: string): FileStat | null {
    const entry = this.#entries.get(path);
    return entry === undefined ? null : { mode: 0o600, uid: 0, size: entry.size, identity: null };
  }

  isRegularFile = (path: string): boolean => this.#entries.has(path);
  freeBytes = (): number => 0;
  open = (path: string): OpenFile => refuseWrite(path);
  rewrite = async (path: string): Promise<void> => refuseWrite(path);
  rename = (path: string): void => refuseWrite(path);
  link = (path: string): void => refuseWrite(path);
  remove = (path: string): void => refuseWrite(path);
  removeFolder = (path: string): void => refuseWrite(path);
  makeFolder = (path: string): void => refuseWrite(path);
  setMode = (path: string): void => refuseWrite(path);
  syncFolder = async (path: string): Promise<void> => refuseWrite(path);
  lock = (path: string): FileLock | null => refuseWrite(path);
  lockFolder = (path: string): FolderHandle | null => refuseWrite(path);

  /**
   * Null unless the entry is exactly as berth writes it: `tar` must find the same contents as this
   * code.
   */
  #readEntryAt(at: number): (ArchiveEntry & { readonly name: string }) | null {
    const header = this.#disk.readPart(this.path, at, BLOCK) ?? new Uint8Array();
    const text = Buffer.from(header).toString("latin1");
    const name = text.slice(0, 100).split("\u0000")[0] ?? "";
    const size = Number.parseInt(text.slice(124, 135), 8);
    if (!ENTRY_NAME.test(name) || !(size >= 0) || !encodeHeader(name, size).equals(header))
      return null;
    const offset = at + BLOCK;
    if (!this.#isZero(offset + size, countPaddingBytes(size))) return null;
    return { name: join(this.path, name), offset, size };
  }

  #isZero(at: number, length: number): boolean {
    const part = this.#disk.readPart(this.path, at, length);
    return part?.length === length && part.every((byte) => byte === 0);
  }
}

/** The bytes that fill the last block. */
const countPaddingBytes = (size: number): number => -size & (BLOCK - 1);

/** No name that could lead out of the target folder. */
const ENTRY_NAME = /^(?:history\/)?[a-z0-9][a-z0-9.-]*$/;

function refuseWrite(path: string): never {
  throw new Error(`${path} is in a backup and cannot be changed`);
}
