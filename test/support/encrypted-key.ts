// A desk's keys with a passphrase, for tests of what a passphrase opens. Berth writes them with so
// many rounds that each try takes half a second; the number is in the file, so tests can use fewer.
import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CompactEncrypt } from "jose";

const PLAIN_KEY = /\.key\.jwk$/;
const ROUNDS = 1_000;

/** As the file of a key. */
export const encryptText = (text: Uint8Array, passphrase: string): Promise<string> =>
  new CompactEncrypt(text)
    .setProtectedHeader({ alg: "PBES2-HS512+A256KW", enc: "A256GCM" })
    .setKeyManagementParameters({ p2c: ROUNDS })
    .encrypt(Buffer.from(passphrase));

/** Encrypts the issuing keys of a desk, as `Desk.changePassphrase` does. */
export async function encryptDeskKeys(folder: string, passphrase: string): Promise<void> {
  for (const name of readdirSync(folder).filter((file) => PLAIN_KEY.test(file))) {
    const encrypted = await encryptText(readFileSync(join(folder, name)), passphrase);
    const locked = join(folder, name.replace(PLAIN_KEY, ".key.jwe"));
    writeFileSync(locked, `${encrypted}\n`, { mode: 0o600 });
    rmSync(join(folder, name));
  }
}
