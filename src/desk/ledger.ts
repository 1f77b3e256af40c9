import { dirname, join } from "node:path";
import type { RetiredKey } from "../domain/state.ts";
import type { Disk } from "../platform/disk.ts";
import { appendFile, replaceFile } from "../platform/files.ts";
import { sha256 } from "../platform/hash.ts";
import { LEDGER_LOSS_HINT, findLedgerLoss, writeLedgerHead } from "./ledger-head.ts";
import {
  parseLedgerLines,
  LEDGER_FILE,
  describeUnchainedLines,
  trimToCompleteLines,
} from "./ledger-lines.ts";
import { findEndingReceipt } from "./ending-receipt.ts";
import { DeskRefused } from "./desk-refused.ts";
import type { PublicKey } from "../license/keys.ts";
import type { TermsDocument } from "../license/terms.ts";

/** A license that left the desk: everything needed to renew it where nothing can come in. */
export interface IssuedEntry {
  readonly type: "issued";
  readonly at: string;
  readonly license_id: number;
  readonly serial: number;
  readonly appliance: string;
  /** Null where only a code went out. */
  readonly jwk: PublicKey | null;
  readonly hardware_id: string;
  readonly request_id: string | null;
  /** The site's initialization code, where a code went out for one. */
  readonly initialization_code?: string;
  readonly policy_hash?: string;
  readonly terms: TermsDocument;
  readonly document: string;
}

/** What a license had counted. */
export interface ConsumptionTotal {
  readonly license_id: number;
  readonly total: number;
}

/** How an appliance stood when it asked. */
export interface SeenEntry {
  readonly type: "seen";
  readonly at: string;
  readonly appliance: string;
  readonly request_id: string;
  /** When the site made it, by its own clock; absent in lines of older versions. */
  readonly created_at?: string;
  readonly audit_seq: number;
  readonly sum: string;
  /** What was counted on this vendor's licenses by then; absent in lines of older versions. */
  readonly totals?: readonly ConsumptionTotal[];
  /** The restores it told of, by lineage; absent: none. */
  readonly restores?: readonly string[];
}

/** Somebody decided to go on although a site's record did not continue the one seen last. */
export interface ForkEntry {
  readonly type: "forked";
  readonly at: string;
  readonly appliance: string;
  readonly request_id: string;
  readonly reason: string;
}

export interface ReceiptEntry {
  readonly type: "received";
  readonly at: string;
  readonly appliance: string;
  readonly license_id: number;
  readonly serial: number;
  readonly total_consumptions: number;
  /** When the site gave it back, by its own clock; absent in lines of older versions. */
  readonly removed_at?: string;
}

/** The desk signed a trust document after its first: with another key, or other products. */
export interface TrustEntry {
  readonly type: "trust";
  readonly at: string;
  readonly version: number;
  /** Id of the key that is the current one by this document. */
  readonly key: string;
  readonly products: readonly string[];
  /** The keys that are ended by it; absent: none. */
  readonly retired?: readonly RetiredKey[];
  /** The document itself, to write it again where its file is lost; older lines have none. */
  readonly document?: string;
}

/** A policy that left the desk; ledgers of older versions have none of these lines. */
export interface PolicyEntry {
  readonly type: "policy";
  readonly at: string;
  readonly policy_id: string;
  readonly terms: TermsDocument;
  readonly document: string;
}

export type LedgerEntry =
  IssuedEntry | SeenEntry | ForkEntry | ReceiptEntry | TrustEntry | PolicyEntry;

const busy = (): DeskRefused =>
  new DeskRefused("another command is writing to this desk", "run the command again");

/**
 * What the desk did, only ever added to: a line is on disk before anything leaves the desk. Each
 * line holds the hash of the one before (`prev`), so that none is changed or taken out unnoticed;
 * lines of older versions have none. `ledger.head` tells where the last line was.
 */
export class Ledger {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #entries: LedgerEntry[];
  #size: number;
  /** The hash of the last line. */
  #sum: string;
  /** What the desk's owner should hear about. */
  readonly notes: readonly string[];
  /** What is gone since the last line was added; nothing is added to what is left. */
  readonly loss: string | null;

  private constructor(disk: Disk, path: string, bytes: Uint8Array, notes: readonly string[]) {
    this.#disk = disk;
    this.#path = path;
    this.#size = bytes.length;
    const { entries, lines, sum } = parseLines(path, bytes);
    this.loss = findLedgerLoss(disk, dirname(path), lines);
    // Said until a line of this version follows; from then on by `vendor verify` alone.
    const unchained = lines.at(-1)?.isChained === false ? describeUnchainedLines(lines) : null;
    this.notes = [...notes, ...[this.loss, unchained].filter((note) => note !== null)];
    this.#entries = entries;
    this.#sum = sum;
  }

