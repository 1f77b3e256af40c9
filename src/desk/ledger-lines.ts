import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import { GENESIS, sha256 } from "../platform/hash.ts";
import type { LedgerEntry, TrustEntry } from "./ledger.ts";

export const LEDGER_FILE = "ledger.jsonl";

const LF = 10;

/** Without what stands behind the last line feed. */
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
  /** Words that finish "the ledger … at line N"; null: nothing is wrong. */
  readonly fault: "is damaged" | "does not continue the ledger" | null;
}

export function parseLedgerLines(bytes: Uint8Array): { lines: LedgerLine[]; sum: string } {
  let sum = GENESIS;
  const texts = new TextDecoder().decode(bytes).split("\n").slice(0, -1);
  const lines = texts.map((text, index): LedgerLine => {
    const parsed = parseEntry(text);
    const { prev, ...entry } = parsed ?? {};
    // An older version adds lines without a hash, before the first one with it or behind it.
    const isContinued = prev === undefined || prev === sum;
    const broken = isContinued ? null : "does not continue the ledger";
    sum = sha256(text);
    return {
      number: index + 1,
      entry: parsed && (entry as LedgerEntry),
      isChained: prev !== undefined,
      sum,
      fault: parsed === null ? "is damaged" : broken,
    };
  });
  return { lines, sum };
}

/**
 * Every line with what is wrong with it, and how many bytes follow the last whole one; null: there
 * is no ledger.
 */
export function readLedgerLines(disk: Disk, folder: string) {
  const bytes = disk.read(join(folder, LEDGER_FILE));
  if (bytes === null) return null;
  const whole = trimToCompleteLines(bytes);
  return { lines: parseLedgerLines(whole).lines, torn: bytes.length - whole.length };
}

const MOST_NAMED = 10;

/**
 * Names the lines without a hash that stand behind one with it: an older version wrote them, or
 * somebody who changed the file. Null: there is none.
 */
export function describeUnchainedLines(lines: readonly LedgerLine[]): string | null {
  const first = lines.findIndex(({ isChained }) => isChained);
  const numbers = lines
    .slice(first === -1 ? lines.length : first)
    .filter(({ isChained }) => !isChained)
    .map(({ number }) => number);
  if (numbers.length === 0) return null;
  const more = numbers.length > MOST_NAMED ? ` and ${numbers.length - MOST_NAMED} more` : "";
  const which = `${numbers.slice(0, MOST_NAMED).join(", ")}${more}`;
  const what = numbers.length === 1 ? `line ${which} has` : `lines ${which} have`;
  return `${LEDGER_FILE} ${what} no hash of the previous line: an older version of berth added them, or another program changed the file`;
}

/** The trust documents that the ledger knows of, oldest first, without damaged lines. */
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

/** Null when it is none. */
function parseEntry(line: string): Line | null {
  try {
    const entry: unknown = JSON.parse(line);
    const type = (entry as { type?: unknown } | null)?.type;
    return typeof type === "string" ? (entry as Line) : null;
  } catch {
    return null;
  }
}
