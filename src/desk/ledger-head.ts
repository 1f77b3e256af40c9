import { join } from "node:path";
import { errorCode, type Disk } from "../platform/disk.ts";
import { replaceFile } from "../platform/files.ts";
import { LEDGER_FILE, type LedgerLine } from "./ledger-lines.ts";

const HEAD = "ledger.head";

/** How far the ledger had come: its chain alone does not show that its end was cut off. */
export interface LedgerHead {
  readonly lines: number;
  /** The hash of the last of them. */
  readonly sum: string;
}

/** Null: there is none, as in desks of older versions, or it cannot be read. */
function readHead(disk: Disk, folder: string): LedgerHead | null {
  const bytes = disk.read(join(folder, HEAD));
  if (bytes === null) return null;
  try {
    const { lines, sum } = JSON.parse(new TextDecoder().decode(bytes)) as Partial<LedgerHead>;
    return typeof lines === "number" && typeof sum === "string" ? { lines, sum } : null;
  } catch {
    return null;
  }
}

/**
 * After the lines are durable. They count without it, so a disk that refuses it is no reason to
 * refuse what they say: a head that is behind is brought up by the next line.
 */
export async function writeLedgerHead(disk: Disk, folder: string, head: LedgerHead): Promise<void> {
  try {
    await replaceFile(disk, join(folder, HEAD), Buffer.from(`${JSON.stringify(head)}\n`));
  } catch (error) {
    if (errorCode(error) === null) throw error;
  }
}

/** What the ledger lost since its head was written; null: nothing. More lines are fine. */
export function findLedgerLoss(
  disk: Disk,
  folder: string,
  lines: readonly Pick<LedgerLine, "sum">[],
): string | null {
  const head = readHead(disk, folder);
  if (head === null || head.lines < 1) return null;
  if (lines.length < head.lines) {
    return `${LEDGER_FILE} has only ${lines.length} of its ${head.lines} lines`;
  }
  return lines[head.lines - 1]?.sum === head.sum
    ? null
    : `${LEDGER_FILE} line ${head.lines} was changed after it was written`;
}

export const LEDGER_LOSS_HINT =
  "restore ledger.jsonl from a backup; to continue without the lost lines, delete ledger.head";
