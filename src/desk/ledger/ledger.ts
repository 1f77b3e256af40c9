import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { appendFile, replaceFile } from "../../platform/files/files.ts";
import { accountName } from "../../platform/account.ts";
import { GENESIS, sha256 } from "../../platform/crypto/hash.ts";
import { cutFile } from "./cut-file.ts";
import {
  findLedgerLoss,
  LEDGER_LOSS_HINT,
  readLedgerHead,
  updateLedgerHead,
  type LedgerHead,
  type LedgerPosition,
} from "./ledger-head.ts";
import { LEDGER_FILE, LEDGER_FORMAT } from "./ledger-lines.ts";
import { DeskRefused } from "../desk-refused.ts";
import type { LedgerEntry, StatementEntry, StoredLine } from "./ledger-entries.ts";
import { LedgerIndex } from "./ledger-index.ts";
import { LEDGER_START, scanLedger, scanTrustedLedger, type ScannedLedger } from "./scan-ledger.ts";
import {
  readStatementDocuments,
  storeStatement,
  type StatementDocuments,
} from "./statement-file.ts";
import { StatementIndex } from "./statement-index.ts";

/**
 * The append-only list of everything the desk signed or received. A line is on disk before its
 * document is output. Each line holds the hash of the line before (`prev`), so that a changed or
 * removed line is detected. `ledger.head` holds the position of the last line.
 */
export class Ledger extends LedgerIndex {
  readonly #disk: Disk;
  readonly #folder: string;
  #end: LedgerPosition;
  /** Messages for the user of the desk. */
  readonly notes: readonly string[];
  /** Which lines are lost since the last append; then nothing more is appended. */
  readonly loss: string | null;

  private constructor(disk: Disk, folder: string, { scanned, head, notes }: ReadLedger) {
    super(new StatementIndex(disk, folder));
    this.#disk = disk;
    this.#folder = folder;
    this.#end = scanned.end;
    this.loss = findLedgerLoss(head, scanned.end.lines, scanned.headSum);
    this.notes = this.loss === null ? notes : [...notes, this.loss];
    for (const entry of scanned.entries) this.add(entry);
  }

  /** Cuts off an interrupted write, which never counted; refuses any other damage. */
  static async open(disk: Disk, folder: string): Promise<Ledger> {
    const read = readLedger(disk, folder);
    if (read.scanned.rest === 0 && read.scanned.fault === null)
      return new Ledger(disk, folder, read);
    // Read again: another command may have been writing that line.
    return withDeskLock(disk, folder, async () => {
      const { scanned, head } = readLedger(disk, folder);
      refuseDamage(join(folder, LEDGER_FILE), scanned);
      const notes = await cutOffTornLine(disk, folder, scanned);
      return new Ledger(disk, folder, { scanned, head, notes });
    });
  }

  /** Creates a ledger with its first lines, all of them or none. */
  static async create(disk: Disk, folder: string, entries: readonly LedgerEntry[]): Promise<void> {
    const by = accountName();
    const { text, end } = formatLines(
      entries.map((entry) => ({ ...entry, by })),
      LEDGER_START,
    );
    await replaceFile(disk, join(folder, LEDGER_FILE), Buffer.from(text));
    await updateLedgerHead(disk, folder, end);
  }

  /**
   * Runs `work` while no other command writes to the desk, and after it has read what others wrote:
   * what `work` decides, signs and appends is one step. Nothing waits for a person in it.
   */
  transact<T>(work: (append: Append) => Promise<T>): Promise<T> {
    return withDeskLock(this.#disk, this.#folder, async () => {
      await this.#readOn();
      this.refuseIfIncomplete();
      return work((...entries) => this.#append(entries));
    });
  }

