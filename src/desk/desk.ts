import { join } from "node:path";
import { SECOND, type Instant } from "../domain/time.ts";
import { keyIdOf, generateKey, publicPart, type PrivateKey } from "../license/documents/keys.ts";
import type { Vendor } from "../license/documents/trust.ts";
import { wallClock } from "../platform/clock.ts";
import type { Disk } from "../platform/files/disk.ts";
import { replaceFile } from "../platform/files/files.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { changePassphrase, hasKeyFile, isCurrentKeyEncrypted, promoteKey } from "./key-file.ts";
import { readCurrentKey, writeKey, type PassphraseChange } from "./key-file.ts";
import { Ledger, withDeskLock } from "./ledger/ledger.ts";
import { loadDeskRecords, readTrustChain, successorFileName, TRUST_FILE } from "./desk-records.ts";
import type { DeskRecords } from "./desk-records.ts";
import { DeskRefused } from "./desk-refused.ts";
import { refuseTooManyKeys, signCheckedTrustDocument } from "./trust-document.ts";

export interface NewDesk {
  readonly name: string;
  readonly products: string[];
  readonly passphrase: string | null;
}

/** When sites stop accepting documents of earlier keys; null: once they have the new document. */
export interface KeyRetirement {
  readonly from: Instant | null;
}

/** A vendor's licensing desk: its key, its newest trust document and its ledger. */
export class Desk implements DeskRecords {
  readonly vendor: Vendor;
  readonly key: PrivateKey;
  readonly ledger: Ledger;
  readonly notes: readonly string[];

  private constructor(
    vendor: Vendor,
    key: PrivateKey,
    ledger: Ledger,
    notes: readonly string[] = [],
  ) {
    this.vendor = vendor;
    this.key = key;
    this.ledger = ledger;
    this.notes = notes;
  }

  /** Called before the user is asked for a new passphrase. */
  static refuseExistingDesk(disk: Disk, folder: string): void {
    if (disk.stat(folder) === null || !hasKeyFile(disk, folder)) return;
    throw new DeskRefused(`${folder} is already a desk`, "specify another folder with --dir DIR");
  }

  static async create(
    disk: Disk,
    folder: string,
    { name, products, passphrase }: NewDesk,
  ): Promise<Desk> {
    Desk.refuseExistingDesk(disk, folder);
    const key = await generateKey();
    const vendor = { vendor: keyIdOf(key), name, version: 1, products, keys: [publicPart(key)] };
    const trust = await signCheckedTrustDocument(vendor, key, null);
    disk.makeFolder(folder);
    await replaceFile(disk, join(folder, TRUST_FILE), Buffer.from(`${trust}\n`));
    await Ledger.create(disk, folder);
    // The key comes last: a folder without a key is not a desk yet, so `create` can run again.
    await writeKey(disk, folder, key, passphrase);
    return new Desk(vendor, key, await Ledger.open(disk, folder));
  }

  /** Adds products by signing the next version of the trust document. */
  async addProducts(disk: Disk, folder: string, products: readonly string[]): Promise<Desk> {
    const all = [...new Set([...this.vendor.products, ...products])];
    if (all.length === this.vendor.products.length) return this;
    return this.#withProducts(disk, folder, all);
  }

  /** Removes a product by signing the next version of the trust document. */
  removeProduct(disk: Disk, folder: string, product: string): Promise<Desk> {
    const remaining = this.vendor.products.filter((code) => code !== product);
    return this.#withProducts(disk, folder, remaining);
  }

