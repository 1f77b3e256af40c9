import { join } from "node:path";
import { err, ok, type Result } from "../../domain/result.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { appendFile } from "../../platform/files/files.ts";
import { sha256 } from "../../platform/crypto/hash.ts";
import { DeskRefused } from "../desk-refused.ts";
import { cutFile } from "./cut-file.ts";
import type { StatementEntry, StoredLine } from "./ledger-entries.ts";

export const STATEMENTS_FILE = "statements.jsonl";

/** What a line of the file has: the largest part of a statement, which only few commands need. */
export interface StatementDocuments {
  readonly document: string;
  readonly acknowledgement: string;
}

/**
 * Appends a line, durable when it returns; under the desk's lock. The line counts only when the
 * ledger names its position. `last`: the newest line that the ledger names.
 */
export async function storeStatement(
  disk: Disk,
  folder: string,
  { document, acknowledgement }: StatementDocuments,
  last: StoredLine | null,
): Promise<StoredLine> {
  const path = join(folder, STATEMENTS_FILE);
  const from = await cutOffUnknownLines(disk, path, last);
  const line = Buffer.from(JSON.stringify({ document, acknowledgement }));
  await appendFile(disk, path, `${line.toString()}\n`);
  return { from, length: line.length, sum: sha256(line) };
}

const endOf = ({ from, length }: StoredLine): number => from + length + 1;

/** Moves what the ledger does not name to another file; returns where the next line begins. */
async function cutOffUnknownLines(
  disk: Disk,
  path: string,
  last: StoredLine | null,
): Promise<number> {
  const size = disk.stat(path)?.size ?? null;
  const end = last === null ? 0 : endOf(last);
  // Emptied by a person, to go on without lines that were lost.
  if (size === 0) return 0;
  if ((size ?? 0) < end) {
    throw new DeskRefused(
      size === null ? `${path} is missing` : `${path} has only ${size} of its ${end} bytes`,
      `restore it from a backup; to go on without the lost statements, make it an empty file`,
    );
  }
  const unknown = (size ?? 0) - end;
  if (unknown > 0) await cutFile(disk, path, end, unknown);
  return end;
}

/** An entry of a ledger that may be damaged. */
type NamedLine = Partial<Pick<StatementEntry, "stored">>;

/** The bytes after the newest line that the ledger names: an interrupted write. */
export const countUnknownBytes = (disk: Disk, folder: string, last: NamedLine | null): number =>
  (disk.stat(join(folder, STATEMENTS_FILE))?.size ?? 0) - (last?.stored ? endOf(last.stored) : 0);

/** More than a line has: a damaged line of the ledger must not fill the memory. */
const MAX_LINE_BYTES = 1024 * 1024;

/** The documents of a statement; else the problem, to complete a message "the statement …". */
export function readStatementDocuments(
  disk: Disk,
  folder: string,
  { stored }: NamedLine,
): Result<StatementDocuments, string> {
  const { from, length, sum }: Partial<StoredLine> = stored ?? {};
  if (!isOffset(from) || !isOffset(length) || length > MAX_LINE_BYTES)
    return err(`has no position in ${STATEMENTS_FILE}`);
  const bytes = disk.readPart(join(folder, STATEMENTS_FILE), from, length);
  if (bytes === null || bytes.length < length) return err(`is missing in ${STATEMENTS_FILE}`);
  if (sha256(bytes) !== sum) return err(`is damaged in ${STATEMENTS_FILE}`);
  return ok(JSON.parse(new TextDecoder().decode(bytes)) as StatementDocuments);
}

const isOffset = (value: number | undefined): value is number =>
  Number.isSafeInteger(value) && (value ?? -1) >= 0;
