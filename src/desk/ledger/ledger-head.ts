import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { replaceFile } from "../../platform/files/files.ts";
import { HEAD_FILE, LEDGER_FILE, type LedgerLine } from "./ledger-lines.ts";

/** The end of the ledger when it was last written: the chain cannot show a cut-off end. */
export interface LedgerHead {
  readonly lines: number;
  /** The hash of the last line. */
  readonly sum: string;
}

/** Null: the file does not exist or cannot be read. */
export function readLedgerHead(disk: Disk, folder: string): LedgerHead | null {
  const bytes = disk.read(join(folder, HEAD_FILE));
  if (bytes === null) return null;
  try {
    const { lines, sum } = JSON.parse(new TextDecoder().decode(bytes)) as Partial<LedgerHead>;
    return typeof lines === "number" && typeof sum === "string" ? { lines, sum } : null;
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
 * must be read before the ledger, or another command could append in between.
 */
export function findLedgerLoss(
  head: LedgerHead | null,
  lines: readonly Pick<LedgerLine, "sum">[],
): string | null {
  if (head === null || head.lines < 1) return null;
  if (lines.length < head.lines) {
    return `${LEDGER_FILE} has only ${lines.length} of its ${head.lines} lines`;
  }
  return lines[head.lines - 1]?.sum === head.sum
    ? null
    : `${LEDGER_FILE} line ${head.lines} was changed after it was written`;
}

export const LEDGER_LOSS_HINT =
  "restore ledger.jsonl from a backup; to continue without the lost lines, empty ledger.head";
