import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { instant } from "../../domain/time.ts";
import type { AdmissionHeader } from "../../license/pair-admission.ts";
import { version } from "../../platform/embedded/version.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { replaceFile, writeAll } from "../../platform/files/files.ts";
import { PairRefused } from "../../store/folder/refusal.ts";
import { openBackup } from "../backups/backup.ts";
import { Downloads } from "../backups/downloads.ts";
import { folderChecks } from "../folder/folder-checks.ts";
import { restoreBackup } from "../backups/restore.ts";
import type { VerifyReport } from "../folder/verify.ts";
import { extractAdmission, readHeaderOfFile } from "./admission-file.ts";
import { MAX_SKEW_MS } from "./clock-skew.ts";
import { BACKUP_ENTRY, COPIED_FILES } from "./make-admission.ts";
import {
  readPendingRequest,
  removePendingRequest,
  type PendingRequest,
} from "./pending-request.ts";

export interface JoinOptions {
  readonly disk: Disk;
  readonly folder: string;
  /** The admission file. */
  readonly file: string;
  /** The name of this host, as its settings have it. */
  readonly host: string;
  readonly now: number;
  readonly uid: number;
  /** Compares the backup with the log, and the clocks; throws before anything is changed. */
  readonly checkLog: (report: VerifyReport) => Promise<void>;
}

/**
 * Makes the data folder of a host that was admitted. Everything is checked first. The files beside
 * the backup come first, and the secret key of the request goes last: after an interruption the
 * command can be repeated, or the host has joined.
 */
export async function joinPair(options: JoinOptions): Promise<VerifyReport> {
  const { disk, folder, file } = options;
  const header = readHeaderOfFile(disk, file);
  if (header === null) {
    throw new PairRefused(
      `${file} is not a file of berth pair admit`,
      "berth pair admit FILE on the other host writes one, for the request of this host",
    );
  }
  const pending = readPendingRequest(disk, folder);
  checkAdmission(options, header, pending);
  const path = new Downloads(folder).newPath();
  try {
    const copies = await extract(disk, file, pending, path);
    const { verifyReport } = await openBackup(disk, path, folderChecks);
    await options.checkLog(verifyReport);
    await restoreBackup({
      disk,
      folder,
      file: path,
      acceptLoss: false,
      isJoin: true,
      async beforeChange() {
        for (const [name, bytes] of copies) await replaceFile(disk, join(folder, name), bytes);
      },
      now: instant(options.now),
      uid: options.uid,
      ...folderChecks,
    });
    await removePendingRequest(disk, folder);
    return verifyReport;
  } finally {
    rmSync(dirname(path), { recursive: true, force: true });
  }
}

function checkAdmission(
  { folder, file, host, now }: JoinOptions,
  header: AdmissionHeader,
  pending: PendingRequest | null,
): asserts pending is PendingRequest {
  if (pending === null) {
    throw new PairRefused(
      `no request to join a pair is open in ${folder}`,
      "a file of berth pair admit can be used once; if this host has not joined, make a new request with berth pair request",
    );
  }
  if (header.kid !== pending.key.x) {
    throw new PairRefused(
      header.host === pending.request.host
        ? `${file} answers an earlier request of this host`
        : `${file} is for host ${header.host}, and the request of this host is of ${pending.request.host}`,
      "use the file for the request that this host made last",
    );
  }
  if (host !== header.host) {
    throw new PairRefused(
      `this host was admitted as ${header.host}, and its pair_host is ${host}`,
      `set pair_host = "${header.host}"`,
    );
  }
  if (header.version !== version) {
    throw new PairRefused(
      `the other host has berth ${header.version}, and this host has ${version}`,
      "install the same version on both hosts, and make a new request",
    );
  }
  if (header.made_at > now + MAX_SKEW_MS) {
    const seconds = Math.round((header.made_at - now) / 1_000);
    throw new PairRefused(
      `the clock of this host is at least ${seconds} s behind the clock of the other host`,
      "set both clocks by NTP",
    );
  }
}

/** Decrypts the backup to `path`. Returns the files beside it. */
async function extract(
  disk: Disk,
  file: string,
  { key }: PendingRequest,
  path: string,
): Promise<ReadonlyMap<string, Uint8Array>> {
  const copies = new Map<string, Uint8Array>();
  const backup = disk.open(path, "new");
  try {
    await extractAdmission(disk, file, key, (name) => {
      if (name === BACKUP_ENTRY) return (part) => writeAll(backup, part);
      // Of a newer version, which knows more of them.
      if (!COPIED_FILES.includes(name)) return () => {};
      copies.set(name, new Uint8Array());
      return (part) => copies.set(name, Buffer.concat([copies.get(name) ?? part, part]));
    });
  } finally {
    backup.close();
  }
  return copies;
}
