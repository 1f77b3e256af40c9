// Writes and reads backup archives, so that tests can inspect and damage them.
import { readFileSync } from "node:fs";
import { realDisk } from "../../src/platform/files/disk.ts";
import { ArchiveWriter } from "../../src/operations/backups/archive.ts";
import { MANIFEST_FILE } from "../../src/operations/backups/backup-manifest.ts";
import { newBackupPath } from "./backup-site.ts";

export const BLOCK_SIZE = 512;

/** Files with sizes around a block boundary, an empty file, and every byte value. */
export const SAMPLE_FILES: Readonly<Record<string, Uint8Array>> = {
  "identity.jwk": Buffer.from("a key\n"),
  "state.json": Uint8Array.from({ length: BLOCK_SIZE }, (_, index) => index),
  "journal-18.jsonl": new Uint8Array(),
  "journal-19.jsonl": Buffer.alloc(BLOCK_SIZE + 1, "x"),
  "history/2026-03.jsonl": Buffer.alloc(BLOCK_SIZE - 1, "y"),
  "history/2026-03-7.jsonl": Buffer.from("ü\u0000\n"),
  [MANIFEST_FILE]: Buffer.from("{}\n"),
};

/** Writes an archive of these files in this order and returns its path. */
export function writeArchive(files: Readonly<Record<string, Uint8Array>> = SAMPLE_FILES): string {
  const path = newBackupPath();
  const file = realDisk.open(path);
  const writer = new ArchiveWriter(file);
  for (const [name, bytes] of Object.entries(files)) writer.add(name, bytes.length, [bytes]);
  writer.end();
  file.close();
  return path;
}

/** The files of a tar archive as text, in their order. */
export function readArchive(path: string): Map<string, string> {
  const bytes = readFileSync(path);
  const files = new Map<string, string>();
  const field = (at: number, length: number): string =>
    bytes.toString("utf8", at, at + length).replace(/\0.*$/s, "");
  for (let at = 0; field(at, 100) !== "";) {
    const size = Number.parseInt(field(at + 124, 12), 8);
    files.set(field(at, 100), bytes.toString("utf8", at + BLOCK_SIZE, at + BLOCK_SIZE + size));
    at += BLOCK_SIZE + Math.ceil(size / BLOCK_SIZE) * BLOCK_SIZE;
  }
  return files;
}
