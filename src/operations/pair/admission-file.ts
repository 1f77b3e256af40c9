import {
  decryptContent,
  decryptPart,
  encryptContent,
  encryptPart,
  readAdmissionHeader,
  type AdmissionFacts,
  type AdmissionHeader,
  type ExchangeKey,
} from "../../license/pair-admission.ts";
import type { Disk, OpenFile } from "../../platform/files/disk.ts";
import { writeAll } from "../../platform/files/files.ts";
import { PairRefused } from "../../store/folder/refusal.ts";
import { readLinesForward } from "../../store/journal/line-reader.ts";

/** A file of the data folder, or the backup. */
export interface AdmissionEntry {
  readonly name: string;
  readonly size: number;
  readonly parts: Iterable<Uint8Array>;
}

/** The most plain bytes in one line: two of them are in memory at a time. */
export const PART_BYTES = 256 * 1024;
/** A line is longer than its part by a third: it is base64url. */
const MAX_LINE_BYTES = 2 * PART_BYTES;

/**
 * Writes an admission file that only the host with the key `kid` can read. Each line is a JWE: the
 * first one lists the files, and the others are parts of the files.
 */
export async function writeAdmission(
  file: OpenFile,
  facts: AdmissionFacts,
  entries: readonly AdmissionEntry[],
): Promise<void> {
  const writeLine = (line: string): void => writeAll(file, Buffer.from(`${line}\n`));
  const list = entries.map(({ name, size }) => ({ name, size }));
  const { jwe, key } = await encryptContent(facts, list);
  writeLine(jwe);
  let number = 0;
  for (const { parts } of entries) {
    for (const part of parts) {
      for (let at = 0; at < part.length; at += PART_BYTES, number += 1) {
        writeLine(await encryptPart(key, number, part.subarray(at, at + PART_BYTES)));
      }
    }
  }
}

/** Null: the file does not begin like an admission file. */
export function readHeaderOfFile(disk: Disk, path: string): AdmissionHeader | null {
  const line = readLine(disk, path, 0);
  return line === null ? null : readAdmissionHeader(line);
}

/**
 * Decrypts an admission file. `write` gets each file, in the order of the list. Throws if anything
 * in it was changed, or if the file is not complete.
 */
export async function extractAdmission(
  disk: Disk,
  path: string,
  key: ExchangeKey,
  write: (name: string, size: number) => (part: Uint8Array) => void,
): Promise<void> {
  let offset = 0;
  const takeLine = (): string => {
    const line = readLine(disk, path, offset);
    if (line === null) throw damaged(path);
    offset += line.length + 1;
    return line;
  };
  const content = await decryptContent(takeLine(), key);
  if (content === null) throw damaged(path);
  let number = 0;
  for (const { name, size } of content.files) {
    const writePart = write(name, size);
    for (let left = size; left > 0; number += 1) {
      const part = await decryptPart(content.key, number, takeLine());
      if (part === null || part.length > left) throw damaged(path);
      writePart(part);
      left -= part.length;
    }
  }
  if (disk.stat(path)?.size !== offset) throw damaged(path);
}

/** Null: no line ends in the bytes that a line can have. */
function readLine(disk: Disk, path: string, offset: number): string | null {
  const { value: line } = readLinesForward(disk, path, offset, offset + MAX_LINE_BYTES).next();
  // One character for each byte, as base64url has.
  return line?.isComplete === true ? Buffer.from(line.bytes).toString("latin1") : null;
}

const damaged = (path: string): PairRefused =>
  new PairRefused(`${path} is damaged or incomplete`, "copy it again from the host that wrote it");
