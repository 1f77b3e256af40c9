import { randomBytes } from "node:crypto";
import { join } from "node:path";
import {
  seal as sealBytes,
  SEALING_KEY_LENGTH,
  unseal as unsealBytes,
} from "../../platform/crypto/seal.ts";
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
 * Use one object per folder: it queues the changes.
 */
export class SealedFile {
  readonly #disk: Disk;
  readonly #folder: string;
  readonly #externalKey: Uint8Array | null;
  readonly #queue = new TaskQueue();
  /** After a failed change it is unknown which pair a power cut would leave. */
  #isUncertain = false;

  constructor(disk: Disk, folder: string, { key = null }: SealedFileOptions = {}) {
    if (key !== null && key.length !== SEALING_KEY_LENGTH) {
      throw new Error(
        `a sealing key has ${SEALING_KEY_LENGTH} bytes, and this one has ${key.length}`,
      );
    }
    this.#disk = disk;
    this.#folder = folder;
    this.#externalKey = key;
  }

  /** Never rejects. Waits for pending changes: values that are not durable yet are not returned. */
  read(): Promise<UnsealedCredentials> {
    return this.#queue.runTask(() => {
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
    return this.#queue.runTask(() => this.#change(update));
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
    return key?.length === SEALING_KEY_LENGTH ? key : null;
  }

  async #readOrCreateKey(): Promise<Uint8Array> {
    const key = this.#readKey();
    if (key !== null) return key;
    const newKey = randomBytes(SEALING_KEY_LENGTH);
    await this.#replace(SEALING_KEY_FILE, newKey);
    return newKey;
  }

  #replace(name: string, bytes: Uint8Array): Promise<void> {
    return replaceFile(this.#disk, join(this.#folder, name), bytes);
  }
}

const CREDENTIAL_NAMES = ["apiKey", "sharedKey"] as const;

/** A file of another version, or another file with the same key, is not accepted. */
const PURPOSE = SEALED_FILE;

export const encodeCredentials = ({ apiKey, sharedKey }: Credentials): Uint8Array =>
  Buffer.from(JSON.stringify({ apiKey, sharedKey }));

const seal = (credentials: Credentials, key: Uint8Array): Uint8Array =>
  sealBytes(encodeCredentials(credentials), key, PURPOSE);

function unseal(bytes: Uint8Array, key: Uint8Array): UnsealedCredentials {
  const content = unsealBytes(bytes, key, PURPOSE);
  if (content === "incomplete") return notSet("unusable", `${SEALED_FILE} is incomplete`);
  if (content === "of an unknown version") {
    return notSet("unusable", `${SEALED_FILE} has an unknown version`);
  }
  const credentials = content === "damaged" ? null : parseCredentials(content);
  return credentials === null
    ? notSet("unusable", `${SEALED_FILE} was damaged or encrypted with another key`)
    : { ...credentials, status: "opened", problem: null };
}

/** Null: it is not what `seal` encrypted. No reason: a parser's message quotes what it read. */
export function parseCredentials(content: Uint8Array): Credentials | null {
  try {
    const { apiKey, sharedKey } = JSON.parse(Buffer.from(content).toString()) as Credentials;
    return isValue(apiKey) && isValue(sharedKey) ? { apiKey, sharedKey } : null;
  } catch {
    return null;
  }
}

const isValue = (value: unknown): value is string | null =>
  value === null || typeof value === "string";

const notSet = (status: "absent" | "unusable", problem: string): UnsealedCredentials => ({
  apiKey: null,
  sharedKey: null,
  status,
  problem,
});
