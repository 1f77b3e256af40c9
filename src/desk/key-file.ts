import { join } from "node:path";
import { keyIdOf, type PrivateKey } from "../license/documents/keys.ts";
import { encryptKey, parseKeyText, decryptKeyText } from "../license/documents/encrypted-key.ts";
import type { Vendor } from "../license/documents/trust.ts";
import type { Disk } from "../platform/files/disk.ts";
import { replaceFile } from "../platform/files/files.ts";
import { DeskRefused } from "./desk-refused.ts";

const PLAIN = "vendor.jwk";
const LOCKED = "vendor.jwe";

/** Files of the current key: one of them exists, or both while the passphrase is changed. */
export const KEY_FILE_NAMES = [PLAIN, LOCKED] as const;

/** The current key's files have no prefix; those of every other key have its id as prefix. */
const pathsOf = (folder: string, id: string | null) => {
  const prefix = id === null ? "" : `${id}.`;
  return { plain: join(folder, prefix + PLAIN), locked: join(folder, prefix + LOCKED) };
};

export const hasKeyFile = (disk: Disk, folder: string): boolean =>
  disk.list(folder).some((file) => file === PLAIN || file === LOCKED);

/** Whether a passphrase is needed. A key that is stored in both forms needs none. */
export function isKeyEncrypted(disk: Disk, folder: string, id: string | null = null): boolean {
  const { plain, locked } = pathsOf(folder, id);
  return disk.stat(locked) !== null && disk.stat(plain) === null;
}

/**
 * Stores a key with or without a passphrase. The other form of the same key is removed only when
 * this form is durable, so that one of them can be read at any time.
 */
export async function writeKey(
  disk: Disk,
  folder: string,
  key: PrivateKey,
  passphrase: string | null,
  id: string | null = null,
): Promise<void> {
  const { plain, locked } = pathsOf(folder, id);
  const text = passphrase === null ? JSON.stringify(key) : await encryptKey(key, passphrase);
  const [path, other] = passphrase === null ? [plain, locked] : [locked, plain];
  await replaceFile(disk, path, Buffer.from(`${text}\n`));
  if (disk.stat(other) === null) return;
  disk.remove(other);
  await disk.syncFolder(folder);
}

export async function readKey(
  disk: Disk,
  folder: string,
  passphrase: string | null,
  id: string | null = null,
): Promise<PrivateKey> {
  const paths = pathsOf(folder, id);
  const plain = readText(disk, paths.plain);
  if (plain !== null) return parseKey(plain);
  const locked = readText(disk, paths.locked);
  if (locked === null)
    throw new DeskRefused("the vendor's key file is missing", "restore it from a backup");
  if (passphrase === null) {
    throw new DeskRefused("the vendor's key is encrypted", "use --passphrase-file FILE");
  }
  const text = await decryptKeyText(locked, passphrase);
  if (text !== null) return parseKey(text);
  throw new DeskRefused("the passphrase of the vendor's key is wrong", "check the passphrase");
}

function parseKey(text: string): PrivateKey {
  const key = parseKeyText(text);
  if (key === null)
    throw new DeskRefused("the vendor's key file is damaged", "restore it from a backup");
  return key;
}

/** Whether a passphrase is needed for the key that `vendor` names first. */
export const isCurrentKeyEncrypted = (disk: Disk, folder: string, vendor: Vendor): boolean =>
  [null, ...pendingIds(disk, folder, vendor)].some((id) => isKeyEncrypted(disk, folder, id));

/** The newest key's id, if a file still has it as prefix: the key was not promoted yet. */
const pendingIds = (disk: Disk, folder: string, { keys: [next] }: Vendor): string[] =>
  next !== undefined && existingForms(disk, pathsOf(folder, keyIdOf(next))).length > 0
    ? [keyIdOf(next)]
    : [];

export interface CurrentKey {
  readonly key: PrivateKey;
  /** The command that created the key was interrupted before it promoted the key. */
  readonly isPromotionPending: boolean;
}

/**
 * The key that signs. A file with the key's id as prefix is used only if the file without prefix
 * is provably not newer: if a trust document is lost, an earlier key looks like a pending one.
 */
