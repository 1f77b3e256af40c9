import { createPrivateKey, createPublicKey } from "node:crypto";
import { base64url, exportJWK, generateKeyPair } from "jose";
import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { encodeCrockford } from "../codes/code.ts";

/** Only Ed25519, as JSON Web Keys. */
export const PublicKey = Type.Object({
  kty: Type.Literal("OKP"),
  crv: Type.Literal("Ed25519"),
  x: Type.String({ pattern: "^[A-Za-z0-9_-]{43}$" }),
});

export type PublicKey = Static<typeof PublicKey>;

export interface PrivateKey extends PublicKey {
  readonly d: string;
}

export async function generateKey(): Promise<PrivateKey> {
  const { privateKey } = await generateKeyPair("EdDSA", { crv: "Ed25519", extractable: true });
  const { x = "", d = "" } = await exportJWK(privateKey);
  return { kty: "OKP", crv: "Ed25519", x, d };
}

export const publicPart = ({ kty, crv, x }: PublicKey): PublicKey => ({ kty, crv, x });

/** Null unless the value is a complete, canonically encoded key that is safe to verify with. */
export function parsePublicKey(value: unknown): PublicKey | null {
  if (!Value.Check(PublicKey, value)) return null;
  const bytes = base64url.decode(value.x);
  const isCanonical = bytes.length === 32 && base64url.encode(bytes) === value.x;
  return isCanonical && !isLowOrder(bytes) ? publicPart(value) : null;
}

/** Also null when the secret does not match its public part: its signatures would not verify. */
export function parsePrivateKey(value: unknown): PrivateKey | null {
  const key = parsePublicKey(value);
  const d = (value as { d?: unknown } | null)?.d;
  if (key === null || typeof d !== "string" || !/^[A-Za-z0-9_-]{43}$/.test(d)) return null;
  return publicOf(d) === key.x ? { ...key, d } : null;
}

/** The key pair of a seed of 32 bytes. */
export function keyOfSeed(seed: Uint8Array): PrivateKey {
  const d = base64url.encode(seed);
  return { kty: "OKP", crv: "Ed25519", x: publicOf(d) ?? "", d };
}

export const seedOf = ({ d }: PrivateKey): Uint8Array => base64url.decode(d);

/** The fixed prefix of an Ed25519 secret in PKCS #8. */
const PKCS8_PREFIX = Buffer.from("302e020100300506032b657004220420", "hex");

function publicOf(d: string): string | undefined {
  const key = Buffer.concat([PKCS8_PREFIX, base64url.decode(d)]);
  const secret = createPrivateKey({ key, format: "der", type: "pkcs8" });
  return createPublicKey(secret).export({ format: "jwk" }).x;
}

const ID_BITS = 80;
const FINGERPRINT_BITS = 100;

/** The id of a key's owner, in 16 characters: the first 80 bits of SHA-256 of the public key. */
export const keyIdOf = (key: PublicKey): string => encodeCrockford(digestOf(key), ID_BITS);

/** A longer hash in groups, to compare by voice. */
export const fingerprintOf = (key: PublicKey): string => fingerprintOfDigest(digestOf(key));

/** The same of any SHA-256. */
export const fingerprintOfDigest = (digest: Uint8Array): string =>
  encodeCrockford(digest, FINGERPRINT_BITS).replaceAll(/.{5}(?=.)/g, "$&-");

export const publicKeyBytes = ({ x }: PublicKey): Uint8Array<ArrayBuffer> =>
  new Uint8Array(base64url.decode(x));

const digestOf = (key: PublicKey): Uint8Array =>
  new Bun.CryptoHasher("sha256").update(publicKeyBytes(key)).digest();

/**
 * Points of low order: under one of these keys, one signature verifies for any text. The list has
 * the y of every such point and its encodings past the field's prime; the sign bit is ignored.
 */
const LOW_ORDER = new Set([
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0100000000000000000000000000000000000000000000000000000000000000",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
]);

function isLowOrder(bytes: Uint8Array): boolean {
  const y = Buffer.from(bytes);
  y[31] = (y[31] ?? 0) & 0x7f;
  return LOW_ORDER.has(y.toString("hex"));
}
