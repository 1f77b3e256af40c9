import { join } from "node:path";
import { SECOND, type Instant } from "../domain/time.ts";
import { keyIdOf, generateKey, publicPart, type PrivateKey } from "../license/keys.ts";
import type { Vendor } from "../license/trust.ts";
import { wallClock } from "../platform/clock.ts";
import type { Disk } from "../platform/disk.ts";
import { replaceFile } from "../platform/files.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { changePassphrase, hasKeyFile, isCurrentKeyEncrypted, promoteKey } from "./key-file.ts";
import { readCurrentKey, writeKey, type PassphraseChange } from "./key-file.ts";
import { Ledger, withDeskLock } from "./ledger.ts";
import { loadDeskRecords, readTrustChain, successorFileName, TRUST_FILE } from "./desk-records.ts";
import type { DeskRecords } from "./desk-records.ts";
import { DeskRefused } from "./desk-refused.ts";
import { refuseTooManyKeys, signCheckedTrustDocument } from "./trust-document.ts";

export interface NewDesk {
  readonly name: string;
  readonly products: string[];
  readonly passphrase: string | null;
}

/** When sites stop taking what earlier keys signed; null: as soon as they know of it. */
export interface KeyRetirement {
  readonly from: Instant | null;
}

/** A vendor's licensing desk: its key, the trust document it hands out, and what it did. */
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

  /** Before somebody thinks of a passphrase for it. */
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
    // At last: a folder without a key is no desk yet, and can be made one again.
    await writeKey(disk, folder, key, passphrase);
    return new Desk(vendor, key, await Ledger.open(disk, folder));
  }

  /** This desk with these products besides its own: a trust document of the next version. */
  async addProducts(disk: Disk, folder: string, products: readonly string[]): Promise<Desk> {
    const all = [...new Set([...this.vendor.products, ...products])];
    if (all.length === this.vendor.products.length) return this;
    return this.#withProducts(disk, folder, all);
  }

  /** This desk without a product: a trust document of the next version. */
  removeProduct(disk: Disk, folder: string, product: string): Promise<Desk> {
    const left = this.vendor.products.filter((one) => one !== product);
    return this.#withProducts(disk, folder, left);
  }

  async #withProducts(disk: Disk, folder: string, products: string[]): Promise<Desk> {
    const vendor = { ...this.vendor, version: this.vendor.version + 1, products };
    const trust = await signCheckedTrustDocument(vendor, this.key, this.vendor);
    await withDeskLock(disk, folder, async () => {
      const { files } = await this.#unchanged(disk, folder);
      await this.ledger.appendWhileLocked(trustEntry(vendor, trust));
      // With another key there is no first document any more: the vendor is named after its first.
      const file = files.length === 1 ? TRUST_FILE : successorFileName(vendor.version);
      await replaceFile(disk, join(folder, file), Buffer.from(`${trust}\n`));
    });
    return new Desk(vendor, this.key, this.ledger);
  }

  /**
   * A new key takes over, by a document that the old one signs; a new site takes `trust.jwt` first
   * and then each successor in turn. The old key file stays. `retire` ends every earlier key: at
   * once at each site that takes the document, or from an instant on.
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
      await this.#unchanged(disk, folder);
      // The document, on the ledger first, makes the new key the current one: so the key is
      // durable before it.
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

  /** Before a passphrase is asked for: what is no desk is refused. Nothing is changed. */
  static async needsPassphrase(disk: Disk, folder: string): Promise<boolean> {
    const { vendor } = await readTrustChain(disk, folder);
    return isCurrentKeyEncrypted(disk, folder, vendor);
  }

  /** Before a passphrase is asked for: a desk that lost something signs nothing. */
  static async refuseIncompleteTrustChain(disk: Disk, folder: string): Promise<void> {
    const { fault } = await readTrustChain(disk, folder);
    if (fault !== null) throw new DeskRefused(fault.message, fault.hint);
  }

  /** To sign: what an earlier command left unfinished is finished first. */
  static async open(disk: Disk, folder: string, passphrase: string | null): Promise<Desk> {
    await Desk.refuseIncompleteTrustChain(disk, folder);
    const { vendor, ledger, chain } = await loadDeskRecords(disk, folder);
    ledger.refuseIfIncomplete();
    const { key, isPromotionPending } = await readCurrentKey(disk, folder, vendor, passphrase);
    refuseOtherKey(folder, vendor, key);
    if (isPromotionPending || chain.missingDocuments.length > 0)
      await finish(disk, folder, vendor, isPromotionPending);
    const again = chain.missingDocuments.map(
      ({ file }) => `${file} was missing and was written again from the ledger`,
    );
    return new Desk(vendor, key, ledger, [...ledger.notes, ...again]);
  }

  /** Under the lock: two commands at once must not make two documents of one version. */
  async #unchanged(disk: Disk, folder: string) {
    this.ledger.refuseIfChanged();
    const chain = await readTrustChain(disk, folder);
    if (chain.vendor.version === this.vendor.version) return chain;
    throw changedMeanwhile();
  }
}

const changedMeanwhile = (): DeskRefused =>
  new DeskRefused("another command changed this desk in the meantime", "run the command again");

function refuseOtherKey(folder: string, vendor: Vendor, key: PrivateKey): void {
  const id = keyIdOf(key);
  if (!vendor.keys.some((one) => one.x === key.x)) {
    throw new DeskRefused(
      `the key in ${folder} is not in its trust document`,
      "if a newer trust document was moved, copy it back; otherwise restore the key from a backup",
    );
  }
  if (vendor.retired?.some((one) => one.key === id) === true) {
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

/** What was interrupted after it was on the ledger, and documents that were lost since. */
const finish = (disk: Disk, folder: string, vendor: Vendor, isWaiting: boolean) =>
  withDeskLock(disk, folder, async () => {
    const now = await readTrustChain(disk, folder);
    if (now.vendor.version !== vendor.version) throw changedMeanwhile();
    for (const { file, document } of now.missingDocuments) {
      await replaceFile(disk, join(folder, file), Buffer.from(`${document}\n`));
    }
    if (isWaiting) await promoteKey(disk, folder, vendor);
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

/** The earlier keys of the next document. One that is ended already is not put off. */
const retiredKeys = ({ keys, retired = [] }: Vendor, { from }: KeyRetirement) =>
  keys.map((key) => {
    const known = retired.find((one) => one.key === keyIdOf(key));
    if (from === null || (known !== undefined && known.from === undefined)) {
      return { key: keyIdOf(key) };
    }
    const second = Math.floor(from / SECOND);
    return { key: keyIdOf(key), from: Math.min(second, known?.from ?? second) };
  });
