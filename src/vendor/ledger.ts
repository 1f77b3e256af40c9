import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import { appendFile, replaceFile } from "../platform/files.ts";
import { DeskRefused } from "./refusal.ts";
import type { PublicKey } from "../license/keys.ts";
import type { TermsDocument } from "../license/terms.ts";

/** A license that left the desk: everything needed to renew it where nothing can come in. */
export interface Issued {
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

/** How an appliance stood when it asked. */
export interface Seen {
  readonly type: "seen";
  readonly at: string;
  readonly appliance: string;
  readonly request_id: string;
  readonly audit_seq: number;
  readonly sum: string;
  /** The restores it told of, by lineage; absent: none. */
  readonly restores?: readonly string[];
}

/** Somebody decided to go on although a site's record did not continue the one seen last. */
export interface Forked {
  readonly type: "forked";
  readonly at: string;
  readonly appliance: string;
  readonly request_id: string;
  readonly reason: string;
}

export interface Received {
  readonly type: "received";
  readonly at: string;
  readonly appliance: string;
  readonly license_id: number;
  readonly serial: number;
  readonly total_consumptions: number;
}

export type Entry = Issued | Seen | Forked | Received;

const LEDGER = "ledger.jsonl";

const busy = (): DeskRefused =>
  new DeskRefused("another command is writing to this desk", "run it again");

/** What the desk did, only ever added to: a line is on disk before anything leaves the desk. */
export class Ledger {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #entries: Entry[];
  #size: number;

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#path = join(folder, LEDGER);
    const bytes = disk.read(this.#path);
    if (bytes === null) {
      throw new DeskRefused(`${this.#path} is missing`, "bring it back from a backup");
    }
    this.#size = bytes.length;
    const lines = new TextDecoder().decode(bytes).split("\n");
    const torn = lines.pop() !== "";
    this.#entries = lines.map((line, index) => this.#parsed(line, index + 1));
    if (torn) throw this.#damaged(lines.length + 1);
  }

  static make(disk: Disk, folder: string): Promise<void> {
    return replaceFile(disk, join(folder, LEDGER), new Uint8Array());
  }

  /** On disk before anything leaves the desk, and only if nobody else wrote meanwhile. */
  async add(...entries: readonly Entry[]): Promise<void> {
    const lock = this.#disk.lock(`${this.#path}.lock`);
    if (lock === null) throw busy();
    try {
      if (this.#disk.stat(this.#path)?.size !== this.#size) throw busy();
      const text = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
      await appendFile(this.#disk, this.#path, text);
      this.#size += Buffer.byteLength(text);
      this.#entries.push(...entries);
    } finally {
      lock.release();
    }
  }

  #parsed(line: string, number: number): Entry {
    try {
      const entry: unknown = JSON.parse(line);
      const type = (entry as { type?: unknown } | null)?.type;
      if (typeof type === "string") return entry as Entry;
    } catch {
      // Said below, with the line it is in.
    }
    throw this.#damaged(number);
  }

  #damaged(line: number): DeskRefused {
    return new DeskRefused(
      `${this.#path} is damaged at line ${line}`,
      "bring it back from a backup; if only the last line was interrupted, take that line off",
    );
  }

  /** Its newest serial came back with a receipt. */
  isGivenBack({ license_id, appliance }: Issued): boolean {
    const same = (one: { license_id: number; appliance: string }): boolean =>
      one.license_id === license_id && one.appliance === appliance;
    const newest = Math.max(
      ...this.issued()
        .filter(same)
        .map(({ serial }) => serial),
    );
    return this.received().some((one) => same(one) && one.serial >= newest);
  }

  /** Newest first. */
  issued(): Issued[] {
    return this.#entries.filter((entry) => entry.type === "issued").toReversed();
  }

  received(): Received[] {
    return this.#entries.filter((entry) => entry.type === "received");
  }

  lastSeen(appliance: string): Seen | null {
    const seen = this.#entries.filter((entry) => entry.type === "seen");
    return seen.findLast((entry) => entry.appliance === appliance) ?? null;
  }
}
