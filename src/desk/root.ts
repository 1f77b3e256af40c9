import { dirname, join, resolve } from "node:path";
import { SECOND, type Instant } from "../domain/time.ts";
import { signCertificate } from "../license/documents/certificate.ts";
import {
  generateKey,
  keyIdOf,
  publicPart,
  type PrivateKey,
  type PublicKey,
} from "../license/documents/keys.ts";
import type { Disk } from "../platform/files/disk.ts";
import { replaceFile } from "../platform/files/files.ts";
import { DeskRefused } from "./desk-refused.ts";
import { rootKeyFile } from "./key-file.ts";
import { LEDGER_FILE } from "./ledger/ledger-lines.ts";
import {
  readTrustDocument,
  signCheckedTrust,
  TRUST_FILE,
  type TrustDocument,
} from "./trust-document.ts";

export interface NewVendor {
  readonly name: string;
  readonly products: readonly string[];
  readonly passphrase: string | null;
}

/**
 * The root of a vendor, in a folder of its own: it says who the vendor is and which keys issue
 * licenses. The folder has the key, the newest trust document, and the certificates.
 */
export class Root {
  readonly key: PrivateKey;
  readonly trust: TrustDocument;
  /** The ids of the keys that any document it knows retires. */
  readonly retired: readonly string[];
  readonly #disk: Disk;
  readonly #folder: string;

  private constructor(
    disk: Disk,
    folder: string,
    key: PrivateKey,
    trust: TrustDocument,
    retired = trust.vendor.retired,
  ) {
    this.#disk = disk;
    this.#folder = folder;
    this.key = key;
    this.trust = trust;
    this.retired = retired;
  }

  static exists(disk: Disk, folder: string): boolean {
    return disk.stat(folder) !== null && rootKeyFile(disk, folder).files.length > 0;
  }

  static refuseExisting(disk: Disk, folder: string): void {
    refuseInsideDesk(disk, folder);
    if (!Root.exists(disk, folder)) return;
    throw new DeskRefused(
      `${folder} already contains a root key`,
      "specify another folder with --root DIR",
    );
  }

  static async create(
    disk: Disk,
    folder: string,
    { name, products, passphrase }: NewVendor,
  ): Promise<Root> {
    Root.refuseExisting(disk, folder);
    const key = await generateKey();
    const jwk = publicPart(key);
    const vendor = {
      vendor: keyIdOf(jwk),
      name,
      version: 1,
      jwk,
      products: [...new Set(products)],
      retired: [],
    };
    return Root.#write(disk, folder, key, await signCheckedTrust(vendor, key), passphrase);
  }

  /** Restores the key of a vendor, of which the newest trust document is known. */
  static async restore(
    disk: Disk,
    folder: string,
    key: PrivateKey,
    trust: TrustDocument,
    passphrase: string | null,
  ): Promise<Root> {
    Root.refuseExisting(disk, folder);
    if (trust.vendor.jwk.x !== key.x) {
      throw new DeskRefused(
        `the trust document is of the vendor ${trust.vendor.vendor}, and the sheet of the root ${keyIdOf(key)}`,
        "use the trust document of this root",
      );
    }
    const path = join(folder, TRUST_FILE);
    const existing = disk.stat(folder) === null ? null : disk.read(path);
    if (existing !== null && new TextDecoder().decode(existing).trim() !== trust.document) {
      throw new DeskRefused(
        `${path} is another trust document, and may be the newest one`,
        "name the newest one with --trust, and remove this file",
      );
    }
    return Root.#write(disk, folder, key, trust, passphrase);
  }

