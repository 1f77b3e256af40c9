import { createPrivateKey, X509Certificate } from "node:crypto";
import { lstatSync } from "node:fs";
import { join, sep } from "node:path";
import { wallClock } from "../../platform/clock.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { replaceFile } from "../../platform/files/files.ts";
import { Misuse } from "../frame/options.ts";
import {
  readNameConstraints,
  type NameConstraints,
} from "../../platform/crypto/name-constraints.ts";
import type { Authority } from "../../platform/crypto/x509.ts";
import { Failure } from "../frame/command.ts";
import { servicePaths } from "../service/unit.ts";
import { tlsPaths } from "./tls-files.ts";

/** The CA of a site, as `berth tls init` stores it. */
export interface SiteCa {
  readonly authority: Authority;
  /** What clients trust. */
  readonly root: string;
  /** What it can sign for. */
  readonly limits: NameConstraints;
  readonly keyPath: string;
}

/** The options that say where a CA is. */
export interface SiteCaOptions {
  readonly data: string;
  /** Null: the default folder of the CA's key. */
  readonly caDir: string | null;
}

export interface CaFolder {
  readonly path: string;
  readonly isDefault: boolean;
}

/**
 * The folder of the CA's key. It is never in the data folder, which the server reads: a
 * vulnerability of the server must not become one of every client's TLS.
 */
export function getCaFolder({ data: folder, caDir }: SiteCaOptions): CaFolder {
  const path = caDir ?? (folder === servicePaths.data ? servicePaths.ca : `${folder}-ca`);
  if (`${path}${sep}`.startsWith(`${folder}${sep}`)) {
    throw new Misuse(
      "--ca-dir must not be inside the data folder",
      "the server can read everything in the data folder; choose another folder",
    );
  }
  return { path, isDefault: caDir === null };
}

export const caKeyPath = ({ path }: CaFolder): string => join(path, "ca.key");

/** Null: there is no CA yet. If the key of an existing CA is missing, it is never replaced. */
export function readSiteCa(options: SiteCaOptions): SiteCa | null {
  const keyPath = caKeyPath(getCaFolder(options));
  const keyFile = readText(keyPath);
  if (keyFile !== null) return parseSiteCa(keyFile, keyPath);
  if (readText(tlsPaths(options.data).caCertificate) === null) return null;
  throw new Failure(
    `the key of the site CA is not in ${keyPath}`,
    "specify its folder with --ca-dir DIR, or create a new CA with berth tls init --new-ca and distribute it",
  );
}

const PEM_BLOCK = /-----BEGIN ([A-Z ]+)-----[^-]+-----END [A-Z ]+-----\n?/g;

/** Parses the key, the signer's certificate, and the root's certificate. */
function parseSiteCa(text: string, keyPath: string): SiteCa {
  const blocks = [...text.matchAll(PEM_BLOCK)].map(([block, kind = ""]) => ({ block, kind }));
  const key = blocks.find(({ kind }) => kind.endsWith("PRIVATE KEY"))?.block;
  const certificates = blocks
    .filter(({ kind }) => kind === "CERTIFICATE")
    .map(({ block }) => block);
  const [certificate, root] = certificates;
  if (key === undefined || certificate === undefined || root === undefined)
    throw damagedKeyError(keyPath);
  let signer: X509Certificate;
  let limits: NameConstraints | null;
  try {
    limits = readNameConstraints(certificate);
    signer = new X509Certificate(certificate);
    if (!signer.checkPrivateKey(createPrivateKey(key))) throw damagedKeyError(keyPath);
  } catch {
    throw damagedKeyError(keyPath);
  }
  if (limits === null) throw damagedKeyError(keyPath);
  const endsAt = Date.parse(signer.validTo);
  if (endsAt <= wallClock()) {
    throw new Failure(
      `the site CA expired on ${new Date(endsAt).toISOString()}`,
      "create a new one with berth tls init --new-ca and distribute it",
    );
  }
  const name = signer.subject.replace(/^CN=/, "");
  return { authority: { name, endsAt, certificate, key }, root, limits, keyPath };
}

const damagedKeyError = (keyPath: string): Failure =>
  new Failure(
    `${keyPath} is not the key of the site CA`,
    "restore it, or create a new CA with berth tls init --new-ca and distribute it",
  );

function readText(path: string): string | null {
  const bytes = realDisk.read(path);
  return bytes === null ? null : new TextDecoder().decode(bytes);
}

/** Stores everything in one file, so that a CA is never incomplete. */
export async function saveSiteCa(folder: CaFolder, key: string, certificates: readonly string[]) {
  try {
    realDisk.makeFolder(folder.path);
  } catch (error) {
    if (errorCode(error) === null) throw error;
    throw new Failure(
      `cannot store the key of the site CA in ${folder.path} (${errorCode(error)})`,
      "run the command with sudo, or choose another folder with --ca-dir DIR, for example on removable media",
    );
  }
  if (folder.isDefault) refuseForeignFolder(folder.path);
  await replaceFile(realDisk, caKeyPath(folder), Buffer.from(`${key}${certificates.join("")}`));
}

const GROUP_AND_OTHERS = 0o077;

/** Another user may have created the default folder first, to read the key. */
function refuseForeignFolder(path: string): void {
  const { uid, mode } = lstatSync(path);
  const isOwned = lstatSync(path).isDirectory() && uid === process.geteuid?.();
  if (isOwned && (mode & GROUP_AND_OTHERS) === 0) return;
  throw new Failure(
    `other users can access ${path}`,
    `change it with chown and chmod 700, or choose another folder with --ca-dir DIR`,
  );
}