  /** A write that was interrupted never counted, and is cut off; anything else wrong is refused. */
  static async open(disk: Disk, folder: string): Promise<Ledger> {
    const path = join(folder, LEDGER_FILE);
    const bytes = read(disk, path);
    if (trimToCompleteLines(bytes).length === bytes.length)
      return new Ledger(disk, path, bytes, []);
    return locked(disk, path, async () => {
      // Read again: the line may have been under way a moment ago.
      const now = read(disk, path);
      const whole = trimToCompleteLines(now);
      const torn = now.subarray(whole.length);
      if (torn.length === 0) return new Ledger(disk, path, now, []);
      const kept = `${path}.${whole.length}.torn`;
      const note = `${path} ended in an interrupted write; its ${torn.length} bytes were moved to ${kept}`;
      const ledger = new Ledger(disk, path, whole, [note]);
      await replaceFile(disk, kept, torn);
      await replaceFile(disk, path, whole);
      return ledger;
    });
  }

  static create(disk: Disk, folder: string): Promise<void> {
    return replaceFile(disk, join(folder, LEDGER_FILE), new Uint8Array());
  }

  /** On disk before anything leaves the desk, and only if nobody else wrote meanwhile. */
  append(...entries: readonly LedgerEntry[]): Promise<void> {
    return locked(this.#disk, this.#path, () => this.appendWhileLocked(...entries));
  }

  /** For a caller that holds the desk's lock already. */
  async appendWhileLocked(...entries: readonly LedgerEntry[]): Promise<void> {
    this.refuseIfIncomplete();
    this.refuseIfChanged();
    let sum = this.#sum;
    const lines = entries.map((entry) => {
      const line = JSON.stringify({ ...entry, prev: sum });
      sum = sha256(line);
      return `${line}\n`;
    });
    const text = lines.join("");
    await appendFile(this.#disk, this.#path, text);
    this.#size += Buffer.byteLength(text);
    this.#sum = sum;
    this.#entries.push(...entries);
    await writeLedgerHead(this.#disk, dirname(this.#path), { lines: this.#entries.length, sum });
  }

  /** What was sold by the lost lines could be sold again, or under the same id. */
  refuseIfIncomplete(): void {
    if (this.loss !== null) throw new DeskRefused(this.loss, LEDGER_LOSS_HINT);
  }

  /** Under the lock, before anything is written: another command may have added a line. */
  refuseIfChanged(): void {
    if (this.#disk.stat(this.#path)?.size !== this.#size) throw busy();
  }

  /** No serial of it can serve at its site any more. */
  isReturned({ license_id, appliance }: IssuedEntry): boolean {
    return this.findReceipt({ license_id, appliance, serial: Infinity }) !== null;
  }

  /** The receipt that ends this serial, and every renewal of it, at its site. */
  findReceipt({
    license_id,
    appliance,
    serial,
  }: Pick<IssuedEntry, "license_id" | "appliance" | "serial">): ReceiptEntry | null {
    const same = (one: { license_id: number; appliance: string }): boolean =>
      one.license_id === license_id && one.appliance === appliance;
    const issued = this.issuedEntries().filter(same);
    return findEndingReceipt(serial, issued, this.receiptEntries().filter(same)) ?? null;
  }

  /** Newest first. */
  issuedEntries(): IssuedEntry[] {
    return this.#entries.filter((entry) => entry.type === "issued").toReversed();
  }

  /** Oldest first; older versions left no line of it. */
  trustEntries(): TrustEntry[] {
    return this.#entries.filter((entry) => entry.type === "trust");
  }

  /** Newest first. */
  policyEntries(): PolicyEntry[] {
    return this.#entries.filter((entry) => entry.type === "policy").toReversed();
  }

  receiptEntries(): ReceiptEntry[] {
    return this.#entries.filter((entry) => entry.type === "received");
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

function read(disk: Disk, path: string): Uint8Array {
  const bytes = disk.read(path);
  if (bytes !== null) return bytes;
  throw new DeskRefused(`${path} is missing`, "restore it from a backup");
}

/** While no other command writes to the desk's folder. */
export const withDeskLock = <T>(disk: Disk, folder: string, work: () => Promise<T>): Promise<T> =>
  locked(disk, join(folder, LEDGER_FILE), work);

async function locked<T>(disk: Disk, path: string, work: () => Promise<T>): Promise<T> {
  const lock = disk.lock(`${path}.lock`);
  if (lock === null) throw busy();
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

const damaged = (path: string, line: number, what: string): DeskRefused =>
  new DeskRefused(
    `${path} ${what} at line ${line}`,
    "restore it from a backup; another program than berth wrote to it",
  );
