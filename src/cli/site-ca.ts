import { createPrivateKey, X509Certificate } from "node:crypto";
import { lstatSync } from "node:fs";
import { join, sep } from "node:path";
import { wallClock } from "../platform/clock.ts";
import { errorCode, realDisk } from "../platform/disk.ts";
import { replaceFile } from "../platform/files.ts";
import { Misuse } from "../platform/options.ts";
import type { Authority } from "../platform/x509.ts";
import { Failure, getStringFlag, type FlagValues } from "./command.ts";
import { servicePaths } from "./service/unit.ts";
import { tlsPaths } from "./tls-files.ts";

/** The CA of a site, as `berth tls init` keeps it. */
export interface SiteCa {
  readonly authority: Authority;
  /** What clients trust. */
  readonly root: string;
  /** Sent along with whatever it signs; empty: clients trust the signer itself. */
  readonly chain: string;
  readonly keyPath: string;
  /** Its key lies in the data folder, as older versions put it there. */
  readonly isInDataFolder: boolean;
}

export interface CaFolder {
  readonly path: string;
  readonly isDefault: boolean;
}

/**
 * Where the CA's key is kept: never in the data folder, because whoever serves the network reads
 * all of that, and a hole in the server must not become a hole in every client's TLS.
 */
export function getCaFolder(given: FlagValues, folder: string): CaFolder {
  const named = getStringFlag(given, "ca-dir");
  const path = named ?? (folder === servicePaths.data ? servicePaths.ca : `${folder}-ca`);
  if (`${path}${sep}`.startsWith(`${folder}${sep}`)) {
    throw new Misuse(
      "--ca-dir must not be inside the data folder",
      "the server can read everything in the data folder; choose another folder",
    );
  }
  return { path, isDefault: named === null };
}

export const caKeyPath = ({ path }: CaFolder): string => join(path, "ca.key");

/** Null: there is none yet. A key that is not where it should be is never replaced by a new one. */
export function readSiteCa(given: FlagValues, folder: string): SiteCa | null {
  const { caCertificate, oldCaKey } = tlsPaths(folder);
  const keyPath = caKeyPath(getCaFolder(given, folder));
  const kept = readText(keyPath);
  if (kept !== null) return parseSiteCa(kept, { keyPath, isInDataFolder: false });
  const [root, old] = [readText(caCertificate), readText(oldCaKey)];
  if (root === null && old === null) return null;
  if (root === null) {
    throw new Failure(
      `${caCertificate} is missing, but its key exists`,
      "restore it, or create a new CA with berth tls init --new-ca and distribute it",
    );
  }
  if (old !== null)
    return parseSiteCa(`${old}${root}`, { keyPath: oldCaKey, isInDataFolder: true });
  throw new Failure(
    `the key of the site CA is not in ${keyPath}`,
    "specify its folder with --ca-dir DIR, or create a new CA with berth tls init --new-ca and distribute it",
  );
}

const BLOCK = /-----BEGIN ([A-Z ]+)-----[^-]+-----END [A-Z ]+-----\n?/g;

/** The key and the certificates it comes with: the signer's, and the root's if that is another. */
function parseSiteCa(text: string, where: Pick<SiteCa, "keyPath" | "isInDataFolder">): SiteCa {
  const blocks = [...text.matchAll(BLOCK)].map(([block, kind = ""]) => ({ block, kind }));
  const key = blocks.find(({ kind }) => kind.endsWith("PRIVATE KEY"))?.block;
  const certificates = blocks.filter(({ kind }) => kind === "CERTIFICATE").map((one) => one.block);
  const [certificate, root = certificate] = certificates;
  if (key === undefined || certificate === undefined || root === undefined)
    throw damagedKeyError(where);
  let signer: X509Certificate;
  try {
    signer = new X509Certificate(certificate);
    if (!signer.checkPrivateKey(createPrivateKey(key))) throw damagedKeyError(where);
  } catch {
    throw damagedKeyError(where);
  }
  const endsAt = Date.parse(signer.validTo);
  if (endsAt <= wallClock()) {
    throw new Failure(
      `the site CA expired on ${new Date(endsAt).toISOString()}`,
      "create a new one with berth tls init --new-ca and distribute it",
    );
  }
  const name = signer.subject.replace(/^CN=/, "");
  const chain = certificate === root ? "" : certificate;
  return { authority: { name, endsAt, certificate, key }, root, chain, ...where };
}

const damagedKeyError = ({ keyPath }: Pick<SiteCa, "keyPath">): Failure =>
  new Failure(
    `${keyPath} is not the key of the site CA`,
    "restore it, or create a new CA with berth tls init --new-ca and distribute it",
  );

function readText(path: string): string | null {
  const bytes = realDisk.read(path);
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

/** One file with all of it, so that there is never half a CA. */
export async function saveSiteCa(where: CaFolder, key: string, certificates: readonly string[]) {
  try {
    realDisk.makeFolder(where.path);
  } catch (error) {
    if (errorCode(error) === null) throw error;
    throw new Failure(
      `cannot store the key of the site CA in ${where.path} (${errorCode(error)})`,
      "run the command with sudo, or choose another folder with --ca-dir DIR, for example on removable media",
    );
  }
  if (where.isDefault) refuseForeignFolder(where.path);
  await replaceFile(
    realDisk,
    caKeyPath(where),
    Buffer.from(`${key}${[...new Set(certificates)].join("")}`),
  );
}

const OTHERS = 0o077;

/** In a place we chose ourselves nobody else may have been first. */
function refuseForeignFolder(path: string): void {
  const { uid, mode } = lstatSync(path);
  const isOurs = lstatSync(path).isDirectory() && uid === process.geteuid?.();
  if (isOurs && (mode & OTHERS) === 0) return;
  throw new Failure(
    `other users can access ${path}`,
    `change it with chown and chmod 700, or choose another folder with --ca-dir DIR`,
  );
}
