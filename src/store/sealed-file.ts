import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { join } from "node:path";
import { errorCode, type Disk } from "../platform/disk.ts";
import { replaceFile } from "../platform/files.ts";

/** Neither of the two belongs in a backup. */
export const SEALED_FILE = "credentials.sealed";
export const SEALING_KEY_FILE = "sealing.key";

export interface Credentials {
  readonly apiKey: string | null;
  readonly sharedKey: string | null;
}

export interface UnsealedCredentials extends Credentials {
  /** Only `unusable` is worth a warning: there is a file, and nobody can open it. */
  readonly status: "opened" | "absent" | "unusable";
  /** Why nothing is set, without any secret; null when the file was opened. */
  readonly problem: string | null;
}

export interface SealedFileOptions {
  /** 32 bytes from outside (systemd's credentials); then no key file is read or made. */
  readonly key?: Uint8Array | null;
}

/**
 * The two cloud credentials, sealed with AES-256-GCM in a file of their own. A file that cannot be
 * opened, for whatever reason, means "not set", and the next change replaces it.
 *
 * Byte 0 is the version, then 12 bytes of nonce, the sealed JSON, and 16 bytes of tag. One object
 * per folder: changes wait for one another inside it.
 */
export class SealedFile {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #externalKey: Uint8Array | null;
  #queue: Promise<unknown> = Promise.resolve();
  /** After a failed change nobody can say which pair a power cut would leave. */
  #isUncertain = false;

  constructor(disk: Disk, folder: string, { key = null }: SealedFileOptions = {}) {
    if (key !== null && key.length !== KEY_LENGTH) {
      throw new Error(`a sealing key has ${KEY_LENGTH} bytes, and this one has ${key.length}`);
    }
    this.#disk = disk;
    this.#folder = folder;
    this.#externalKey = key;
  }

  /** Never rejects. Waits for changes under way: what is not durable yet is not shown. */
  read(): Promise<UnsealedCredentials> {
    return this.#enqueue(() => {
      try {
        return this.#unseal();
      } catch (error) {
        return notSet("unusable", `${SEALED_FILE} cannot be read (${errorCode(error) ?? "error"})`);
      }
    });
  }

  /**
   * Durable when it returns, both values in one step; names what changed. What is left out stays as
   * it is; null takes a value away. After a rejection the old or the new pair is there.
   */
  change(update: Partial<Credentials>): Promise<(keyof Credentials)[]> {
    return this.#enqueue(() => this.#change(update));
  }

  async #change(update: Partial<Credentials>): Promise<(keyof Credentials)[]> {
    const given = CREDENTIAL_NAMES.filter((name) => update[name] !== undefined);
    const old = this.#unsealBeforeChange(given.length === CREDENTIAL_NAMES.length);
    // Values nobody can open may be the same ones or others: all that is given counts as changed.
    const unknown = this.#isUncertain || old.status === "unusable";
    const changed = given.filter((name) => unknown || update[name] !== old[name]);
    if (changed.length === 0) {
      // It may have been renamed into place by a process that died before its sync.
      await this.#disk.syncFolder(this.#folder);
      return [];
    }
    const { apiKey = old.apiKey, sharedKey = old.sharedKey } = update;
    this.#isUncertain = true;
    await this.#replace(SEALED_FILE, seal({ apiKey, sharedKey }, await this.#readOrCreateKey()));
    this.#isUncertain = false;
    return changed;
  }

  /**
   * A disk that fails to read may still hold a good pair: half of it must not be lost to a change
   * of the other half. A change of both needs nothing from the old one.
   */
  #unsealBeforeChange(whole: boolean): UnsealedCredentials {
    try {
      return this.#unseal();
    } catch (error) {
      if (!whole) throw error;
      return notSet("unusable", "");
    }
  }

  /** Throws only what the disk throws. */
  #unseal(): UnsealedCredentials {
    const bytes = this.#disk.read(join(this.#folder, SEALED_FILE));
    if (bytes === null) return notSet("absent", `${SEALED_FILE} does not exist`);
    const key = this.#readKey();
    if (key === null) {
      return notSet(
        "unusable",
        `${SEALED_FILE} cannot be opened: ${SEALING_KEY_FILE} is missing or damaged`,
      );
    }
    return unseal(bytes, key);
  }

  /** Null when there is none, or none that could ever have sealed anything. */
  #readKey(): Uint8Array | null {
    if (this.#externalKey !== null) return this.#externalKey;
    const key = this.#disk.read(join(this.#folder, SEALING_KEY_FILE));
    return key?.length === KEY_LENGTH ? key : null;
  }

  async #readOrCreateKey(): Promise<Uint8Array> {
    const key = this.#readKey();
    if (key !== null) return key;
    const made = randomBytes(KEY_LENGTH);
    await this.#replace(SEALING_KEY_FILE, made);
    return made;
  }

  #replace(name: string, bytes: Uint8Array): Promise<void> {
    return replaceFile(this.#disk, join(this.#folder, name), bytes);
  }

  #enqueue<T>(step: () => T | Promise<T>): Promise<T> {
    const turn = this.#queue.then(step);
    this.#queue = turn.catch(() => {});
    return turn;
  }
}

const CREDENTIAL_NAMES = ["apiKey", "sharedKey"] as const;

const VERSION = 1;
const CIPHER = "aes-256-gcm";
const KEY_LENGTH = 32;
const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;

/** Signed along: no other file sealed with the same key, and no other version, passes for this. */
const PURPOSE = Buffer.from(`${String.fromCharCode(VERSION)}berth ${SEALED_FILE}`);

function seal(credentials: Credentials, key: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE_LENGTH);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_LENGTH });
  cipher.setAAD(PURPOSE);
  const text = JSON.stringify(credentials);
  const sealed = [cipher.update(text, "utf8"), cipher.final()];
  return Buffer.concat([Buffer.of(VERSION), nonce, ...sealed, cipher.getAuthTag()]);
}

function unseal(bytes: Uint8Array, key: Uint8Array): UnsealedCredentials {
  const end = bytes.length - TAG_LENGTH;
  const start = 1 + NONCE_LENGTH;
  if (end < start) return notSet("unusable", `${SEALED_FILE} is incomplete`);
  if (bytes[0] !== VERSION) return notSet("unusable", `${SEALED_FILE} has an unknown version`);
  try {
    const nonce = bytes.subarray(1, start);
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_LENGTH });
    decipher.setAAD(PURPOSE);
    decipher.setAuthTag(bytes.subarray(end));
    const text = Buffer.concat([decipher.update(bytes.subarray(start, end)), decipher.final()]);
    const { apiKey, sharedKey } = JSON.parse(text.toString()) as Credentials;
    return { apiKey, sharedKey, status: "opened", problem: null };
  } catch {
    // Not even the reason: a parser's message quotes what it read.
    return notSet("unusable", `${SEALED_FILE} was damaged or encrypted with another key`);
  }
}

const notSet = (found: "absent" | "unusable", note: string): UnsealedCredentials => ({
  apiKey: null,
  sharedKey: null,
  status: found,
  problem: note,
});
