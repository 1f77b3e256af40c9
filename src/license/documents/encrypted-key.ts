import { compactDecrypt, CompactEncrypt } from "jose";
import { parsePrivateKey, type PrivateKey } from "./keys.ts";

/** PBKDF2 rounds, which make guessing the passphrase expensive. */
const ROUNDS = 600_000;
const WRAPPING = "PBES2-HS512+A256KW";

/** Encrypts a private key with a passphrase, as a compact JWE. */
export function encryptKey(key: PrivateKey, passphrase: string): Promise<string> {
  return new CompactEncrypt(Buffer.from(JSON.stringify(key)))
    .setProtectedHeader({ alg: WRAPPING, enc: "A256GCM" })
    .setKeyManagementParameters({ p2c: ROUNDS })
    .encrypt(Buffer.from(passphrase));
}

/** The decrypted text; null when the passphrase is wrong. */
export async function decryptKeyText(
  encrypted: string,
  passphrase: string,
): Promise<string | null> {
  try {
    const options = { keyManagementAlgorithms: [WRAPPING], maxPBES2Count: ROUNDS };
    const { plaintext } = await compactDecrypt(encrypted, Buffer.from(passphrase), options);
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
