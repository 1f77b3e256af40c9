import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import type { PairRequest } from "../../license/requests/pair-request.ts";
import { version } from "../../platform/embedded/version.ts";
import { realDisk, type OpenFile } from "../../platform/files/disk.ts";
import { SEALED_FILE, SEALING_KEY_FILE } from "../../store/secrets/sealed-file.ts";
import type { Instant } from "../../domain/time.ts";
import { makeBackup } from "../backups/backup.ts";
import { Downloads } from "../backups/downloads.ts";
import { folderChecks } from "../folder/folder-checks.ts";
import { writeAdmission, type AdmissionEntry } from "./admission-file.ts";

/** The backup in an admission file. */
export const BACKUP_ENTRY = "site.berth";

/** Files that are no part of a backup, but that both hosts of a pair have. */
export const COPIED_FILES = ["access.json", "settings.json", SEALED_FILE, SEALING_KEY_FILE];

/**
 * Writes what a host needs to join: a backup of the data folder with the key of the appliance, and
 * the files beside it. The server of the folder may be running.
 */
export async function makeAdmission(
  folder: string,
  request: Pick<PairRequest, "host" | "public_key">,
  now: Instant,
  file: OpenFile,
): Promise<void> {
  // In the data folder, so that no copy of the key is on a removable disk without encryption.
  const path = new Downloads(folder).newPath();
  try {
    const { manifest, size } = await makeBackup(realDisk, folder, path, now, folderChecks);
    const copies = COPIED_FILES.flatMap((name) => {
      const bytes = realDisk.read(join(folder, name));
      return bytes === null ? [] : [{ name, size: bytes.length, parts: [bytes] }];
    });
    const backup: AdmissionEntry = { name: BACKUP_ENTRY, size, parts: readParts(path, size) };
    await writeAdmission(
      file,
      {
        host: request.host,
        version,
        made_at: now,
        appliance: manifest.appliance,
        kid: request.public_key,
      },
      [...copies, backup],
    );
  } finally {
    rmSync(dirname(path), { recursive: true, force: true });
  }
}

const PART_BYTES = 1024 * 1024;

function* readParts(path: string, size: number): Generator<Uint8Array> {
  for (let offset = 0; offset < size; offset += PART_BYTES) {
    const part = realDisk.readPart(path, offset, Math.min(PART_BYTES, size - offset));
    if (part === null || part.length === 0) throw new Error(`${path} is shorter than expected`);
    yield part;
  }
}
