import { join } from "node:path";
import type { PrivateKey } from "../license/documents/keys.ts";
import { encryptKey, parseKeyText, decryptKeyText } from "../license/documents/encrypted-key.ts";
import type { Disk } from "../platform/files/disk.ts";
import { replaceFile } from "../platform/files/files.ts";
import { DeskRefused } from "./desk-refused.ts";

/** A private key in a folder: NAME.jwk, or NAME.jwe under a passphrase. */
export class KeyFile {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly name: string;

  constructor(disk: Disk, folder: string, name: string) {
    this.#disk = disk;
    this.#folder = folder;
    this.name = name;
  }

  /** The names of the existing files: both, while the passphrase is changed. */
  get files(): readonly string[] {
    return [this.#plain, this.#locked].filter(
      (file) => this.#disk.stat(join(this.#folder, file)) !== null,
    );
  }

  /** Whether a passphrase is needed. A key that is stored in both forms needs none. */
  get isEncrypted(): boolean {
    const { files } = this;
    return files.includes(this.#locked) && !files.includes(this.#plain);
  }

  get #plain(): string {
    return `${this.name}.jwk`;
  }

  get #locked(): string {
    return `${this.name}.jwe`;
  }

  /**
   * Stores the key with or without a passphrase. The other form is removed only when this one is
   * durable, so that one of them can be read at any time.
   */
  async write(key: PrivateKey, passphrase: string | null): Promise<void> {
    const text = passphrase === null ? JSON.stringify(key) : await encryptKey(key, passphrase);
    const [file, other] =
      passphrase === null ? [this.#plain, this.#locked] : [this.#locked, this.#plain];
    await replaceFile(this.#disk, join(this.#folder, file), Buffer.from(`${text}\n`));
    if (!this.files.includes(other)) return;
    this.#disk.remove(join(this.#folder, other));
    await this.#disk.syncFolder(this.#folder);
  }

  async read(passphrase: string | null): Promise<PrivateKey> {
    const plain = this.#readText(this.#plain);
    if (plain !== null) return this.#parse(plain);
    const locked = this.#readText(this.#locked);
    const path = join(this.#folder, this.name);
    if (locked === null)
      throw new DeskRefused(`the key file ${path}.jwk is missing`, "restore it from a backup");
    if (passphrase === null) {
      throw new DeskRefused(
        `the key ${path}.jwe is encrypted`,
        "use --passphrase-file FILE; for the root, --root-passphrase-file FILE",
      );
    }
    const text = await decryptKeyText(locked, passphrase);
    if (text !== null) return this.#parse(text);
    throw new DeskRefused(
      `the passphrase of the key ${path}.jwe is wrong`,
      "check the passphrase; the root and the desk's key have different ones",
    );
  }

  /** Null: this passphrase does not open it. */
  async tryRead(passphrase: string | null): Promise<PrivateKey | null> {
    try {
      return await this.read(passphrase);
    } catch (error) {
      if (error instanceof DeskRefused) return null;
      throw error;
    }
  }

  #parse(text: string): PrivateKey {
    const key = parseKeyText(text);
    if (key !== null) return key;
    const path = join(this.#folder, this.name);
    throw new DeskRefused(`the key file ${path} is damaged`, "restore it from a backup");
  }

  #readText(file: string): string | null {
    const bytes = this.#disk.read(join(this.#folder, file));
    return bytes === null ? null : new TextDecoder().decode(bytes).trim();
  }
}

const ROOT_NAME = "root";

const ISSUING_KEY = /^([0-9A-HJKMNP-TV-Z]{16})\.key\.jw[ek]$/;

export const isIssuingKeyFile = (name: string): boolean => ISSUING_KEY.test(name);

/** The file of an issuing key by its id. */
export const issuingKeyFile = (disk: Disk, folder: string, id: string): KeyFile =>
  new KeyFile(disk, folder, `${id}.key`);

export const rootKeyFile = (disk: Disk, folder: string): KeyFile =>
  new KeyFile(disk, folder, ROOT_NAME);

/** The ids of the issuing keys that have a file, also of those without a certificate. */
export const listIssuingKeys = (disk: Disk, folder: string): string[] => [
  ...new Set(disk.list(folder).flatMap((file) => ISSUING_KEY.exec(file)?.[1] ?? [])),
];
