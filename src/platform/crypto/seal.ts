import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";

export const SEALING_KEY_LENGTH = 32;

const VERSION = 1;
const CIPHER = "aes-256-gcm";
const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;

/** Why sealed bytes could not be opened. */
export type UnsealProblem = "incomplete" | "of an unknown version" | "damaged";

/**
 * Encrypts with AES-256-GCM: byte 0 is the version, then 12 bytes of nonce, the encrypted content,
 * and 16 bytes of tag. It can be opened only with the same key for the same purpose.
 */
export function seal(content: Uint8Array, key: Uint8Array, purpose: string): Uint8Array {
  const nonce = randomBytes(NONCE_LENGTH);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_LENGTH });
  cipher.setAAD(additionalData(purpose));
  const sealed = [cipher.update(content), cipher.final()];
  return Buffer.concat([Buffer.of(VERSION), nonce, ...sealed, cipher.getAuthTag()]);
}

/** Returns the content, or why it cannot be opened. */
export function unseal(
  bytes: Uint8Array,
  key: Uint8Array,
  purpose: string,
): Uint8Array | UnsealProblem {
  const end = bytes.length - TAG_LENGTH;
  const start = 1 + NONCE_LENGTH;
  if (end < start) return "incomplete";
  if (bytes[0] !== VERSION) return "of an unknown version";
  try {
    const nonce = bytes.subarray(1, start);
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_LENGTH });
    decipher.setAAD(additionalData(purpose));
    decipher.setAuthTag(bytes.subarray(end));
    return Buffer.concat([decipher.update(bytes.subarray(start, end)), decipher.final()]);
  } catch {
    return "damaged";
  }
}

/** Bytes of another version, or of another purpose with the same key, are not accepted. */
const additionalData = (purpose: string): Uint8Array =>
  Buffer.from(`${String.fromCharCode(VERSION)}berth ${purpose}`);
