import { createHash, timingSafeEqual } from "node:crypto";
import { randomToken } from "../../platform/crypto/random.ts";

const TOKEN_PREFIX = "berth_";

/** A new secret, for tokens and sessions. */
export const createSecret = (): string => `${TOKEN_PREFIX}${randomToken()}`;

/** The form in which a token is stored. */
export const hashToken = (token: string): string =>
  createHash("sha256").update(token).digest("hex");

interface Entry<T> {
  readonly sha256: string;
  readonly bytes: Buffer;
  readonly value: T;
}

/** Hexadecimal digits of a digest that find its entry: 64 bits, so two entries never share them. */
const PREFIX_LENGTH = 16;

/**
 * Values by the SHA-256 of a secret, oldest first. A lookup takes the same time for any number of
 * values. The beginning of the digest finds the entry, and the whole digest is compared in constant
 * time: so the time of a lookup does not help to guess a secret.
 */
export class DigestMap<T> {
  readonly #entries = new Map<string, Entry<T>>();

  get size(): number {
    return this.#entries.size;
  }

  get(sha256: string): T | null {
    const entry = this.#entries.get(sha256.slice(0, PREFIX_LENGTH));
    if (entry === undefined) return null;
    return timingSafeEqual(entry.bytes, Buffer.from(sha256, "hex")) ? entry.value : null;
  }

  set(sha256: string, value: T): void {
    const bytes = Buffer.from(sha256, "hex");
    this.#entries.set(sha256.slice(0, PREFIX_LENGTH), { sha256, bytes, value });
  }

  delete(sha256: string): void {
    if (this.get(sha256) !== null) this.#entries.delete(sha256.slice(0, PREFIX_LENGTH));
  }

  *entries(): Generator<readonly [sha256: string, value: T]> {
    for (const { sha256, value } of this.#entries.values()) yield [sha256, value];
  }
}
