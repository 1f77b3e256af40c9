import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import type { Disk, OpenFile } from "../../platform/files/disk.ts";
import { writeAll } from "../../platform/files/files.ts";
import { PairRefused } from "../../store/folder/refusal.ts";
import {
  decryptPart,
  deriveFileKey,
  encryptPart,
  generateExchangeKey,
  PART_BYTES,
  TAG_BYTES,
  type ExchangeKey,
} from "./admission-crypto.ts";

/**
 * The first line of an admission file, as JSON. The rest is encrypted in parts: one line that lists
 * the files, and then the files.
 */
const AdmissionHeader = Type.Object(
  {
    berth_pair_admission: Type.Literal(1),
    host: Type.String(),
    version: Type.String(),
    /** By the clock of the host that admits, in milliseconds since 1970. */
    made_at: Type.Integer({ minimum: 0 }),
    appliance: Type.String(),
    /** The public keys between which the key of the file is agreed. */
    sender: Type.String({ pattern: "^[A-Za-z0-9_-]{43}$" }),
    recipient: Type.String({ pattern: "^[A-Za-z0-9_-]{43}$" }),
  },
  { additionalProperties: false },
);

export type AdmissionHeader = Static<typeof AdmissionHeader>;

const FileList = Type.Object({
  files: Type.Array(Type.Object({ name: Type.String(), size: Type.Integer({ minimum: 0 }) })),
});

/** A file of the data folder, or the backup. */
export interface AdmissionEntry {
  readonly name: string;
  readonly size: number;
  readonly parts: Iterable<Uint8Array>;
}

const MAX_LINE_BYTES = 4_096;

/** Writes an admission file that only the host with the recipient's key can read. */
export function writeAdmission(
  file: OpenFile,
  facts: Pick<AdmissionHeader, "host" | "version" | "made_at" | "appliance" | "recipient">,
  entries: readonly AdmissionEntry[],
): void {
  const sender = generateExchangeKey();
  const key = deriveFileKey(sender, facts.recipient, sender.x);
  if (key === null) throw new Error("no file can be encrypted to the key of the request");
  const content: AdmissionHeader = { berth_pair_admission: 1, ...facts, sender: sender.x };
  const header = encodeLine(content);
  writeAll(file, header);
  const list = entries.map(({ name, size }) => ({ name, size }));
  let rest: Uint8Array = encodeLine({ files: list });
  let number = 0;
  for (const { parts } of entries) {
    for (const part of parts) {
      rest = Buffer.concat([rest, part]);
      // At least one byte stays for the last part.
      for (; rest.length > PART_BYTES; number += 1) {
        const plain = rest.subarray(0, PART_BYTES);
        writeAll(file, encryptPart(key, header, { number, isLast: false }, plain));
        rest = rest.subarray(PART_BYTES);
      }
    }
  }
  writeAll(file, encryptPart(key, header, { number, isLast: true }, rest));
}

const encodeLine = (value: object): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);

/** Null: the file does not begin like an admission file. */
export function readAdmissionHeader(
  disk: Disk,
  path: string,
): { readonly header: AdmissionHeader; readonly bytes: Uint8Array } | null {
  const beginning = disk.readPart(path, 0, MAX_LINE_BYTES) ?? new Uint8Array();
  const end = beginning.indexOf(LF);
  if (end < 0) return null;
  const bytes = beginning.subarray(0, end + 1);
  const header = parseLine(bytes);
  return Value.Check(AdmissionHeader, header) ? { header, bytes } : null;
}

/**
 * Decrypts an admission file. `write` gets each file, in the order of the list. Throws if a byte of
 * it was changed, or if the file is not complete.
 */
export function extractAdmission(
  disk: Disk,
  path: string,
  key: ExchangeKey,
  write: (name: string, size: number) => (part: Uint8Array) => void,
): void {
  const admission = readAdmissionHeader(disk, path);
  if (admission === null) throw damaged(path);
  const { header, bytes } = admission;
  const fileKey = deriveFileKey(key, header.sender, header.sender);
  if (fileKey === null) throw damaged(path);
  const plain = new PlainReader(readPlainParts(disk, path, fileKey, bytes), path);
  const list = parseLine(plain.readLine());
  if (!Value.Check(FileList, list)) throw damaged(path);
  for (const { name, size } of list.files) {
    const writePart = write(name, size);
    for (let left = size; left > 0;) {
      const part = plain.read(Math.min(left, PART_BYTES));
      writePart(part);
      left -= part.length;
    }
  }
  plain.expectEnd();
}

/** Takes lines and bytes from a sequence of parts. */
class PlainReader {
  readonly #parts: Iterator<Uint8Array>;
  readonly #path: string;
  #rest: Uint8Array = new Uint8Array();

  constructor(parts: Iterable<Uint8Array>, path: string) {
    this.#parts = parts[Symbol.iterator]();
    this.#path = path;
  }

  /** At least one byte, and at most so many. */
  read(maxBytes: number): Uint8Array {
    if (this.#rest.length === 0 && !this.#next()) throw damaged(this.#path);
    const part = this.#rest.subarray(0, maxBytes);
    this.#rest = this.#rest.subarray(part.length);
    return part;
  }

  readLine(): Uint8Array {
    if (!this.#next()) throw damaged(this.#path);
    const end = this.#rest.indexOf(LF);
    if (end < 0) throw damaged(this.#path);
    const line = this.#rest.subarray(0, end + 1);
    this.#rest = this.#rest.subarray(end + 1);
    return line;
  }

  expectEnd(): void {
    if (this.#rest.length > 0 || this.#next()) throw damaged(this.#path);
  }

  /** False: there is no more. */
  #next(): boolean {
    const { done, value } = this.#parts.next();
    this.#rest = done === true ? new Uint8Array() : value;
    return done !== true && value.length > 0;
  }
}

function* readPlainParts(
  disk: Disk,
  path: string,
  key: Uint8Array,
  header: Uint8Array,
): Generator<Uint8Array, undefined> {
  const size = disk.stat(path)?.size ?? 0;
  const partBytes = PART_BYTES + TAG_BYTES;
  for (let at = header.length, number = 0; at < size; number += 1) {
    const sealed = disk.readPart(path, at, partBytes);
    at += partBytes;
    const plain = sealed && decryptPart(key, header, { number, isLast: at >= size }, sealed);
    if (plain === null) throw damaged(path);
    yield plain;
  }
}

const LF = 10;

function parseLine(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    return null;
  }
}

const damaged = (path: string): PairRefused =>
  new PairRefused(`${path} is damaged or incomplete`, "copy it again from the host that wrote it");
