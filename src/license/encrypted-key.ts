import { compactDecrypt, CompactEncrypt } from "jose";
import { parsePrivateKey, type PrivateKey } from "./keys.ts";

/** Rounds that make a guess at a passphrase cost something. */
const ROUNDS = 600_000;
const WRAPPING = "PBES2-HS512+A256KW";

/** A private key under a passphrase, as a compact JWE. */
export function encryptKey(key: PrivateKey, passphrase: string): Promise<string> {
  return new CompactEncrypt(Buffer.from(JSON.stringify(key)))
    .setProtectedHeader({ alg: WRAPPING, enc: "A256GCM" })
    .setKeyManagementParameters({ p2c: ROUNDS })
    .encrypt(Buffer.from(passphrase));
}

/** The key's text; null when the passphrase does not open it. */
export async function decryptKeyText(locked: string, passphrase: string): Promise<string | null> {
  try {
    const options = { keyManagementAlgorithms: [WRAPPING], maxPBES2Count: ROUNDS };
    const { plaintext } = await compactDecrypt(locked, Buffer.from(passphrase), options);
    return new TextDecoder().decode(plaintext);
  } catch {
    return null;
  }
}

export function parseKeyText(text: string): PrivateKey | null {
  try {
    return parsePrivateKey(JSON.parse(text));
  } catch {
    return null;
  }
}
