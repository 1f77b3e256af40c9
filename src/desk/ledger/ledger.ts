import { dirname, join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { appendFile, replaceFile } from "../../platform/files/files.ts";
import { GENESIS, sha256 } from "../../platform/crypto/hash.ts";
import { LEDGER_LOSS_HINT, findLedgerLoss, updateLedgerHead } from "./ledger-head.ts";
import {
  parseLedgerLines,
  LEDGER_FILE,
  LEDGER_FORMAT,
  trimToCompleteLines,
} from "./ledger-lines.ts";
import { findEndingReceipt } from "../issuing/ending-receipt.ts";
import { DeskRefused } from "../desk-refused.ts";
import type {
  ForkEntry,
  IssuedEntry,
  KeyEntry,
  LedgerEntry,
  PolicyEntry,
  ReceiptEntry,
  SeenEntry,
  StatementEntry,
} from "./ledger-entries.ts";

const concurrentWrite = (): DeskRefused =>
  new DeskRefused("another command is writing to this desk", "run the command again");

/**
 * The append-only list of everything the desk signed or received. A line is on disk before its
 * document is output. Each line holds the hash of the line before (`prev`), so that a changed or
 * removed line is detected. `ledger.head` holds the position of the last line.
 */
export class Ledger {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #entries: LedgerEntry[];
  #size: number;
  /** The hash of the last line. */
  #sum: string;
  /** Messages for the user of the desk. */
  readonly notes: readonly string[];
  /** Which lines are lost since the last append; then nothing more is appended. */
  readonly loss: string | null;

  private constructor(disk: Disk, path: string, bytes: Uint8Array, notes: readonly string[]) {
    this.#disk = disk;
    this.#path = path;
    this.#size = bytes.length;
    const { entries, lines, sum } = parseLines(path, bytes);
    this.loss = findLedgerLoss(disk, dirname(path), lines);
    this.notes = this.loss === null ? notes : [...notes, this.loss];
    this.#entries = entries;
    this.#sum = sum;
  }

  /** Cuts off an interrupted write, which never counted; refuses any other damage. */
  static async open(disk: Disk, folder: string): Promise<Ledger> {
    const path = join(folder, LEDGER_FILE);
    const bytes = readOrRefuse(disk, path);
    if (trimToCompleteLines(bytes).length === bytes.length)
      return new Ledger(disk, path, bytes, []);
    return withLock(disk, path, async () => {
      // Read again: another command may have been writing that line.
      const current = readOrRefuse(disk, path);
      const complete = trimToCompleteLines(current);
      const torn = current.subarray(complete.length);
      if (torn.length === 0) return new Ledger(disk, path, current, []);
      const tornPath = `${path}.${complete.length}.torn`;
      const note = `${path} ended in an interrupted write; its ${torn.length} bytes were moved to ${tornPath}`;
      const ledger = new Ledger(disk, path, complete, [note]);
      await replaceFile(disk, tornPath, torn);
      await replaceFile(disk, path, complete);
      return ledger;
    });
  }

  /** Creates a ledger with its first lines, all of them or none. */
  static async create(disk: Disk, folder: string, entries: readonly LedgerEntry[]): Promise<void> {
    const { text, sum } = formatLines(entries, GENESIS);
    await replaceFile(disk, join(folder, LEDGER_FILE), Buffer.from(text));
    await updateLedgerHead(disk, folder, { lines: entries.length, sum });
  }

  /** Durable when it returns. Refused if another command wrote since this ledger was opened. */
  append(...entries: readonly LedgerEntry[]): Promise<void> {
    return withLock(this.#disk, this.#path, () => this.appendWhileLocked(...entries));
  }

  /** For a caller that already holds the desk's lock. */
  async appendWhileLocked(...entries: readonly LedgerEntry[]): Promise<void> {
    this.refuseIfIncomplete();
    this.refuseIfChanged();
    const { text, sum } = formatLines(entries, this.#sum);
    await appendFile(this.#disk, this.#path, text);
    this.#size += Buffer.byteLength(text);
    this.#sum = sum;
    this.#entries.push(...entries);
    await updateLedgerHead(this.#disk, dirname(this.#path), { lines: this.#entries.length, sum });
  }

  /** Without the lost lines, the desk could sell the same license key or serial twice. */
  refuseIfIncomplete(): void {
    if (this.loss !== null) throw new DeskRefused(this.loss, LEDGER_LOSS_HINT);
  }

  /** Called under the lock before a write: another command may have added a line. */
  refuseIfChanged(): void {
    if (this.#disk.stat(this.#path)?.size !== this.#size) throw concurrentWrite();
  }

  /** Whether no serial of this license can serve at its site any more. */
  isReturned({ license_id, appliance }: IssuedEntry): boolean {
    return this.findReceipt({ license_id, appliance, serial: Infinity }) !== null;
  }

  /** The receipt that ends this serial, and every renewal of it, at its site. */
  findReceipt({
    license_id,
    appliance,
    serial,
  }: Pick<IssuedEntry, "license_id" | "appliance" | "serial">): ReceiptEntry | null {
    const isSameLicense = (entry: { license_id: number; appliance: string }): boolean =>
      entry.license_id === license_id && entry.appliance === appliance;
    const issued = this.issuedEntries().filter(isSameLicense);
    const receipts = this.receiptEntries().filter(isSameLicense);
    return findEndingReceipt(serial, issued, receipts) ?? null;
  }

  /** Newest first. */
  issuedEntries(): IssuedEntry[] {
    return this.#entries.filter((entry) => entry.type === "issued").toReversed();
  }

  /** Oldest first. */
  keyEntries(): KeyEntry[] {
    return this.#entries.filter((entry) => entry.type === "key");
  }

  /** Newest first. */
  policyEntries(): PolicyEntry[] {
    return this.#entries.filter((entry) => entry.type === "policy").toReversed();
  }

  receiptEntries(): ReceiptEntry[] {
    return this.#entries.filter((entry) => entry.type === "received");
  }

  /** Oldest first. */
  statementEntries(): StatementEntry[] {
    return this.#entries.filter((entry) => entry.type === "statement");
  }

  /** Oldest first. */
  forkEntries(): ForkEntry[] {
    return this.#entries.filter((entry) => entry.type === "forked");
  }

  /** Oldest first. */
  seenEntries(appliance: string): SeenEntry[] {
    const seen = this.#entries.filter((entry) => entry.type === "seen");
    return seen.filter((entry) => entry.appliance === appliance);
  }

  lastSeenEntry(appliance: string): SeenEntry | null {
    return this.seenEntries(appliance).at(-1) ?? null;
  }
}

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

/** Runs `work` while no other command can write to the desk's folder. */
export const withDeskLock = <T>(disk: Disk, folder: string, work: () => Promise<T>): Promise<T> =>
  withLock(disk, join(folder, LEDGER_FILE), work);

async function withLock<T>(disk: Disk, path: string, work: () => Promise<T>): Promise<T> {
  const lock = disk.lock(`${path}.lock`);
  if (lock === null) throw concurrentWrite();
  try {
    return await work();
  } finally {
    lock.release();
  }
}

function parseLines(path: string, bytes: Uint8Array) {
  const { lines, sum } = parseLedgerLines(bytes);
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
