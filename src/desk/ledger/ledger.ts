import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { appendFile, replaceFile } from "../../platform/files/files.ts";
import { GENESIS, sha256 } from "../../platform/crypto/hash.ts";
import {
  findLedgerLoss,
  LEDGER_LOSS_HINT,
  readLedgerHead,
  updateLedgerHead,
  type LedgerHead,
} from "./ledger-head.ts";
import {
  parseLedgerLines,
  LEDGER_FILE,
  LEDGER_FORMAT,
  trimToCompleteLines,
} from "./ledger-lines.ts";
import { DeskRefused } from "../desk-refused.ts";
import type { LedgerEntry, StatementEntry, StoredLine } from "./ledger-entries.ts";
import { LedgerIndex } from "./ledger-index.ts";
import {
  readStatementDocuments,
  storeStatement,
  type StatementDocuments,
} from "./statement-file.ts";

/**
 * The append-only list of everything the desk signed or received. A line is on disk before its
 * document is output. Each line holds the hash of the line before (`prev`), so that a changed or
 * removed line is detected. `ledger.head` holds the position of the last line.
 */
export class Ledger extends LedgerIndex {
  readonly #disk: Disk;
  readonly #folder: string;
  #size: number;
  #lines: number;
  /** The hash of the last line. */
  #sum: string;
  /** Messages for the user of the desk. */
  readonly notes: readonly string[];
  /** Which lines are lost since the last append; then nothing more is appended. */
  readonly loss: string | null;

  private constructor(disk: Disk, folder: string, { bytes, head, notes }: ReadLedger) {
    super();
    this.#disk = disk;
    this.#folder = folder;
    this.#size = bytes.length;
    const path = join(folder, LEDGER_FILE);
    const { entries, lines, sum } = parseLines(path, bytes, { number: 1, sum: GENESIS });
    this.loss = findLedgerLoss(head, lines);
    this.notes = this.loss === null ? notes : [...notes, this.loss];
    for (const entry of entries) this.add(entry);
    this.#lines = lines.length;
    this.#sum = sum;
  }

  /** Cuts off an interrupted write, which never counted; refuses any other damage. */
  static async open(disk: Disk, folder: string): Promise<Ledger> {
    const head = readLedgerHead(disk, folder);
    const bytes = readOrRefuse(disk, join(folder, LEDGER_FILE));
    if (trimToCompleteLines(bytes).length === bytes.length)
      return new Ledger(disk, folder, { bytes, head, notes: [] });
    // Read again: another command may have been writing that line.
    return withDeskLock(
      disk,
      folder,
      async () => new Ledger(disk, folder, { head, ...(await cutOffTornLine(disk, folder)) }),
    );
  }

  /** Creates a ledger with its first lines, all of them or none. */
  static async create(disk: Disk, folder: string, entries: readonly LedgerEntry[]): Promise<void> {
    const { text, sum } = formatLines(entries, GENESIS);
    await replaceFile(disk, join(folder, LEDGER_FILE), Buffer.from(text));
    await updateLedgerHead(disk, folder, { lines: entries.length, sum });
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

  /** Without the lost lines, the desk could sell the same license key or serial twice. */
  refuseIfIncomplete(): void {
    if (this.loss !== null) throw new DeskRefused(this.loss, LEDGER_LOSS_HINT);
  }

  /** Reads what other commands appended, and what an interrupted append of this one left. */
  async #readOn(): Promise<void> {
    const path = join(this.#folder, LEDGER_FILE);
    const size = this.#disk.stat(path)?.size ?? 0;
    if (size === this.#size) return;
    if (size < this.#size) throw shortened(path);
    const bytes = this.#disk.readPart(path, this.#size, size - this.#size) ?? new Uint8Array();
    const complete = trimToCompleteLines(bytes);
    if (complete.length < bytes.length) await cutOffTornLine(this.#disk, this.#folder);
    const before = { number: this.#lines + 1, sum: this.#sum };
    const { entries, sum } = parseLines(path, complete, before);
    this.#count(entries, complete.length, sum);
  }

  /** Durable when it returns. */
  async #append(entries: readonly LedgerEntry[]): Promise<void> {
    const { text, sum } = formatLines(entries, this.#sum);
    await appendFile(this.#disk, join(this.#folder, LEDGER_FILE), text);
    this.#count(entries, Buffer.byteLength(text), sum);
    await updateLedgerHead(this.#disk, this.#folder, { lines: this.#lines, sum });
  }

  #count(entries: readonly LedgerEntry[], bytes: number, sum: string): void {
    for (const entry of entries) this.add(entry);
    this.#lines += entries.length;
    this.#size += bytes;
    this.#sum = sum;
  }
}

/** Appends lines, which are durable when it returns. */
export type Append = (...entries: readonly LedgerEntry[]) => Promise<void>;

interface ReadLedger {
  /** Complete lines. */
  readonly bytes: Uint8Array;
  readonly head: LedgerHead | null;
  readonly notes: readonly string[];
}

/** Moves an interrupted write, which never counted, to another file. Under the lock. */
async function cutOffTornLine(disk: Disk, folder: string): Promise<Omit<ReadLedger, "head">> {
  const path = join(folder, LEDGER_FILE);
  const all = readOrRefuse(disk, path);
  const bytes = trimToCompleteLines(all);
  const torn = all.subarray(bytes.length);
  if (torn.length === 0) return { bytes, notes: [] };
  const tornPath = `${path}.${bytes.length}.torn`;
  const note = `${path} ended in an interrupted write; its ${torn.length} bytes were moved to ${tornPath}`;
  await replaceFile(disk, tornPath, torn);
  await replaceFile(disk, path, bytes);
  return { bytes, notes: [note] };
}

const shortened = (path: string): DeskRefused =>
  new DeskRefused(`${path} became shorter while it was open`, "run the command again");

/** The lines of `entries` after a line with this hash, and the hash of the last one. */
function formatLines(entries: readonly LedgerEntry[], before: string) {
  let sum = before;
  const lines = entries.map((entry) => {
    const format = sum === GENESIS && { format: LEDGER_FORMAT };
    const line = JSON.stringify({ ...entry, ...format, prev: sum });
    sum = sha256(line);
    return `${line}\n`;
  });
  return { text: lines.join(""), sum };
}

function readOrRefuse(disk: Disk, path: string): Uint8Array {
  const bytes = disk.read(path);
  if (bytes !== null) return bytes;
  throw new DeskRefused(`${path} is missing`, "restore it from a backup");
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

/** Where parsing begins: the number of the first line, and the hash of the line before it. */
interface ChainStart {
  readonly number: number;
  readonly sum: string;
}

function parseLines(path: string, bytes: Uint8Array, start: ChainStart) {
  const { lines, sum } = parseLedgerLines(bytes, start);
  const entries = lines.map(({ number, entry, fault }) => {
    if (fault !== null || entry === null) throw damaged(path, number, fault ?? "is damaged");
    return entry;
  });
  return { entries, lines, sum };
}

const damaged = (path: string, line: number, problem: string): DeskRefused =>
  new DeskRefused(
    `${path} ${problem} at line ${line}`,
    "restore it from a backup; another program than berth wrote to it",
  );
