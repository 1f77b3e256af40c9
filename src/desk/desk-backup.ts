import { dirname, join } from "node:path";
import type { PublicKey } from "../license/documents/keys.ts";
import type { Disk } from "../platform/files/disk.ts";
import { replaceFile } from "../platform/files/files.ts";
import { sha256 } from "../platform/crypto/hash.ts";
import { randomBytes } from "../platform/crypto/random.ts";
import { issuingKeyFile, listIssuingKeys } from "./key-file.ts";
import { withDeskLock } from "./ledger/ledger.ts";
import { readDeskTrust } from "./desk-records.ts";
import { findStrayKeys, readRegularFile } from "./stray-keys.ts";
import { TRUST_FILE } from "./trust-document.ts";
import { DeskRefused } from "./desk-refused.ts";

const KIND = "berth-desk-backup";
const VERSION = 1;

interface BackedUpFile {
  readonly name: string;
  readonly sha256: string;
  /** Base64. */
  readonly content: string;
}

interface Backup {
  readonly kind: typeof KIND;
  readonly version: typeof VERSION;
  readonly made_at: string;
  readonly vendor: string;
  readonly files: readonly BackedUpFile[];
}

/** Excludes names that lead out of the folder, and hidden files. */
const isFileName = (name: string): boolean => /^[^./\\:\p{Cc}][^/\\:\p{Cc}]{0,199}$/u.test(name);

/** A file that exists only while a command writes. */
const isTemporary = (name: string): boolean => /\.(?:lock|new)$/.test(name);

/** Whether a backup would contain a key that any reader of it could sign with. */
export const hasUnencryptedKey = (disk: Disk, folder: string): boolean =>
  listIssuingKeys(disk, folder).some((id) => !issuingKeyFile(disk, folder, id).isEncrypted);

/** Returns every file of the desk as one JSON text; an encrypted key stays encrypted. */
export async function backUpDesk(disk: Disk, folder: string, at: string): Promise<string> {
  const { vendor } = await readDeskTrust(disk, folder);
  return withDeskLock(disk, folder, async () => {
    const names = disk.list(folder).filter((name) => isFileName(name) && !isTemporary(name));
    refuseStrayKeys(disk, folder, vendor.jwk);
    const files = names.toSorted().flatMap((name) => readBackedUpFile(disk, folder, name));
    const head = { kind: KIND, version: VERSION, made_at: at, vendor: vendor.vendor } as const;
    const backup: Backup = { ...head, files };
    return `${JSON.stringify(backup, null, 1)}\n`;
  });
}

/** Who reads a backup must not find the root there. */
function refuseStrayKeys(disk: Disk, folder: string, root: PublicKey): void {
  const [stray] = findStrayKeys(disk, folder, root);
  if (stray === undefined) return;
  throw new DeskRefused(
    `${join(folder, stray.name)} ${stray.problem}, which must not be in a backup`,
    "move it to a medium of its own: who holds the root is the vendor",
  );
}

/** Empty for a subfolder: a desk has none, so it does not belong to the desk. */
function readBackedUpFile(disk: Disk, folder: string, name: string): BackedUpFile[] {
  const bytes = readRegularFile(disk, join(folder, name));
  if (bytes === null) return [];
  return [{ name, sha256: sha256(bytes), content: Buffer.from(bytes).toString("base64") }];
}

export interface DeskBackup {
  readonly vendor: string;
  readonly made_at: string;
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[];
}

/** Parses a backup and checks the hash of every file. */
export function openDeskBackup(text: string): DeskBackup {
  const backup = parseBackup(text);
  if (backup === null) {
    throw new DeskRefused(
      "the file is not a backup of a desk",
      "berth vendor backup FILE creates one",
    );
  }
  const files = backup.files.map(({ name, content, sha256: sum }) => {
    const bytes = new Uint8Array(Buffer.from(content, "base64"));
    if (sha256(bytes) === sum) return { name, bytes };
    throw new DeskRefused(`the backup is damaged at ${name}`, "use another copy of the backup");
  });
  return { vendor: backup.vendor, made_at: backup.made_at, files };
}

function parseBackup(text: string): Backup | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  const { kind, version, made_at, vendor, files } = (value ?? {}) as Partial<Backup>;
  const isHeadValid = kind === KIND && version === VERSION && isText(made_at) && isText(vendor);
  if (!isHeadValid || !Array.isArray(files) || !files.every(isFile)) return null;
  return { kind, version, made_at, vendor, files };
}

const isText = (value: unknown): value is string => typeof value === "string";

function isFile(value: unknown): value is BackedUpFile {
  const { name, sha256: sum, content } = (value ?? {}) as Partial<BackedUpFile>;
  return isText(name) && isFileName(name) && !isTemporary(name) && isText(sum) && isText(content);
}

/**
 * Restores into a folder that is empty or does not exist. Writes to a temporary folder first, so
 * that the desk appears complete or not at all.
 */
export async function restoreDesk(disk: Disk, folder: string, backup: DeskBackup): Promise<void> {
  if (disk.stat(folder) !== null && disk.list(folder).length > 0) {
    throw new DeskRefused(`${folder} is not empty`, "specify a new folder with --dir DIR");
  }
  if (!backup.files.some(({ name }) => name === TRUST_FILE)) {
    throw new DeskRefused(
      `the backup does not contain ${TRUST_FILE}`,
      "use another backup of the desk",
    );
  }
  const temporary = `${folder}.${randomBytes(8)}.new`;
  disk.makeFolder(temporary);
  try {
    for (const { name, bytes } of backup.files) {
      await replaceFile(disk, join(temporary, name), bytes);
    }
    await readDeskTrust(disk, temporary);
  } catch (error) {
    for (const name of disk.list(temporary)) disk.remove(join(temporary, name));
    disk.removeFolder(temporary);
    throw error;
  }
  if (disk.stat(folder) !== null) disk.removeFolder(folder);
  disk.rename(temporary, folder);
  await disk.syncFolder(dirname(folder));
}
