import { join } from "node:path";
import { idOf, makeKey, publicPart, type PrivateKey } from "../license/keys.ts";
import { lockKey, parseKeyText, unlockKey } from "../license/locked-key.ts";
import { signTrust, verifyTrust, type Vendor } from "../license/trust.ts";
import type { Disk } from "../platform/disk.ts";
import { replaceFile } from "../platform/files.ts";
import { Ledger } from "./ledger.ts";
import { DeskRefused } from "./refusal.ts";

const KEY = "vendor.jwk";
const LOCKED_KEY = "vendor.jwe";
const TRUST = "trust.jwt";

/** In the order they follow on one another. */
const successorName = (version: number): string => `successor-${version}.jwt`;

/** A vendor's licensing desk: its key, the trust document it hands out, and what it did. */
export class Desk {
  readonly vendor: Vendor;
  readonly key: PrivateKey;
  readonly ledger: Ledger;

  private constructor(vendor: Vendor, key: PrivateKey, ledger: Ledger) {
    this.vendor = vendor;
    this.key = key;
    this.ledger = ledger;
  }

  static async make(
    disk: Disk,
    folder: string,
    { name, products, passphrase }: { name: string; products: string[]; passphrase: string | null },
  ): Promise<Desk> {
    disk.makeFolder(folder);
    if (disk.list(folder).some((file) => file === KEY || file === LOCKED_KEY)) {
      throw new DeskRefused(`${folder} is a desk already`, "name another folder with --dir DIR");
    }
    const key = await makeKey();
    const vendor = { vendor: idOf(key), name, version: 1, products, keys: [publicPart(key)] };
    await keep(disk, folder, key, passphrase);
    await replaceFile(disk, join(folder, TRUST), Buffer.from(`${await signTrust(vendor, key)}\n`));
    await Ledger.make(disk, folder);
    return new Desk(vendor, key, await Ledger.open(disk, folder));
  }

  /** This desk with these products besides its own: a trust document of the next version. */
  async licensing(disk: Disk, folder: string, products: readonly string[]): Promise<Desk> {
    const all = [...new Set([...this.vendor.products, ...products])];
    if (all.length === this.vendor.products.length) return this;
    const vendor = { ...this.vendor, version: this.vendor.version + 1, products: all };
    const trust = await signTrust(vendor, this.key);
    await replaceFile(disk, join(folder, TRUST), Buffer.from(`${trust}\n`));
    return new Desk(vendor, this.key, this.ledger);
  }

  /**
   * A new key takes over, by a document that the old one signs; a new site takes `trust.jwt` first
   * and then each successor in turn. The old key file stays.
   */
  async succeed(disk: Disk, folder: string, passphrase: string | null): Promise<Desk> {
    const key = await makeKey();
    const keys = [publicPart(key), ...this.vendor.keys];
    const vendor = { ...this.vendor, version: this.vendor.version + 1, keys };
    const write = (file: string, text: string): Promise<void> =>
      replaceFile(disk, join(folder, file), Buffer.from(`${text}\n`));
    for (const file of [KEY, LOCKED_KEY]) {
      const kept = join(folder, `${idOf(this.key)}.${file}`);
      if (disk.stat(join(folder, file)) !== null) disk.rename(join(folder, file), kept);
    }
    await keep(disk, folder, key, passphrase);
    await write(successorName(vendor.version), await signTrust(vendor, this.key));
    return new Desk(vendor, key, this.ledger);
  }

  static async open(disk: Disk, folder: string, passphrase: string | null): Promise<Desk> {
    const read = (file: string): string | null => {
      const bytes = disk.read(join(folder, file));
      return bytes === null ? null : new TextDecoder().decode(bytes).trim();
    };
    const trust = read(TRUST);
    if (trust === null)
      throw new DeskRefused(`${folder} is not a desk`, "berth vendor init makes one");
    const vendor = await verifyTrust(trust, () => null);
    if (!vendor.ok) throw new DeskRefused(`${join(folder, TRUST)} ${vendor.fault}`, "");
    const key = await unlocked(read(KEY), read(LOCKED_KEY), passphrase);
    let known = vendor.value;
    for (let next = read(successorName(known.version + 1)); next !== null;) {
      const succeeded = await verifyTrust(next, () => known);
      if (!succeeded.ok) throw new DeskRefused(`a successor in ${folder} ${succeeded.fault}`, "");
      known = succeeded.value;
      next = read(successorName(known.version + 1));
    }
    if (!known.keys.some((one) => one.x === key.x)) {
      throw new DeskRefused(`the key in ${folder} is not in its trust document`, "");
    }
    return new Desk(known, key, await Ledger.open(disk, folder));
  }
}

async function keep(
  disk: Disk,
  folder: string,
  key: PrivateKey,
  passphrase: string | null,
): Promise<void> {
  const locked = passphrase === null ? null : await lockKey(key, passphrase);
  const path = join(folder, locked === null ? KEY : LOCKED_KEY);
  await replaceFile(disk, path, Buffer.from(`${locked ?? JSON.stringify(key)}\n`));
}

async function unlocked(
  plain: string | null,
  locked: string | null,
  passphrase: string | null,
): Promise<PrivateKey> {
  if (plain !== null) return whole(parseKeyText(plain));
  if (locked === null) throw new DeskRefused("the vendor's key file is missing", "bring it back");
  if (passphrase === null) {
    throw new DeskRefused("the vendor's key is under a passphrase", "give --passphrase-file FILE");
  }
  const text = await unlockKey(locked, passphrase);
  if (text === null) {
    throw new DeskRefused("the passphrase does not open the vendor's key", "check the file");
  }
  return whole(parseKeyText(text));
}

function whole(key: PrivateKey | null): PrivateKey {
  if (key === null) throw new DeskRefused("the vendor's key file is damaged", "bring it back");
  return key;
}
