import {
  createCipheriv,
  createDecipheriv,
  createPrivateKey,
  createPublicKey,
  diffieHellman,
  generateKeyPairSync,
  hkdfSync,
} from "node:crypto";

/** An X25519 key: `x` is the public part, `d` the secret; both base64url. */
export interface ExchangeKey {
  readonly x: string;
  readonly d: string;
}

export function generateExchangeKey(): ExchangeKey {
  const { x = "", d = "" } = generateKeyPairSync("x25519").privateKey.export({ format: "jwk" });
  return { x, d };
}

const OKP = { kty: "OKP", crv: "X25519" } as const;

/**
 * The key of a file from one exchange key to another. Both public keys and the purpose are part of
 * it, so that it fits no other file. Null: with this public key no secret can be agreed.
 */
export function deriveFileKey(
  localKey: ExchangeKey,
  otherKey: string,
  sender: string,
): Uint8Array | null {
  const secret = agreeOnSecret(localKey, otherKey);
  if (secret === null) return null;
  const recipient = sender === localKey.x ? otherKey : localKey.x;
  const info = `berth pair admission 1 ${sender} ${recipient}`;
  return new Uint8Array(hkdfSync("sha256", secret, new Uint8Array(), info, KEY_BYTES));
}

/** Null: the other key is a point of low order, with which everyone would know the secret. */
function agreeOnSecret(localKey: ExchangeKey, otherKey: string): Uint8Array | null {
  try {
    return diffieHellman({
      privateKey: createPrivateKey({ key: { ...OKP, ...localKey }, format: "jwk" }),
      publicKey: createPublicKey({ key: { ...OKP, x: otherKey }, format: "jwk" }),
    });
  } catch {
    return null;
  }
}

/** Whether a file can be encrypted to this public key. */
export const isUsableKey = (publicKey: string): boolean =>
  agreeOnSecret(generateExchangeKey(), publicKey) !== null;

const CIPHER = "aes-256-gcm";
const KEY_BYTES = 32;
export const TAG_BYTES = 16;
/** The plain bytes of each part but the last. */
export const PART_BYTES = 64 * 1024;

/**
 * The number of a part is in its nonce, and whether it is the last one: no part can be left out,
 * repeated, moved or cut off. The key is used for one file only.
 */
function makeNonce(number: number, isLast: boolean): Uint8Array {
  const nonce = Buffer.alloc(12);
  nonce.writeUInt32BE(number, 7);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

export interface PartPosition {
  readonly number: number;
  readonly isLast: boolean;
}

/** `header` is not encrypted, but cannot be changed either. */
export function encryptPart(
  key: Uint8Array,
  header: Uint8Array,
  { number, isLast }: PartPosition,
  plain: Uint8Array,
): Uint8Array {
  const cipher = createCipheriv(CIPHER, key, makeNonce(number, isLast), TAG_OPTIONS);
  cipher.setAAD(header);
  return Buffer.concat([cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
}

/** Null: the part was changed, or is not at this position. */
export function decryptPart(
  key: Uint8Array,
  header: Uint8Array,
  { number, isLast }: PartPosition,
  sealed: Uint8Array,
): Uint8Array | null {
  const end = sealed.length - TAG_BYTES;
  if (end < 0) return null;
  try {
    const decipher = createDecipheriv(CIPHER, key, makeNonce(number, isLast), TAG_OPTIONS);
    decipher.setAAD(header);
    decipher.setAuthTag(sealed.subarray(end));
    return Buffer.concat([decipher.update(sealed.subarray(0, end)), decipher.final()]);
  } catch {
    return null;
  }
}

const TAG_OPTIONS = { authTagLength: TAG_BYTES } as const;
