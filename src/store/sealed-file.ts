import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { join } from "node:path";
import { errorCode, type Disk } from "../platform/disk.ts";
import { replaceFile } from "../platform/files.ts";

/** Neither of the two belongs in a backup. */
export const SEALED = "credentials.sealed";
export const SEALING_KEY = "sealing.key";

export interface Credentials {
  readonly apiKey: string | null;
  readonly sharedKey: string | null;
}

export interface Unsealed extends Credentials {
  /** Only `unusable` is worth a warning: there is a file, and nobody can open it. */
  readonly found: "opened" | "absent" | "unusable";
  /** Why nothing is set, without any secret; null when the file was opened. */
  readonly note: string | null;
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
  readonly #given: Uint8Array | null;
  #queue: Promise<unknown> = Promise.resolve();
  /** After a failed change nobody can say which pair a power cut would leave. */
  #unsure = false;

  constructor(disk: Disk, folder: string, { key = null }: SealedFileOptions = {}) {
    if (key !== null && key.length !== KEY_LENGTH) {
      throw new Error(`a sealing key has ${KEY_LENGTH} bytes, and this one has ${key.length}`);
    }
    this.#disk = disk;
    this.#folder = folder;
    this.#given = key;
  }

  /** Never rejects. Waits for changes under way: what is not durable yet is not shown. */
  read(): Promise<Unsealed> {
    return this.#inTurn(() => {
      try {
        return this.#unseal();
      } catch (error) {
        return notSet("unusable", `${SEALED} cannot be read (${errorCode(error) ?? "error"})`);
      }
    });
  }

  /**
   * Durable when it returns, both values in one step; names what changed. What is left out stays as
   * it is; null takes a value away. After a rejection the old or the new pair is there.
   */
  change(update: Partial<Credentials>): Promise<(keyof Credentials)[]> {
    return this.#inTurn(() => this.#change(update));
  }

  async #change(update: Partial<Credentials>): Promise<(keyof Credentials)[]> {
    const given = NAMES.filter((name) => update[name] !== undefined);
    const old = this.#before(given.length === NAMES.length);
    // Values nobody can open may be the same ones or others: all that is given counts as changed.
    const unknown = this.#unsure || old.found === "unusable";
    const changed = given.filter((name) => unknown || update[name] !== old[name]);
    if (changed.length === 0) {
      // It may have been renamed into place by a process that died before its sync.
      await this.#disk.syncFolder(this.#folder);
      return [];
    }
    const { apiKey = old.apiKey, sharedKey = old.sharedKey } = update;
    this.#unsure = true;
    await this.#replace(SEALED, seal({ apiKey, sharedKey }, await this.#keyToSeal()));
    this.#unsure = false;
    return changed;
  }

  /**
   * A disk that fails to read may still hold a good pair: half of it must not be lost to a change
   * of the other half. A change of both needs nothing from the old one.
   */
  #before(whole: boolean): Unsealed {
    try {
      return this.#unseal();
    } catch (error) {
      if (!whole) throw error;
      return notSet("unusable", "");
    }
  }

  /** Throws only what the disk throws. */
  #unseal(): Unsealed {
    const bytes = this.#disk.read(join(this.#folder, SEALED));
    if (bytes === null) return notSet("absent", `${SEALED} does not exist`);
    const key = this.#key();
    if (key === null) {
      return notSet("unusable", `${SEALED} cannot be opened: ${SEALING_KEY} is missing or damaged`);
    }
    return unseal(bytes, key);
  }

  /** Null when there is none, or none that could ever have sealed anything. */
  #key(): Uint8Array | null {
    if (this.#given !== null) return this.#given;
    const key = this.#disk.read(join(this.#folder, SEALING_KEY));
    return key?.length === KEY_LENGTH ? key : null;
  }

  async #keyToSeal(): Promise<Uint8Array> {
    const key = this.#key();
    if (key !== null) return key;
    const made = randomBytes(KEY_LENGTH);
    await this.#replace(SEALING_KEY, made);
    return made;
  }

  #replace(name: string, bytes: Uint8Array): Promise<void> {
    return replaceFile(this.#disk, join(this.#folder, name), bytes);
  }

  #inTurn<T>(step: () => T | Promise<T>): Promise<T> {
    const turn = this.#queue.then(step);
    this.#queue = turn.catch(() => {});
    return turn;
  }
}

const NAMES = ["apiKey", "sharedKey"] as const;

const VERSION = 1;
const CIPHER = "aes-256-gcm";
const KEY_LENGTH = 32;
const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;

/** Signed along: no other file sealed with the same key, and no other version, passes for this. */
const PURPOSE = Buffer.from(`${String.fromCharCode(VERSION)}berth ${SEALED}`);

function seal(credentials: Credentials, key: Uint8Array): Uint8Array {
  const nonce = randomBytes(NONCE_LENGTH);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_LENGTH });
  cipher.setAAD(PURPOSE);
  const text = JSON.stringify(credentials);
  const sealed = [cipher.update(text, "utf8"), cipher.final()];
  return Buffer.concat([Buffer.of(VERSION), nonce, ...sealed, cipher.getAuthTag()]);
}

function unseal(bytes: Uint8Array, key: Uint8Array): Unsealed {
  const end = bytes.length - TAG_LENGTH;
  const start = 1 + NONCE_LENGTH;
  if (end < start) return notSet("unusable", `${SEALED} is incomplete`);
  if (bytes[0] !== VERSION) return notSet("unusable", `${SEALED} has an unknown version`);
  try {
    const nonce = bytes.subarray(1, start);
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_LENGTH });
    decipher.setAAD(PURPOSE);
    decipher.setAuthTag(bytes.subarray(end));
    const text = Buffer.concat([decipher.update(bytes.subarray(start, end)), decipher.final()]);
    const { apiKey, sharedKey } = JSON.parse(text.toString()) as Credentials;
    return { apiKey, sharedKey, found: "opened", note: null };
  } catch {
    // Not even the reason: a parser's message quotes what it read.
    return notSet("unusable", `${SEALED} was damaged or encrypted with another key`);
  }
}

const notSet = (found: "absent" | "unusable", note: string): Unsealed => ({
  apiKey: null,
  sharedKey: null,
  found,
  note,
});
