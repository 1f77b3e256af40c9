import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { GENESIS } from "../../platform/crypto/hash.ts";
import { DeskFormatRefused } from "../desk-refused.ts";
import type { LedgerEntry, TrustEntry } from "./ledger-entries.ts";
import { LineReader } from "./line-reader.ts";

export const LEDGER_FILE = "ledger.jsonl";
export const HEAD_FILE = "ledger.head";

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
  const text = new TextDecoder().decode(bytes);
  const isEmpty = !text.includes("\n");
  const first = parseLine(text.slice(0, text.indexOf("\n")));
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

/** Completes the message "the ledger … at line N". */
export type LineFault = "is damaged" | "does not continue the ledger";

interface LedgerLine {
  /** How many lines were appended together, in the first of them; else 1. */
  readonly together: number;
  /** Null: it cannot be read. */
  readonly entry: LedgerEntry | null;
  /** The hash of the line itself. */
  readonly sum: string;
  /** Null: the line is intact. */
  readonly fault: LineFault | null;
}

/** `before`: the hash of the line before; null: it is unknown, so the chain is not checked. */
export function parseLedgerLine(bytes: Buffer, before: string | null): LedgerLine {
  const line = parseLine(bytes.toString());
  const chainFault =
    before === null || line?.prev === before ? null : "does not continue the ledger";
  return {
    entry: line && withoutChain(line),
    together: line?.together ?? 1,
    sum: Bun.SHA256.hash(bytes, "hex"),
    fault: line === null ? "is damaged" : chainFault,
  };
}

/** Null: the line is not an entry. */
export function parseEntry(bytes: Buffer): LedgerEntry | null {
  const line = parseLine(bytes.toString());
  return line && withoutChain(line);
}

/** The ledger's trust documents, oldest first; damaged lines are skipped. */
export function readTrustEntries(disk: Disk, folder: string): TrustEntry[] {
  const entries: TrustEntry[] = [];
  for (const { bytes } of new LineReader(disk, join(folder, LEDGER_FILE))) {
    const entry = bytes.includes('"type":"trust"') ? parseEntry(bytes) : null;
    if (entry?.type === "trust") entries.push(entry);
  }
  return entries;
}

type Line = LedgerEntry & {
  /** The hash of the line before. Berth 0.2.0 and older wrote some lines without it. */
  readonly prev?: string;
  /** Of all lines; only in the first one. */
  readonly format?: number;
  /** In the first of several lines that were appended at once: they count only together. */
  readonly together?: number;
};

const withoutChain = ({
  prev: _prev,
  format: _format,
  together: _together,
  ...entry
}: Line): LedgerEntry => entry;

/** Null: the line is not a ledger entry. */
function parseLine(line: string): Line | null {
  try {
    const entry: unknown = JSON.parse(line);
    const type = (entry as { type?: unknown } | null)?.type;
    return typeof type === "string" ? (entry as Line) : null;
  } catch {
    return null;
  }
}