  /** In `transact` only, before the entry that names the position. */
  storeStatement(documents: StatementDocuments): Promise<StoredLine> {
    const last = this.lastStatement()?.stored ?? null;
    return storeStatement(this.#disk, this.#folder, documents, last);
  }

  readStatement(entry: StatementEntry): StatementDocuments {
    const read = readStatementDocuments(this.#disk, this.#folder, entry);
    if (read.ok) return read.value;
    throw new DeskRefused(
      `statement ${entry.n} of appliance ${entry.appliance} ${read.fault}`,
      "restore that file from a backup; berth vendor verify names the line of the ledger",
    );
  }

  /** Takes lines as if they were appended: to find out what would follow, and then be discarded. */
  assume(...entries: readonly LedgerEntry[]): void {
    for (const entry of entries) this.add(entry);
  }

  /** Without the lost lines, the desk could sell the same license key or serial twice. */
  refuseIfIncomplete(): void {
    if (this.loss !== null) throw new DeskRefused(this.loss, LEDGER_LOSS_HINT);
  }

  /** Reads what other commands appended, and what an interrupted append of this one left. */
  async #readOn(): Promise<void> {
    const path = join(this.#folder, LEDGER_FILE);
    const size = this.#disk.stat(path)?.size ?? 0;
    if (size === this.#end.size) return;
    if (size < this.#end.size) throw shortened(path);
    const scanned = scanLedger(this.#disk, path, { start: this.#end });
    refuseDamage(path, scanned);
    await cutOffTornLine(this.#disk, this.#folder, scanned);
    this.#count(scanned.entries, scanned.end);
  }

  /** Durable when it returns. */
  async #append(lines: readonly LedgerEntry[]): Promise<void> {
    const by = accountName();
    const entries = lines.map((entry) => ({ ...entry, by }));
    const { text, end } = formatLines(entries, this.#end);
    await appendFile(this.#disk, join(this.#folder, LEDGER_FILE), text);
    this.#count(entries, end);
    await updateLedgerHead(this.#disk, this.#folder, end);
  }

  #count(entries: ScannedLedger["entries"], end: LedgerPosition): void {
    for (const entry of entries) this.add(entry);
    this.#end = end;
  }
}

/** Appends lines, which are durable when it returns: after an interruption, all of them or none. */
export type Append = (...entries: readonly LedgerEntry[]) => Promise<void>;

interface ReadLedger {
  readonly scanned: ScannedLedger;
  readonly head: LedgerHead | null;
  readonly notes: readonly string[];
}

/** Checks the chain from `ledger.head` on, or all of it if the ledger does not have that line. */
function readLedger(disk: Disk, folder: string): ReadLedger {
  const head = readLedgerHead(disk, folder);
  const path = join(folder, LEDGER_FILE);
  if (disk.stat(path) === null)
    throw new DeskRefused(`${path} is missing`, "restore it from a backup");
  const scanned = (head && scanTrustedLedger(disk, path, head)) ?? scanLedger(disk, path, { head });
  return { scanned, head, notes: [] };
}

function refuseDamage(path: string, { fault }: ScannedLedger): void {
  if (fault === null) return;
  throw new DeskRefused(
    `${path} ${fault.problem} at line ${fault.line}`,
    "restore it from a backup; another program than berth wrote to it",
  );
}

/** Moves an interrupted write, which never counted, to another file. Under the lock. */
async function cutOffTornLine(
  disk: Disk,
  folder: string,
  { end, rest }: ScannedLedger,
): Promise<string[]> {
  if (rest === 0) return [];
  const path = join(folder, LEDGER_FILE);
  const tornPath = await cutFile(disk, path, end.size, rest);
  return [`${path} ended in an interrupted write; its ${rest} bytes were moved to ${tornPath}`];
}

const shortened = (path: string): DeskRefused =>
  new DeskRefused(`${path} became shorter while it was open`, "run the command again");

/** The lines of `entries` after a position, and the one after them. */
function formatLines(entries: readonly LedgerEntry[], before: LedgerPosition) {
  let { sum } = before;
  const lines = entries.map((entry, index) => {
    const format = sum === GENESIS && { format: LEDGER_FORMAT };
    const together = index === 0 && entries.length > 1 && { together: entries.length };
    const line = JSON.stringify({ ...entry, ...together, ...format, prev: sum });
    sum = sha256(line);
    return `${line}\n`;
  });
  const text = lines.join("");
  const size = before.size + Buffer.byteLength(text);
  return { text, end: { lines: before.lines + entries.length, sum, size } };
}

/** So long a command waits for others. */
const MAX_WAIT_MS = 10_000;
const PAUSE_MS = 20;

/** Runs `work` while no other command can write to the desk's folder; waits for others. */
export async function withDeskLock<T>(
  disk: Disk,
  folder: string,
  work: () => Promise<T>,
): Promise<T> {
  const path = join(folder, `${LEDGER_FILE}.lock`);
  const deadline = performance.now() + MAX_WAIT_MS;
  let lock = disk.lock(path);
  while (lock === null && performance.now() < deadline) {
    await Bun.sleep(PAUSE_MS);
    lock = disk.lock(path);
  }
  if (lock === null) {
    throw new DeskRefused(
      `the desk is busy: another command has been writing to it for ${MAX_WAIT_MS / 1_000} s`,
      "run the command again",
    );
  }
  try {
    return await work();
  } finally {
    lock.release();
  }
}