  /** The key comes last: a folder without a key is no root's folder yet. */
  static async #write(
    disk: Disk,
    folder: string,
    key: PrivateKey,
    trust: TrustDocument,
    passphrase: string | null,
  ): Promise<Root> {
    disk.makeFolder(folder);
    await replaceFile(disk, join(folder, TRUST_FILE), Buffer.from(`${trust.document}\n`));
    await rootKeyFile(disk, folder).write(key, passphrase);
    return new Root(disk, folder, key, trust);
  }

  static needsPassphrase(disk: Disk, folder: string): boolean {
    Root.#refuseMissing(disk, folder);
    return rootKeyFile(disk, folder).isEncrypted;
  }

  static #refuseMissing(disk: Disk, folder: string): void {
    refuseInsideDesk(disk, folder);
    if (Root.exists(disk, folder)) return;
    throw new DeskRefused(
      `${folder} does not contain a root key`,
      "specify the root's folder with --root DIR; berth vendor root restore makes it from the sheet",
    );
  }

  static async open(disk: Disk, folder: string, passphrase: string | null): Promise<Root> {
    Root.#refuseMissing(disk, folder);
    const path = join(folder, TRUST_FILE);
    const bytes = disk.read(path);
    if (bytes === null) {
      throw new DeskRefused(
        `${path} is missing`,
        "copy the newest one there: from the desk, a backup, or a site",
      );
    }
    const trust = await readTrustDocument(new TextDecoder().decode(bytes), path);
    const key = await rootKeyFile(disk, folder).read(passphrase);
    if (key.x === trust.vendor.jwk.x) return new Root(disk, folder, key, trust);
    throw new DeskRefused(
      `the root key in ${folder} is not that of its trust document`,
      "copy the trust document of this root there",
    );
  }

  /**
   * The newer one of two documents counts: the folder may be an older copy, or the desk. If the
   * same version was signed twice, the next one has the retirements of both.
   */
  async startFrom(other: TrustDocument): Promise<Root> {
    if (other.vendor.jwk.x !== this.key.x) {
      throw new DeskRefused(
        "the desk and the root are of different vendors",
        "check --dir and --root",
      );
    }
    const isNewer = other.vendor.version > this.trust.vendor.version;
    const retired = [...new Set([...this.retired, ...other.vendor.retired])];
    if (isNewer) return this.#replaceTrust(other, retired);
    return new Root(this.#disk, this.#folder, this.key, this.trust, retired);
  }

  /** Stores the key with another passphrase, or (null) without any. */
  changePassphrase(passphrase: string | null): Promise<void> {
    return rootKeyFile(this.#disk, this.#folder).write(this.key, passphrase);
  }

  /** Signs the next version of the trust document; the file is replaced. */
  async signNext(change: Partial<Pick<TrustDocument["vendor"], "name" | "products" | "retired">>) {
    const { vendor } = this.trust;
    const retired = [...new Set([...this.retired, ...(change.retired ?? [])])];
    const next = { ...vendor, ...change, retired, version: vendor.version + 1 };
    return this.#replaceTrust(await signCheckedTrust(next, this.key), retired);
  }

  /** The certificate of an issuing key; a copy stays in the folder. */
  async certify(jwk: PublicKey, { from, until }: KeyPeriod): Promise<string> {
    const { vendor, version } = this.trust.vendor;
    const id = keyIdOf(jwk);
    if (jwk.x === this.key.x)
      throw new DeskRefused("the root itself issues no licenses", "certify another key");
    if (this.retired.includes(id))
      throw new DeskRefused(`the key ${id} is retired`, "make a new key: berth vendor key new");
    const content = {
      iss: vendor,
      iat: Math.floor(from / SECOND),
      until: Math.floor(until / SECOND),
      cnf: { jwk: publicPart(jwk) },
      trust: version,
    };
    if (content.iat >= content.until)
      throw new DeskRefused("the key would already have ended", "specify a later day with --until");
    const certificate = await signCertificate(content, this.key);
    await this.keepCertificate(id, certificate);
    return certificate;
  }

  /** So that every key that was certified can be retired without the desk. */
  async keepCertificate(id: string, certificate: string): Promise<void> {
    const path = join(this.#folder, `${id}.cert`);
    await replaceFile(this.#disk, path, Buffer.from(`${certificate}\n`));
  }

  async #replaceTrust(trust: TrustDocument, retired: string[]): Promise<Root> {
    const path = join(this.#folder, TRUST_FILE);
    const bytes = this.#disk.read(path);
    // Else two commands at the same time would sign one version twice, and lose a retirement.
    if (bytes === null || new TextDecoder().decode(bytes).trim() !== this.trust.document)
      throw new DeskRefused(`another command changed ${path}`, "run the command again");
    await replaceFile(this.#disk, path, Buffer.from(`${trust.document}\n`));
    return new Root(this.#disk, this.#folder, this.key, trust, retired);
  }
}

/** A thief of a desk, and a backup of it, must not find the root there. */
export function refuseInsideDesk(disk: Disk, folder: string): void {
  for (let outer = resolve(folder); ; outer = dirname(outer)) {
    if (disk.stat(outer) !== null && disk.stat(join(outer, LEDGER_FILE)) !== null) {
      throw new DeskRefused(
        outer === resolve(folder)
          ? `${folder} is the folder of a desk`
          : `${folder} is inside the folder of a desk, ${outer}`,
        "the root must be outside of it, best on a medium of its own: --root DIR",
      );
    }
    if (dirname(outer) === outer) return;
  }
}

/** The ids of the keys that this root's folder has certificates of. */
export const listCertifiedKeys = (disk: Disk, folder: string): string[] =>
  disk.list(folder).flatMap((name) => CERTIFICATE_FILE.exec(name)?.[1] ?? []);

const CERTIFICATE_FILE = /^([0-9A-HJKMNP-TV-Z]{16})\.cert$/;

export interface KeyPeriod {
  readonly from: Instant;
  /** Exclusive. */
  readonly until: Instant;
}
