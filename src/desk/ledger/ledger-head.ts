import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { replaceFile } from "../../platform/files/files.ts";
import { HEAD_FILE, LEDGER_FILE } from "./ledger-lines.ts";

/** A position in the ledger, after a line. */
export interface LedgerPosition {
  readonly lines: number;
  /** The hash of the last line. */
  readonly sum: string;
  /** In bytes. */
  readonly size: number;
}

/** The end of the ledger when it was last written: the chain cannot show a cut-off end. */
export type LedgerHead = LedgerPosition;

/** Null: the file does not exist or cannot be read. */
export function readLedgerHead(disk: Disk, folder: string): LedgerHead | null {
  const bytes = disk.read(join(folder, HEAD_FILE));
  if (bytes === null) return null;
  try {
    const { lines, sum, size } = JSON.parse(new TextDecoder().decode(bytes)) as Partial<LedgerHead>;
    const isHead = typeof lines === "number" && typeof sum === "string" && typeof size === "number";
    return isHead ? { lines, sum, size } : null;
  } catch {
    return null;
  }
}

const writeLedgerHead = (disk: Disk, folder: string, head: LedgerHead): Promise<void> =>
  replaceFile(disk, join(folder, HEAD_FILE), Buffer.from(`${JSON.stringify(head)}\n`));

/**
 * Called after the lines are durable. The lines count without the head, so a disk error here is
 * ignored: the next append writes the head again.
 */
export async function updateLedgerHead(
  disk: Disk,
  folder: string,
  head: LedgerHead,
): Promise<void> {
  try {
    await writeLedgerHead(disk, folder, head);
  } catch (error) {
    if (errorCode(error) === null) throw error;
  }
}

/**
 * What the ledger lost since its head was written; null: nothing. More lines are no loss: the head
 * must be read before the ledger, or another command could append in between. `headSum`: the hash
 * of the line that it names.
 */
export function findLedgerLoss(
  head: LedgerHead | null,
  lines: number,
  headSum: string | null,
): string | null {
  if (head === null || head.lines < 1) return null;
  if (lines < head.lines) return `${LEDGER_FILE} has only ${lines} of its ${head.lines} lines`;
  return headSum === head.sum
    ? null
    : `${LEDGER_FILE} line ${head.lines} was changed after it was written`;
}

export const LEDGER_LOSS_HINT =
  "restore ledger.jsonl from a backup; to continue without the lost lines, empty ledger.head";
