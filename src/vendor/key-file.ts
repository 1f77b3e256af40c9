import { join } from "node:path";
import { idOf, type PrivateKey } from "../license/keys.ts";
import { lockKey, parseKeyText, unlockKey } from "../license/locked-key.ts";
import type { Vendor } from "../license/trust.ts";
import type { Disk } from "../platform/disk.ts";
import { replaceFile } from "../platform/files.ts";
import { DeskRefused } from "./refusal.ts";

const PLAIN = "vendor.jwk";
const LOCKED = "vendor.jwe";

/** The current key has these names alone; every other one has its id and a dot before them. */
const pathsOf = (folder: string, id: string | null) => {
  const prefix = id === null ? "" : `${id}.`;
  return { plain: join(folder, prefix + PLAIN), locked: join(folder, prefix + LOCKED) };
};

export const hasKey = (disk: Disk, folder: string): boolean =>
  disk.list(folder).some((file) => file === PLAIN || file === LOCKED);

/** Whether a passphrase is needed. A key that is stored both ways needs none. */
export function isKeyLocked(disk: Disk, folder: string, id: string | null = null): boolean {
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
  const text = passphrase === null ? JSON.stringify(key) : await lockKey(key, passphrase);
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
  if (locked === null) throw new DeskRefused("the vendor's key file is missing", "bring it back");
  if (passphrase === null) {
    throw new DeskRefused("the vendor's key is under a passphrase", "give --passphrase-file FILE");
  }
  const text = await unlockKey(locked, passphrase);
  if (text !== null) return parsed(text);
  throw new DeskRefused("the passphrase does not open the vendor's key", "check the passphrase");
}

function parsed(text: string): PrivateKey {
  const key = parseKeyText(text);
  if (key === null) throw new DeskRefused("the vendor's key file is damaged", "bring it back");
  return key;
}

/** Whether a key took over by its document, but does not have the names of the current key yet. */
export const isKeyWaiting = (disk: Disk, folder: string, { keys: [next] }: Vendor): boolean =>
  next !== undefined && existing(disk, pathsOf(folder, idOf(next))).length > 0;

/**
 * Gives the names of the current key to the one that `vendor` names first, which was stored under
 * its id before the document that makes it current. Only under the desk's lock: done twice at once,
 * it would put the new key in the place of the old one.
 */
export async function promoteKey(disk: Disk, folder: string, vendor: Vendor): Promise<void> {
  const [next, before] = vendor.keys;
  if (next === undefined || !isKeyWaiting(disk, folder, vendor)) return;
  const waiting = existing(disk, pathsOf(folder, idOf(next)));
  const current = pathsOf(folder, null);
  if (before !== undefined) {
    const kept = pathsOf(folder, idOf(before));
    for (const form of existing(disk, current)) disk.rename(current[form], kept[form]);
  }
  for (const form of waiting) disk.rename(pathsOf(folder, idOf(next))[form], current[form]);
  await disk.syncFolder(folder);
}

export interface ChangedKeys {
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
): Promise<ChangedKeys> {
  await writeKey(disk, folder, await readKey(disk, folder, old), next);
  const changed: { earlier: string[]; unchanged: string[] } = { earlier: [], unchanged: [] };
  for (const id of earlierKeys(disk, folder)) {
    const key = await openedEarlier(disk, folder, old, id);
    if (key !== null) await writeKey(disk, folder, key, next, id);
    (key === null ? changed.unchanged : changed.earlier).push(id);
  }
  return changed;
}

const openedEarlier = async (disk: Disk, folder: string, passphrase: string | null, id: string) => {
  try {
    return await readKey(disk, folder, passphrase, id);
  } catch (error) {
    if (error instanceof DeskRefused) return null;
    throw error;
  }
};

const EARLIER = /^([0-9A-HJKMNP-TV-Z]{16})\.vendor\.jw[ek]$/;

/** Ids of the keys that were followed by another one and are still here. */
export const earlierKeys = (disk: Disk, folder: string): string[] => [
  ...new Set(disk.list(folder).flatMap((file) => EARLIER.exec(file)?.[1] ?? [])),
];

type Forms = ReturnType<typeof pathsOf>;

const existing = (disk: Disk, paths: Forms): (keyof Forms)[] =>
  (["plain", "locked"] as const).filter((form) => disk.stat(paths[form]) !== null);

function textIn(disk: Disk, path: string): string | null {
  const bytes = disk.read(path);
  return bytes === null ? null : new TextDecoder().decode(bytes).trim();
}