  async #withProducts(disk: Disk, folder: string, products: string[]): Promise<Desk> {
    const vendor = { ...this.vendor, version: this.vendor.version + 1, products };
    const trust = await signCheckedTrustDocument(vendor, this.key, this.vendor);
    await withDeskLock(disk, folder, async () => {
      const { files } = await this.#readUnchangedChain(disk, folder);
      await this.ledger.appendWhileLocked(trustEntry(vendor, trust));
      // Once a successor exists, trust.jwt must stay: its key gives the vendor its id.
      const file = files.length === 1 ? TRUST_FILE : successorFileName(vendor.version);
      await replaceFile(disk, join(folder, file), Buffer.from(`${trust}\n`));
    });
    return new Desk(vendor, this.key, this.ledger);
  }

  /**
   * Makes a new key the current one, by a document that the old key signs. A new site installs
   * `trust.jwt` first and then each successor in order. The old key file stays. `retire` retires
   * every earlier key: at once at each site that installs the document, or from an instant on.
   */
  async rotateKey(
    disk: Disk,
    folder: string,
    passphrase: string | null,
    retire: KeyRetirement | null = null,
  ): Promise<Desk> {
    refuseTooManyKeys(this.vendor);
    const key = await generateKey();
    const keys = [publicPart(key), ...this.vendor.keys];
    const vendor: Vendor = {
      ...this.vendor,
      version: this.vendor.version + 1,
      keys,
      ...(retire !== null && { retired: retiredKeys(this.vendor, retire) }),
    };
    const trust = await signCheckedTrustDocument(vendor, this.key, this.vendor);
    await withDeskLock(disk, folder, async () => {
      await this.#readUnchangedChain(disk, folder);
      // The ledger line with the document makes the new key the current one, so the key must be
      // durable before that line.
      await writeKey(disk, folder, key, passphrase, keyIdOf(key));
      await this.ledger.appendWhileLocked(trustEntry(vendor, trust));
      const path = join(folder, successorFileName(vendor.version));
      await replaceFile(disk, path, Buffer.from(`${trust}\n`));
      await promoteKey(disk, folder, vendor);
    });
    return new Desk(vendor, key, this.ledger);
  }

  /** Sets, changes or (null) removes the passphrase. */
  static changePassphrase(
    disk: Disk,
    folder: string,
    old: string | null,
    next: string | null,
  ): Promise<PassphraseChange> {
    return withDeskLock(disk, folder, () => changePassphrase(disk, folder, old, next));
  }

  /** Refuses a folder that is not a desk, before the user is asked. Changes nothing. */
  static async needsPassphrase(disk: Disk, folder: string): Promise<boolean> {
    const { vendor } = await readTrustChain(disk, folder);
    return isCurrentKeyEncrypted(disk, folder, vendor);
  }

  /** A desk with a missing trust document signs nothing; say so before asking a passphrase. */
  static async refuseIncompleteTrustChain(disk: Disk, folder: string): Promise<void> {
    const { fault } = await readTrustChain(disk, folder);
    if (fault !== null) throw new DeskRefused(fault.message, fault.hint);
  }

  /** Opens a desk for signing, after finishing what an interrupted command left. */
  static async open(disk: Disk, folder: string, passphrase: string | null): Promise<Desk> {
    await Desk.refuseIncompleteTrustChain(disk, folder);
    const { vendor, ledger, chain } = await loadDeskRecords(disk, folder);
    ledger.refuseIfIncomplete();
    const { key, isPromotionPending } = await readCurrentKey(disk, folder, vendor, passphrase);
    refuseOtherKey(folder, vendor, key);
    if (isPromotionPending || chain.missingDocuments.length > 0)
      await repair(disk, folder, vendor, isPromotionPending);
    const repairNotes = chain.missingDocuments.map(
      ({ file }) => `${file} was missing and was written again from the ledger`,
    );
    return new Desk(vendor, key, ledger, [...ledger.notes, ...repairNotes]);
  }

  /** Called under the lock: two concurrent commands must not sign two documents of one version. */
  async #readUnchangedChain(disk: Disk, folder: string) {
    this.ledger.refuseIfChanged();
    const chain = await readTrustChain(disk, folder);
    if (chain.vendor.version === this.vendor.version) return chain;
    throw concurrentChange();
  }
}

const concurrentChange = (): DeskRefused =>
  new DeskRefused("another command changed this desk in the meantime", "run the command again");

function refuseOtherKey(folder: string, vendor: Vendor, key: PrivateKey): void {
  const id = keyIdOf(key);
  if (!vendor.keys.some(({ x }) => x === key.x)) {
    throw new DeskRefused(
      `the key in ${folder} is not in its trust document`,
      "if a newer trust document was moved, copy it back; otherwise restore the key from a backup",
    );
  }
  if (vendor.retired?.some((retired) => retired.key === id) === true) {
    throw new DeskRefused(
      `the key in ${folder} (${id}) is retired and can no longer sign`,
      "restore the key that replaced it from a backup",
    );
  }
  if (vendor.keys[0]?.x !== key.x) {
    throw new DeskRefused(
      `the key in ${folder} (${id}) is not the current one of the newest trust document`,
      "restore the key that replaced it from a backup",
    );
  }
}

/** Writes documents that only the ledger has, and finishes an interrupted key promotion. */
const repair = (disk: Disk, folder: string, vendor: Vendor, isPromotionPending: boolean) =>
  withDeskLock(disk, folder, async () => {
    const chain = await readTrustChain(disk, folder);
    if (chain.vendor.version !== vendor.version) throw concurrentChange();
    for (const { file, document } of chain.missingDocuments) {
      await replaceFile(disk, join(folder, file), Buffer.from(`${document}\n`));
    }
    if (isPromotionPending) await promoteKey(disk, folder, vendor);
  });

const trustEntry = (vendor: Vendor, document: string) => ({
  type: "trust" as const,
  at: rfc3339(wallClock()),
  version: vendor.version,
  key: vendor.keys[0] === undefined ? "" : keyIdOf(vendor.keys[0]),
  products: vendor.products,
  ...(vendor.retired !== undefined && { retired: vendor.retired }),
  document,
});

/** The retired keys of the next document. An earlier retirement date is never moved later. */
const retiredKeys = ({ keys, retired = [] }: Vendor, { from }: KeyRetirement) =>
  keys.map((key) => {
    const earlier = retired.find((entry) => entry.key === keyIdOf(key));
    if (from === null || (earlier !== undefined && earlier.from === undefined)) {
      return { key: keyIdOf(key) };
    }
    const second = Math.floor(from / SECOND);
    return { key: keyIdOf(key), from: Math.min(second, earlier?.from ?? second) };
  });
