import { join } from "node:path";
import { parseKeyText } from "../license/documents/encrypted-key.ts";
import type { PublicKey } from "../license/documents/keys.ts";
import type { Disk } from "../platform/files/disk.ts";
import { errorCode } from "../platform/files/system-error.ts";
import { listPresets, PRESETS_FOLDER } from "./desk-files.ts";
import { isIssuingKeyFile } from "./key-file.ts";

/** A file in the desk's folder that has, or may have, the vendor's root key. */
export interface StrayKey {
  readonly name: string;
  /** Completes the message "FILE …". */
  readonly problem: string;
}

/** Copies of the root under any name. An encrypted key does not say whose it is. */
export function findStrayKeys(disk: Disk, folder: string, root: PublicKey): StrayKey[] {
  if (disk.stat(folder) === null) return [];
  const presets = listPresets(disk, folder).map((name) => `${PRESETS_FOLDER}/${name}`);
  return [...disk.list(folder), ...presets].flatMap((name): StrayKey[] => {
    if ((disk.stat(join(folder, name))?.size ?? 0) > MAX_KEY_BYTES) return [];
    const bytes = readRegularFile(disk, join(folder, name));
    const text = new TextDecoder().decode(bytes ?? new Uint8Array()).trim();
    if (parseKeyText(text)?.x === root.x)
      return [{ name, problem: "contains the vendor's root key" }];
    if (isIssuingKeyFile(name) || !ENCRYPTED_KEY.test(text)) return [];
    return [{ name, problem: "contains an encrypted key that may be the vendor's root" }];
  });
}

const MAX_KEY_BYTES = 4_096;

/** A compact JWE: five parts. */
const ENCRYPTED_KEY = /^eyJ[\w-]+(?:\.[\w-]+){4}$/;

/** Null for a subfolder. */
function readRegularFile(disk: Disk, path: string): Uint8Array<ArrayBuffer> | null {
  try {
    return disk.read(path);
  } catch (error) {
    if (errorCode(error) === "EISDIR") return null;
    throw error;
  }
}