export async function readCurrentKey(
  disk: Disk,
  folder: string,
  vendor: Vendor,
  passphrase: string | null,
): Promise<CurrentKey> {
  const [id] = pendingIds(disk, folder, vendor);
  if (id === undefined)
    return { key: await readKey(disk, folder, passphrase), isPromotionPending: false };
  if (!(await isCurrentFileEarlier(disk, folder, vendor, passphrase))) {
    return { key: await readKey(disk, folder, passphrase), isPromotionPending: false };
  }
  const key = await readKey(disk, folder, passphrase, id);
  if (keyIdOf(key) === id) return { key, isPromotionPending: true };
  throw new DeskRefused(
    `the file of the key ${id} contains the key ${keyIdOf(key)}`,
    "restore it from a backup",
  );
}

/** Whether the file of the current key contains the previous key, or does not exist. */
async function isCurrentFileEarlier(
  disk: Disk,
  folder: string,
  { keys: [, before] }: Vendor,
  passphrase: string | null,
): Promise<boolean> {
  if (!hasKeyFile(disk, folder)) return true;
  if (before === undefined) return false;
  const key = await tryReadKey(disk, folder, passphrase, null);
  if (key !== null) return keyIdOf(key) === keyIdOf(before);
  // It has another passphrase. If the previous key has no file of its own, this must be that key.
  return existingForms(disk, pathsOf(folder, keyIdOf(before))).length === 0;
}

/**
 * Renames the files of the key that `vendor` names first to those of the current key. The key was
 * stored under its id before the document that makes it current. Call it under the desk's lock, and
 * only for a pending key. No file is ever replaced: if a target exists, nothing is renamed.
 */
export async function promoteKey(disk: Disk, folder: string, vendor: Vendor): Promise<void> {
  const [next, before] = vendor.keys;
  if (next === undefined) return;
  const [pending, current] = [pathsOf(folder, keyIdOf(next)), pathsOf(folder, null)];
  const currentForms = existingForms(disk, current);
  const earlier = before === undefined ? null : pathsOf(folder, keyIdOf(before));
  const isFree = currentForms.every(
    (form) => earlier !== null && disk.stat(earlier[form]) === null,
  );
  const pendingForms = existingForms(disk, pending);
  if (pendingForms.length === 0 || !isFree) return;
  if (earlier !== null) {
    for (const form of currentForms) disk.rename(current[form], earlier[form]);
  }
  for (const form of pendingForms) disk.rename(pending[form], current[form]);
  await disk.syncFolder(folder);
}

export interface PassphraseChange {
  /** Ids of earlier keys that now have the new passphrase too. */
  readonly earlier: readonly string[];
  /** Ids of earlier keys that the old passphrase does not open: they stay as they are. */
  readonly unchanged: readonly string[];
}

/** Sets, changes or (null) removes the passphrase of the current key and of the earlier ones. */
export async function changePassphrase(
  disk: Disk,
  folder: string,
  old: string | null,
  next: string | null,
): Promise<PassphraseChange> {
  await writeKey(disk, folder, await readKey(disk, folder, old), next);
  const result: { earlier: string[]; unchanged: string[] } = { earlier: [], unchanged: [] };
  for (const id of findEarlierKeyIds(disk, folder)) {
    const key = await tryReadKey(disk, folder, old, id);
    if (key !== null) await writeKey(disk, folder, key, next, id);
    (key === null ? result.unchanged : result.earlier).push(id);
  }
  return result;
}

/** Null: the key cannot be read with this passphrase. */
const tryReadKey = async (
  disk: Disk,
  folder: string,
  passphrase: string | null,
  id: string | null,
): Promise<PrivateKey | null> => {
  try {
    return await readKey(disk, folder, passphrase, id);
  } catch (error) {
    if (error instanceof DeskRefused) return null;
    throw error;
  }
};

const EARLIER_KEY_FILE = /^([0-9A-HJKMNP-TV-Z]{16})\.vendor\.jw[ek]$/;

/** Ids of the earlier keys that still have a file. */
export const findEarlierKeyIds = (disk: Disk, folder: string): string[] => [
  ...new Set(disk.list(folder).flatMap((file) => EARLIER_KEY_FILE.exec(file)?.[1] ?? [])),
];

type KeyPaths = ReturnType<typeof pathsOf>;

const existingForms = (disk: Disk, paths: KeyPaths): (keyof KeyPaths)[] =>
  (["plain", "locked"] as const).filter((form) => disk.stat(paths[form]) !== null);

function readText(disk: Disk, path: string): string | null {
  const bytes = disk.read(path);
  return bytes === null ? null : new TextDecoder().decode(bytes).trim();
}
