import { join } from "node:path";
import { keyIdOf, type PrivateKey } from "../license/keys.ts";
import { encryptKey, parseKeyText, decryptKeyText } from "../license/encrypted-key.ts";
import type { Vendor } from "../license/trust.ts";
import type { Disk } from "../platform/disk.ts";
import { replaceFile } from "../platform/files.ts";
import { DeskRefused } from "./desk-refused.ts";

const PLAIN = "vendor.jwk";
const LOCKED = "vendor.jwe";

/** Of the current key: one of them is there, or both while the passphrase is changed. */
export const KEY_FILE_NAMES = [PLAIN, LOCKED] as const;

/** The current key has these names alone; every other one has its id and a dot before them. */
const pathsOf = (folder: string, id: string | null) => {
  const prefix = id === null ? "" : `${id}.`;
  return { plain: join(folder, prefix + PLAIN), locked: join(folder, prefix + LOCKED) };
};

export const hasKeyFile = (disk: Disk, folder: string): boolean =>
  disk.list(folder).some((file) => file === PLAIN || file === LOCKED);

/** Whether a passphrase is needed. A key that is stored both ways needs none. */
export function isKeyEncrypted(disk: Disk, folder: string, id: string | null = null): boolean {
  const { plain, locked } = pathsOf(folder, id);
  return disk.stat(locked) !== null && disk.stat(plain) === null;
}

/**
 * Stores a key with a passphrase or without, as one step. The other form of the same key is removed
 * only when this one is durable, so that at every moment one of them can be read.
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
  const plain = textIn(disk, paths.plain);
  if (plain !== null) return parsed(plain);
  const locked = textIn(disk, paths.locked);
  if (locked === null)
    throw new DeskRefused("the vendor's key file is missing", "restore it from a backup");
  if (passphrase === null) {
    throw new DeskRefused("the vendor's key is encrypted", "use --passphrase-file FILE");
  }
  const text = await decryptKeyText(locked, passphrase);
  if (text !== null) return parsed(text);
  throw new DeskRefused("the passphrase of the vendor's key is wrong", "check the passphrase");
}

function parsed(text: string): PrivateKey {
  const key = parseKeyText(text);
  if (key === null)
    throw new DeskRefused("the vendor's key file is damaged", "restore it from a backup");
  return key;
}

/** Whether a passphrase is needed for the key that `vendor` names first. */
export const isCurrentKeyEncrypted = (disk: Disk, folder: string, vendor: Vendor): boolean =>
  [null, ...waitingIds(disk, folder, vendor)].some((id) => isKeyEncrypted(disk, folder, id));

/** Of the newest key, where a file has its id in its name: it did not get its own names yet. */
const waitingIds = (disk: Disk, folder: string, { keys: [next] }: Vendor): string[] =>
  next !== undefined && existing(disk, pathsOf(folder, keyIdOf(next))).length > 0
    ? [keyIdOf(next)]
    : [];

export interface CurrentKey {
  readonly key: PrivateKey;
  /** It was made by a successor that was interrupted before the key got its names. */
  readonly isPromotionPending: boolean;
}

/**
 * The key that signs. One that has its id in its name is taken only if the other file is provably
 * not newer: where a trust document is lost, an earlier key looks as if it were waiting.
 */
export async function readCurrentKey(
  disk: Disk,
  folder: string,
  vendor: Vendor,
  passphrase: string | null,
): Promise<CurrentKey> {
  const [id] = waitingIds(disk, folder, vendor);
  if (id === undefined)
    return { key: await readKey(disk, folder, passphrase), isPromotionPending: false };
  if (!(await isBefore(disk, folder, vendor, passphrase))) {
    return { key: await readKey(disk, folder, passphrase), isPromotionPending: false };
  }
  const key = await readKey(disk, folder, passphrase, id);
  if (keyIdOf(key) === id) return { key, isPromotionPending: true };
  throw new DeskRefused(
    `the file of the key ${id} contains the key ${keyIdOf(key)}`,
    "restore it from a backup",
  );
}

/** Whether the file with the names of the current key holds the key before it, or is not there. */
async function isBefore(
  disk: Disk,
  folder: string,
  { keys: [, before] }: Vendor,
  passphrase: string | null,
): Promise<boolean> {
  if (!hasKeyFile(disk, folder)) return true;
  if (before === undefined) return false;
  const key = await readIfOpens(disk, folder, passphrase, null);
  if (key !== null) return keyIdOf(key) === keyIdOf(before);
  // Under another passphrase. The key before has no other file, so this one can only be it.
  return existing(disk, pathsOf(folder, keyIdOf(before))).length === 0;
}

/**
 * Gives the names of the current key to the one that `vendor` names first, which was stored under
 * its id before the document that makes it current. Only under the desk's lock, and only for a key
 * that is known to be waiting. No file is ever replaced: what is in the way stays, and so does all
 * the rest.
 */
export async function promoteKey(disk: Disk, folder: string, vendor: Vendor): Promise<void> {
  const [next, before] = vendor.keys;
  if (next === undefined) return;
  const [waiting, current] = [pathsOf(folder, keyIdOf(next)), pathsOf(folder, null)];
  const stored = existing(disk, current);
  const kept = before === undefined ? null : pathsOf(folder, keyIdOf(before));
  const isFree = stored.every((form) => kept !== null && disk.stat(kept[form]) === null);
  const forms = existing(disk, waiting);
  if (forms.length === 0 || !isFree) return;
  if (kept !== null) for (const form of stored) disk.rename(current[form], kept[form]);
  for (const form of forms) disk.rename(waiting[form], current[form]);
  await disk.syncFolder(folder);
}

export interface PassphraseChange {
  /** Ids of earlier keys that have the new passphrase too. */
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
  const changed: { earlier: string[]; unchanged: string[] } = { earlier: [], unchanged: [] };
  for (const id of findEarlierKeyIds(disk, folder)) {
    const key = await readIfOpens(disk, folder, old, id);
    if (key !== null) await writeKey(disk, folder, key, next, id);
    (key === null ? changed.unchanged : changed.earlier).push(id);
  }
  return changed;
}

const readIfOpens = async (
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

const EARLIER = /^([0-9A-HJKMNP-TV-Z]{16})\.vendor\.jw[ek]$/;

/** Ids of the keys that were followed by another one and are still here. */
export const findEarlierKeyIds = (disk: Disk, folder: string): string[] => [
  ...new Set(disk.list(folder).flatMap((file) => EARLIER.exec(file)?.[1] ?? [])),
];

type Forms = ReturnType<typeof pathsOf>;

const existing = (disk: Disk, paths: Forms): (keyof Forms)[] =>
  (["plain", "locked"] as const).filter((form) => disk.stat(paths[form]) !== null);

function textIn(disk: Disk, path: string): string | null {
  const bytes = disk.read(path);
  return bytes === null ? null : new TextDecoder().decode(bytes).trim();
}
