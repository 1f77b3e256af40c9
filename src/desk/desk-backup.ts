import { dirname, join } from "node:path";
import { errorCode, type Disk } from "../platform/disk.ts";
import { replaceFile } from "../platform/files.ts";
import { sha256 } from "../platform/hash.ts";
import { randomBytes } from "../platform/random.ts";
import { findEarlierKeyIds, hasKeyFile, isKeyEncrypted } from "./key-file.ts";
import { withDeskLock } from "./ledger.ts";
import { readTrustChain, TRUST_FILE } from "./desk-records.ts";
import { DeskRefused } from "./desk-refused.ts";

const KIND = "berth-desk-backup";
const VERSION = 1;

interface BackedUpFile {
  readonly name: string;
  readonly sha256: string;
  /** In Base64. */
  readonly content: string;
}

interface Backup {
  readonly kind: typeof KIND;
  readonly version: typeof VERSION;
  readonly made_at: string;
  readonly vendor: string;
  readonly files: readonly BackedUpFile[];
}

/** Nothing that could lead out of a folder, or be hidden in it. */
const isFileName = (name: string): boolean => /^[^./\\:\p{Cc}][^/\\:\p{Cc}]{0,199}$/u.test(name);

/** What comes and goes while a command writes. */
const isPassing = (name: string): boolean => /\.(?:lock|new)$/.test(name);

/** Whether a backup would hold a key that any reader of it could sign with. */
export const hasUnencryptedKey = (disk: Disk, folder: string): boolean =>
  hasKeyFile(disk, folder) &&
  [null, ...findEarlierKeyIds(disk, folder)].some((id) => !isKeyEncrypted(disk, folder, id));

/** Every file of the desk as it is stored, as one JSON text; a locked key stays locked. */
export async function backUpDesk(disk: Disk, folder: string, at: string): Promise<string> {
  const { vendor } = await readTrustChain(disk, folder);
  return withDeskLock(disk, folder, async () => {
    const names = disk.list(folder).filter((name) => isFileName(name) && !isPassing(name));
    const files = names.toSorted().flatMap((name) => contentOf(disk, folder, name));
    const head = { kind: KIND, version: VERSION, made_at: at, vendor: vendor.vendor } as const;
    const backup: Backup = { ...head, files };
    return `${JSON.stringify(backup, null, 1)}\n`;
  });
}

/** None for a folder: a desk has no folders, and what somebody else put there is theirs. */
function contentOf(disk: Disk, folder: string, name: string): BackedUpFile[] {
  const bytes = readRegular(disk, join(folder, name));
  if (bytes === null) return [];
  return [{ name, sha256: sha256(bytes), content: Buffer.from(bytes).toString("base64") }];
}

function readRegular(disk: Disk, path: string): Uint8Array<ArrayBuffer> | null {
  try {
    return disk.read(path);
  } catch (error) {
    if (errorCode(error) === "EISDIR") return null;
    throw error;
  }
}

export interface DeskBackup {
  readonly vendor: string;
  readonly made_at: string;
  readonly files: readonly { readonly name: string; readonly bytes: Uint8Array }[];
}

/** Checks every file's hash. */
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
  const isHead = kind === KIND && version === VERSION && isText(made_at) && isText(vendor);
  if (!isHead || !Array.isArray(files) || !files.every(isFile)) return null;
  return { kind, version, made_at, vendor, files };
}

const isText = (value: unknown): value is string => typeof value === "string";

function isFile(value: unknown): value is BackedUpFile {
  const { name, sha256: sum, content } = (value ?? {}) as Partial<BackedUpFile>;
  return isText(name) && isFileName(name) && !isPassing(name) && isText(sum) && isText(content);
}

/**
 * Into a folder that is empty or not there: under another name first, so that a desk is there as a
 * whole or not at all.
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
  const fresh = `${folder}.${randomBytes(8)}.new`;
  disk.makeFolder(fresh);
  try {
    for (const { name, bytes } of backup.files) await replaceFile(disk, join(fresh, name), bytes);
    await readTrustChain(disk, fresh);
  } catch (error) {
    for (const name of disk.list(fresh)) disk.remove(join(fresh, name));
    disk.removeFolder(fresh);
    throw error;
  }
  if (disk.stat(folder) !== null) disk.removeFolder(folder);
  disk.rename(fresh, folder);
  await disk.syncFolder(dirname(folder));
}
