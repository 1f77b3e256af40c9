// What the root does for a desk on the same machine: certify another key, and sign the next trust
// document.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { verifyKeyRequest } from "../../src/license/documents/key-request.ts";
import { Desk, usualPeriod, usualRootFolder } from "../../src/desk/desk.ts";
import { Root, type KeyPeriod } from "../../src/desk/root.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { unwrap } from "./licensed-store.ts";

export const openRootOf = (folder: string): Promise<Root> =>
  Root.open(realDisk, usualRootFolder(folder), null);

interface ReplacedKey {
  readonly id: string;
  readonly cert: string;
}

/** Makes another key at the desk, which the root certifies and which signs from then on. */
export async function replaceKey(
  folder: string,
  period: Partial<KeyPeriod> = {},
): Promise<ReplacedKey> {
  const { id, request } = await Desk.makeKey(realDisk, folder, null);
  const { jwk } = unwrap(await verifyKeyRequest(request));
  const cert = await (await openRootOf(folder)).certify(jwk, { ...usualPeriod(), ...period });
  await Desk.acceptCertificate(realDisk, folder, cert);
  return { id, cert };
}

/** The same, and opens the desk with the new key. */
export async function openWithNewKey(folder: string): Promise<Desk> {
  await replaceKey(folder);
  return Desk.open(realDisk, folder, null);
}

/** Signs the next trust document, which the desk accepts. */
export async function signNextTrust(
  folder: string,
  change: Parameters<Root["signNext"]>[0],
): Promise<Root> {
  const root = await (await openRootOf(folder)).signNext(change);
  await Desk.acceptTrust(realDisk, folder, root.trust);
  return root;
}

/** The id of the only issuing key that has a file. */
export function keyFileIn(folder: string): string {
  const [name, ...more] = readdirSync(folder).filter((file) => /\.key\.jw[ek]$/.test(file));
  if (name === undefined || more.length > 0) throw new Error("the desk has not one key");
  return join(folder, name);
}

export const readText = (...path: string[]): string => readFileSync(join(...path), "utf8").trim();
