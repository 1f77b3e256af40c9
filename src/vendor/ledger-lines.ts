import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import { GENESIS, sha256 } from "../platform/hash.ts";
import type { Entry, TrustSigned } from "./ledger.ts";

export const LEDGER = "ledger.jsonl";

const LF = 10;

/** Without what stands behind the last line feed. */
export const wholeOf = (bytes: Uint8Array): Uint8Array =>
  bytes.subarray(0, bytes.lastIndexOf(LF) + 1);

export interface LedgerLine {
  /** Counted from 1. */
  readonly number: number;
  /** Null: it cannot be read. */
  readonly entry: Entry | null;
  /** Whether it holds the hash of the line before. */
  readonly isChained: boolean;
  /** Words that finish "the ledger … at line N"; null: nothing is wrong. */
  readonly fault: "is damaged" | "does not continue the ledger" | null;
}

export function checkLines(bytes: Uint8Array): { lines: LedgerLine[]; sum: string } {
  let sum = GENESIS;
  let wasChained = false;
  const texts = new TextDecoder().decode(bytes).split("\n").slice(0, -1);
  const lines = texts.map((text, index): LedgerLine => {
    const parsed = parseEntry(text);
    const { prev, ...entry } = parsed ?? {};
    const isContinued = prev === undefined ? !wasChained : prev === sum;
    const broken = isContinued ? null : "does not continue the ledger";
    sum = sha256(text);
    wasChained ||= prev !== undefined;
    return {
      number: index + 1,
      entry: parsed && (entry as Entry),
      isChained: prev !== undefined,
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
  const bytes = disk.read(join(folder, LEDGER));
  if (bytes === null) return null;
  const whole = wholeOf(bytes);
  return { lines: checkLines(whole).lines, torn: bytes.length - whole.length };
}

/** The trust documents that the ledger knows of, oldest first, without damaged lines. */
export function readTrustLines(disk: Disk, folder: string): TrustSigned[] {
  const bytes = disk.read(join(folder, LEDGER));
  if (bytes === null) return [];
  return new TextDecoder()
    .decode(wholeOf(bytes))
    .split("\n")
    .filter((text) => text.includes('"type":"trust"'))
    .map(parseEntry)
    .filter((entry) => entry?.type === "trust");
}

type Line = Entry & { readonly prev?: string };

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
