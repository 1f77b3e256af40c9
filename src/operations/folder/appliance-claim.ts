import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { keyIdOf, parsePrivateKey, type PrivateKey } from "../../license/documents/keys.ts";
import {
  findLockHolder,
  acquireApplianceLock,
  type LockHolder,
  type LockRequest,
} from "../../platform/system/appliance-lock.ts";
import { realDisk, type Disk } from "../../platform/files/disk.ts";
import { SERVICE_DATA, type Environment } from "../../platform/environment.ts";
import { describeProcess } from "../../platform/system/processes.ts";
import { Archive } from "../backups/archive.ts";
import { IDENTITY_FILE } from "../../store/folder/files.ts";
import { FolderBusy } from "../../store/folder/lock.ts";

/** A lock that keeps two servers on one machine from serving copies of the same data folder. */
export class ApplianceClaim {
  readonly #folder: string;
  readonly #environment: Environment;
  readonly #warn: (warning: string) => void;
  #release = (): void => {};

  constructor(folder: string, environment: Environment, warn: (warning: string) => void) {
    this.#folder = folder;
    this.#environment = environment;
    this.#warn = warn;
  }

  /** Throws if another server serves the same appliance. */
  async acquire(key: PrivateKey): Promise<void> {
    if (process.platform !== "linux") return;
    const outcome = await acquireApplianceLock(lockRequest(key, this.#folder, this.#environment));
    if (outcome.result === "taken") this.#release = outcome.release;
    if (outcome.result === "held") throw alreadyServedError(key, this.#folder, outcome.holder);
    if (outcome.result === "unavailable") {
      this.#warn(
        `cannot detect whether a copy of ${this.#folder} is served on this machine: ${outcome.reason}`,
      );
    }
  }

  release(): void {
    this.#release();
  }
}

function alreadyServedError(key: PrivateKey, folder: string, holder: LockHolder): FolderBusy {
  return new FolderBusy(
    `appliance ${keyIdOf(key)} is already served ${describeHolder(holder)}`,
    `stop that server first: ${folder} is a copy, and both servers would grant the same slots`,
  );
}

/** Throws if a server serves the same appliance from another folder: this one is then a copy. */
export async function refuseCopy(
  key: PrivateKey,
  folder: string,
  environment: Environment,
): Promise<void> {
  const holder = await findOtherServer(key, folder, environment);
  if (holder !== null) throw alreadyServedError(key, folder, holder);
}

/** The same for a backup that is about to be restored. */
export async function refuseCopyOfBackup(
  file: string,
  folder: string,
  environment: Environment,
): Promise<void> {
  const key = readIdentity(() => new Archive(realDisk, file), file);
  if (key !== null) await refuseCopy(key, folder, environment);
}

/** The error with which a change of this folder would be refused; null: none. */
export async function findCopyRefusal(
  folder: string,
  environment: Environment,
): Promise<FolderBusy | null> {
  const key = readIdentity(() => realDisk, folder);
  const holder = key && (await findOtherServer(key, folder, environment));
  return key && holder && alreadyServedError(key, folder, holder);
}

async function findOtherServer(
  key: PrivateKey,
  folder: string,
  environment: Environment,
): Promise<LockHolder | null> {
  if (process.platform !== "linux") return null;
  const holder = await findLockHolder(lockRequest(key, folder, environment));
  if (holder === null || holder.folder === null) return holder;
  return resolvedPath(holder.folder) === resolvedPath(folder) ? null : holder;
}

/** A folder may have several paths. */
function resolvedPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

const describeHolder = ({ pid, folder }: LockHolder): string =>
  `${folder === null ? "" : `from ${folder} `}by ${describeProcess(pid)}`;

/** Only readers of the folder, or of a copy of it, can derive the secret. */
const lockRequest = (key: PrivateKey, folder: string, environment: Environment): LockRequest => ({
  secret: createHash("sha256").update(`berth appliance lock ${key.d}`).digest(),
  folder,
  environment,
});

/**
 * Where else on this machine the appliance of a backup is; null: nowhere that this user can see.
 * Restored in another folder, the backup becomes a copy.
 */
export async function findOriginalOfBackup(
  file: string,
  folder: string,
  environment: Environment,
): Promise<string | null> {
  const key = readIdentity(() => new Archive(realDisk, file), file);
  const location = key && (await findOtherLocation(key, folder, environment));
  return key && location && `appliance ${keyIdOf(key)} of ${file} is ${location}`;
}

/** Where else on this machine the appliance is; null: nowhere that this user can see. */
async function findOtherLocation(
  key: PrivateKey,
  folder: string,
  environment: Environment,
): Promise<string | null> {
  const holder = await findOtherServer(key, folder, environment);
  if (holder !== null) return `served ${describeHolder(holder)}`;
  if (folder === SERVICE_DATA) return null;
  const installed = readIdentity(() => realDisk, SERVICE_DATA);
  return installed !== null && keyIdOf(installed) === keyIdOf(key) ? `in ${SERVICE_DATA}` : null;
}

/** Null: it cannot be read; other checks refuse that. */
function readIdentity(open: () => Pick<Disk, "read">, folder: string): PrivateKey | null {
  try {
    const bytes = open().read(join(folder, IDENTITY_FILE));
    return bytes && parsePrivateKey(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return null;
  }
}
