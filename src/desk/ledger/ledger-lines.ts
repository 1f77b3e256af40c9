import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { GENESIS, sha256 } from "../../platform/crypto/hash.ts";
import type { LedgerEntry, TrustEntry } from "./ledger-entries.ts";

export const LEDGER_FILE = "ledger.jsonl";

const LF = 10;

/** Drops the bytes after the last line feed. */
export const trimToCompleteLines = (bytes: Uint8Array): Uint8Array =>
  bytes.subarray(0, bytes.lastIndexOf(LF) + 1);

export interface LedgerLine {
  /** Counted from 1. */
  readonly number: number;
  /** Null: it cannot be read. */
  readonly entry: LedgerEntry | null;
  /** Whether it holds the hash of the line before. */
  readonly isChained: boolean;
  /** The hash of the line itself. */
  readonly sum: string;
  /** Completes the message "the ledger … at line N"; null: the line is intact. */
  readonly fault: "is damaged" | "does not continue the ledger" | null;
}

export function parseLedgerLines(bytes: Uint8Array): { lines: LedgerLine[]; sum: string } {
  let sum = GENESIS;
  const texts = new TextDecoder().decode(bytes).split("\n").slice(0, -1);
  const lines = texts.map((text, index): LedgerLine => {
    const parsed = parseEntry(text);
    const { prev, ...entry } = parsed ?? {};
    // An older version adds lines without a hash, before or after the first line with one.
    const isLinked = prev === undefined || prev === sum;
    const chainFault = isLinked ? null : "does not continue the ledger";
    sum = sha256(text);
    return {
      number: index + 1,
      entry: parsed && (entry as LedgerEntry),
      isChained: prev !== undefined,
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

const MAX_LISTED = 10;

/**
 * Names the lines without a hash that follow a line with one: an older version added them, or
 * another program changed the file. Null: there are none.
 */
export function describeUnchainedLines(lines: readonly LedgerLine[]): string | null {
  const first = lines.findIndex(({ isChained }) => isChained);
  const numbers = lines
    .slice(first === -1 ? lines.length : first)
    .filter(({ isChained }) => !isChained)
    .map(({ number }) => number);
  if (numbers.length === 0) return null;
  const more = numbers.length > MAX_LISTED ? ` and ${numbers.length - MAX_LISTED} more` : "";
  const list = `${numbers.slice(0, MAX_LISTED).join(", ")}${more}`;
  const subject = numbers.length === 1 ? `line ${list} has` : `lines ${list} have`;
  return `${LEDGER_FILE} ${subject} no hash of the previous line: an older version of berth added them, or another program changed the file`;
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

type Line = LedgerEntry & { readonly prev?: string };

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
