import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { GENESIS, sha256 } from "../../platform/crypto/hash.ts";
import { DeskFormatRefused } from "../desk-refused.ts";
import type { LedgerEntry, TrustEntry } from "./ledger-entries.ts";

export const LEDGER_FILE = "ledger.jsonl";
export const HEAD_FILE = "ledger.head";

const LF = 10;

/** Drops the bytes after the last line feed. */
export const trimToCompleteLines = (bytes: Uint8Array): Uint8Array =>
  bytes.subarray(0, bytes.lastIndexOf(LF) + 1);

/** In the first line. Berth 0.2.0 and older, which were never released, wrote no number. */
export const LEDGER_FORMAT = 3;

/** More than the first line of any version has. */
const FIRST_LINE_BYTES = 256 * 1024;

/**
 * Throws if another version wrote the ledger. An empty one has no format, but only older versions
 * had no `ledger.head` beside it. Damage is reported by those who read the lines.
 */
export function refuseOtherFormat(disk: Disk, folder: string): void {
  const bytes = disk.readPart(join(folder, LEDGER_FILE), 0, FIRST_LINE_BYTES);
  if (bytes === null) return;
  const lines = new TextDecoder().decode(trimToCompleteLines(bytes));
  const isEmpty = lines === "";
  const first = parseEntry(lines.slice(0, lines.indexOf("\n")));
  const isFirst = first?.prev === undefined || first.prev === GENESIS;
  if (isEmpty ? disk.stat(join(folder, HEAD_FILE)) !== null : first === null || !isFirst) return;
  const format = first?.format;
  if (format === LEDGER_FORMAT) return;
  throw format === undefined
    ? new DeskFormatRefused(
        "this desk is of Berth 0.2.0 or older, and this version of berth cannot read it",
        "keep that version for it, or begin a new desk with berth vendor init",
      )
    : new DeskFormatRefused(
        `this desk has format ${format}; this version of berth reads format ${LEDGER_FORMAT}`,
        "use the version of berth that wrote it, or a newer one",
      );
}

export interface LedgerLine {
  /** Counted from 1. */
  readonly number: number;
  /** Null: it cannot be read. */
  readonly entry: LedgerEntry | null;
  /** The hash of the line itself. */
  readonly sum: string;
  /** Completes the message "the ledger … at line N"; null: the line is intact. */
  readonly fault: "is damaged" | "does not continue the ledger" | null;
}

/** `first`: the number of the first line, and the hash of the line before it. */
export function parseLedgerLines(
  bytes: Uint8Array,
  first: { readonly number: number; readonly sum: string } = { number: 1, sum: GENESIS },
): { lines: LedgerLine[]; sum: string } {
  let { sum } = first;
  const texts = new TextDecoder().decode(bytes).split("\n").slice(0, -1);
  const lines = texts.map((text, index): LedgerLine => {
    const parsed = parseEntry(text);
    const { prev, format: _format, ...entry } = parsed ?? {};
    const chainFault = prev === sum ? null : "does not continue the ledger";
    sum = sha256(text);
    return {
      number: first.number + index,
      entry: parsed && (entry as LedgerEntry),
      sum,
      fault: parsed === null ? "is damaged" : chainFault,
    };
  });
  return { lines, sum };
}

/**
 * Every complete line with its fault, and the number of bytes after the last one; null: there is
 * no ledger.
 */
export function readLedgerLines(disk: Disk, folder: string) {
  const bytes = disk.read(join(folder, LEDGER_FILE));
  if (bytes === null) return null;
  const complete = trimToCompleteLines(bytes);
  return { lines: parseLedgerLines(complete).lines, torn: bytes.length - complete.length };
}

/** The ledger's trust documents, oldest first; damaged lines are skipped. */
export function readTrustEntries(disk: Disk, folder: string): TrustEntry[] {
  const bytes = disk.read(join(folder, LEDGER_FILE));
  if (bytes === null) return [];
  return new TextDecoder()
    .decode(trimToCompleteLines(bytes))
    .split("\n")
    .filter((text) => text.includes('"type":"trust"'))
    .map(parseEntry)
    .filter((entry) => entry?.type === "trust");
}

type Line = LedgerEntry & {
  /** The hash of the line before. Berth 0.2.0 and older wrote some lines without it. */
  readonly prev?: string;
  /** Of all lines; only in the first one. */
  readonly format?: number;
};

/** Null: the line is not a ledger entry. */
function parseEntry(line: string): Line | null {
  try {
    const entry: unknown = JSON.parse(line);
    const type = (entry as { type?: unknown } | null)?.type;
    return typeof type === "string" ? (entry as Line) : null;
  } catch {
    return null;
  }
}
