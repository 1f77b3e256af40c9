import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { join } from "node:path";
import type { Disk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { replaceFile } from "../../platform/files/files.ts";
import { TaskQueue } from "../../platform/schedule/task-queue.ts";

/** Neither of the two files is part of a backup. */
export const SEALED_FILE = "credentials.sealed";
export const SEALING_KEY_FILE = "sealing.key";

export interface Credentials {
  readonly apiKey: string | null;
  readonly sharedKey: string | null;
}

export interface UnsealedCredentials extends Credentials {
  /** Only `unusable` needs a warning: the file exists but cannot be decrypted. */
  readonly status: "opened" | "absent" | "unusable";
  /** Why the credentials are not set, without any secret; null: they are. */
  readonly problem: string | null;
}

export interface SealedFileOptions {
  /** 32 bytes from outside (systemd credentials); then no key file is read or created. */
  readonly key?: Uint8Array | null;
}

/**
 * The two cloud credentials, encrypted with AES-256-GCM in their own file. A file that cannot be
 * decrypted, for whatever reason, means "not set", and the next change replaces it.
 *
 * Byte 0 is the version, then 12 bytes of nonce, the encrypted JSON, and 16 bytes of tag. Use one
 * object per folder: it queues the changes.
 */
export class SealedFile {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #externalKey: Uint8Array | null;
  readonly #queue = new TaskQueue();
  /** After a failed change it is unknown which pair a power cut would leave. */
  #isUncertain = false;

  constructor(disk: Disk, folder: string, { key = null }: SealedFileOptions = {}) {
    if (key !== null && key.length !== KEY_LENGTH) {
      throw new Error(`a sealing key has ${KEY_LENGTH} bytes, and this one has ${key.length}`);
    }
    this.#disk = disk;
    this.#folder = folder;
    this.#externalKey = key;
  }

  /** Never rejects. Waits for pending changes: values that are not durable yet are not returned. */
  read(): Promise<UnsealedCredentials> {
    return this.#queue.run(() => {
      try {
        return this.#unseal();
      } catch (error) {
        return notSet("unusable", `${SEALED_FILE} cannot be read (${errorCode(error) ?? "error"})`);
      }
    });
  }

  /**
   * Changes both values in one step; durable when it resolves, with the names that changed. A value
   * left out stays as it is; null removes it. After a rejection the old or the new pair is stored.
   */
  change(update: Partial<Credentials>): Promise<(keyof Credentials)[]> {
    return this.#queue.run(() => this.#change(update));
  }

  async #change(update: Partial<Credentials>): Promise<(keyof Credentials)[]> {
    const updatedNames = CREDENTIAL_NAMES.filter((name) => update[name] !== undefined);
    const current = this.#unsealBeforeChange(updatedNames.length === CREDENTIAL_NAMES.length);
    // Values that cannot be decrypted may be the same or not: everything in the update counts as
    // changed.
    const isUnknown = this.#isUncertain || current.status === "unusable";
    const changed = updatedNames.filter((name) => isUnknown || update[name] !== current[name]);
    if (changed.length === 0) {
      // A process may have died between its rename and its sync.
      await this.#disk.syncFolder(this.#folder);
      return [];
    }
    const { apiKey = current.apiKey, sharedKey = current.sharedKey } = update;
    this.#isUncertain = true;
    await this.#replace(SEALED_FILE, seal({ apiKey, sharedKey }, await this.#readOrCreateKey()));
    this.#isUncertain = false;
    return changed;
  }

  /**
   * If the read fails, the disk may still have a good pair: a change of one value must not lose the
   * other. A change of both needs nothing from the old pair.
   */
  #unsealBeforeChange(isCompleteUpdate: boolean): UnsealedCredentials {
    try {
      return this.#unseal();
    } catch (error) {
      if (!isCompleteUpdate) throw error;
      return notSet("unusable", "");
    }
  }

  /** Throws only errors of the disk. */
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

  /** Null: there is no key, or its length is wrong. */
  #readKey(): Uint8Array | null {
    if (this.#externalKey !== null) return this.#externalKey;
    const key = this.#disk.read(join(this.#folder, SEALING_KEY_FILE));
    return key?.length === KEY_LENGTH ? key : null;
  }

  async #readOrCreateKey(): Promise<Uint8Array> {
    const key = this.#readKey();
    if (key !== null) return key;
    const newKey = randomBytes(KEY_LENGTH);
    await this.#replace(SEALING_KEY_FILE, newKey);
    return newKey;
  }

  #replace(name: string, bytes: Uint8Array): Promise<void> {
    return replaceFile(this.#disk, join(this.#folder, name), bytes);
  }
}

const CREDENTIAL_NAMES = ["apiKey", "sharedKey"] as const;

const VERSION = 1;
const CIPHER = "aes-256-gcm";
const KEY_LENGTH = 32;
const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;

/**
 * Additional authenticated data: a file of another version, or another file with the same key, is
 * not accepted.
 */
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
    // The reason is left out: a parser's message quotes what it read.
    return notSet("unusable", `${SEALED_FILE} was damaged or encrypted with another key`);
  }
}

const notSet = (status: "absent" | "unusable", problem: string): UnsealedCredentials => ({
  apiKey: null,
  sharedKey: null,
  status,
  problem,
});
