import { join } from "node:path";
import type { Disk } from "../platform/disk.ts";
import { appendFile } from "../platform/files.ts";
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

/** What the desk did, only ever added to: a line is on disk before anything leaves the desk. */
export class Ledger {
  readonly #disk: Disk;
  readonly #path: string;
  readonly #entries: Entry[];

  constructor(disk: Disk, folder: string) {
    this.#disk = disk;
    this.#path = join(folder, "ledger.jsonl");
    const text = new TextDecoder().decode(disk.read(this.#path) ?? new Uint8Array());
    this.#entries = text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => JSON.parse(line) as Entry);
  }

  async add(...entries: readonly Entry[]): Promise<void> {
    const lines = entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
    await appendFile(this.#disk, this.#path, lines);
    this.#entries.push(...entries);
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
