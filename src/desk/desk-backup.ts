import { join } from "node:path";
import type { PublicKey } from "../license/documents/keys.ts";
import type { Disk } from "../platform/files/disk.ts";
import { errorCode } from "../platform/files/system-error.ts";
import { isAppendOnly, isDeskFile, listDeskFolder } from "./desk-files.ts";
import { issuingKeyFile, listIssuingKeys } from "./key-file.ts";
import { withDeskLock } from "./ledger/ledger.ts";
import { readDeskTrust } from "./desk-records.ts";
import { findStrayKeys } from "./stray-keys.ts";
import { DeskRefused } from "./desk-refused.ts";

export const BACKUP_KIND = "berth-desk-backup";
export const BACKUP_VERSION = 2;

/** Divisible by 3, so that only the last line of a file has padding. */
const PART_BYTES = 48 * 1024;

/** Whether a backup would contain a key that any reader of it could sign with. */
export const hasUnencryptedKey = (disk: Disk, folder: string): boolean =>
  listIssuingKeys(disk, folder).some((id) => !issuingKeyFile(disk, folder, id).isEncrypted);

/**
 * Writes the files of a desk as lines of bounded size; an encrypted key stays encrypted. Returns
 * the names of other files in the folder, which are left out.
 */
export async function backUpDesk(
  disk: Disk,
  folder: string,
  at: string,
  write: (text: string) => void,
): Promise<{ readonly leftOut: readonly string[] }> {
  const { vendor } = await readDeskTrust(disk, folder);
  // Other commands need not wait while the backup is written to a slow medium.
  const files = await withDeskLock(disk, folder, async () => {
    refuseStrayKeys(disk, folder, vendor.jwk);
    return listDeskFolder(disk, folder).map((name) => noteFile(disk, folder, name));
  });
  const backedUp = files.filter((file) => file.size !== null);
  const writeLine = (value: object): void => write(`${JSON.stringify(value)}\n`);
  writeLine({ kind: BACKUP_KIND, version: BACKUP_VERSION, made_at: at, vendor: vendor.vendor });
  for (const { name, size, bytes } of backedUp) {
    const hash = new Bun.SHA256();
    writeLine({ name, size });
    for (let from = 0; from < (size ?? 0); from += PART_BYTES) {
      const length = Math.min(PART_BYTES, (size ?? 0) - from);
      const part =
        bytes?.subarray(from, from + length) ?? readPart(disk, folder, name, from, length);
      hash.update(part);
      write(`${Buffer.from(part).toString("base64")}\n`);
      // The line that shows the progress needs a turn.
      if (from % (256 * PART_BYTES) === 0) await Bun.sleep(0);
    }
    writeLine({ sha256: hash.digest("hex") });
  }
  writeLine({ files: backedUp.length });
  return { leftOut: files.filter(({ size }) => size === null).map(({ name }) => name) };
}

interface NotedFile {
  readonly name: string;
  /** Null: it is left out. */
  readonly size: number | null;
  /** Null: the file only grows, so it can be read later. */
  readonly bytes: Uint8Array<ArrayBuffer> | null;
}

function noteFile(disk: Disk, folder: string, name: string): NotedFile {
  const path = join(folder, name);
  if (!isDeskFile(name)) return { name, size: null, bytes: null };
  try {
    const bytes = isAppendOnly(name) ? disk.readPart(path, 0, 1) : disk.read(path);
    const size = disk.stat(path)?.size ?? null;
    return { name, size, bytes: isAppendOnly(name) ? null : bytes };
  } catch (error) {
    if (errorCode(error) === "EISDIR") return { name, size: null, bytes: null };
    throw error;
  }
}

function readPart(disk: Disk, folder: string, name: string, from: number, length: number) {
  const bytes = disk.readPart(join(folder, name), from, length);
  if (bytes?.length === length) return bytes;
  throw new DeskRefused(
    `${join(folder, name)} became shorter during the backup`,
    "run the command again",
  );
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
