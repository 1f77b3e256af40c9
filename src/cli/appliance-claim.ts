import { createHash } from "node:crypto";
import { realpathSync } from "node:fs";
import { join } from "node:path";
import { keyIdOf, parsePrivateKey, type PrivateKey } from "../license/keys.ts";
import {
  findLockHolder,
  acquireApplianceLock,
  type LockHolder,
  type LockRequest,
} from "../platform/appliance-lock.ts";
import { realDisk, type Disk } from "../platform/disk.ts";
import { SERVICE_DATA, type Environment } from "../platform/options.ts";
import { describeProcess } from "../platform/processes.ts";
import { Archive } from "../store/archive.ts";
import { IDENTITY_FILE } from "../store/files.ts";
import { FolderBusy } from "../store/lock.ts";
import { Failure } from "./command.ts";
import { printWarning } from "./terminal.ts";

/** The lock that keeps a copy of a data folder from being served beside it, on one machine. */
export class ApplianceClaim {
  readonly #folder: string;
  readonly #environment: Environment;
  #release = (): void => {};

  constructor(folder: string, environment: Environment) {
    this.#folder = folder;
    this.#environment = environment;
  }

  /** Throws when a server has the same appliance. */
  async acquire(key: PrivateKey): Promise<void> {
    if (process.platform !== "linux") return;
    const taken = await acquireApplianceLock(lockRequest(key, this.#folder, this.#environment));
    if (taken.result === "taken") this.#release = taken.release;
    if (taken.result === "held") throw alreadyServedError(key, this.#folder, taken.holder);
    if (taken.result === "unavailable") {
      printWarning(
        `cannot detect whether a copy of ${this.#folder} is served on this machine: ${taken.reason}`,
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

/** Throws before a command changes a copy: a server has the same appliance in another folder. */
export async function refuseCopy(
  key: PrivateKey,
  folder: string,
  environment: Environment,
): Promise<void> {
  const holder = await findOtherServer(key, folder, environment);
  if (holder !== null) throw alreadyServedError(key, folder, holder);
}

/** The same for a backup that is about to become a folder. */
export async function refuseCopyOfBackup(
  file: string,
  folder: string,
  environment: Environment,
): Promise<void> {
  const key = readIdentity(() => new Archive(realDisk, file), file);
  if (key !== null) await refuseCopy(key, folder, environment);
}

/** What would refuse a change of this folder; null: nothing does. */
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

/** One folder may be named by several paths. */
function resolvedPath(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

const describeHolder = ({ pid, folder }: LockHolder): string =>
  `${folder === null ? "" : `from ${folder} `}by ${describeProcess(pid)}`;

/** What only readers of the folder, or of a copy of it, can know. */
const lockRequest = (key: PrivateKey, folder: string, environment: Environment): LockRequest => ({
  secret: createHash("sha256").update(`berth appliance lock ${key.d}`).digest(),
  folder,
  environment,
});

export interface CopyCheck {
  /** The backup. */
  readonly file: string;
  readonly folder: string;
  /** Whether nobody named the folder. */
  readonly isDefault: boolean;
  readonly environment: Environment;
}

/**
 * A backup that is brought back beside the folder it was made of makes a copy. Where nobody named
 * the folder that is refused, and else it is said.
 */
export async function checkForCopy(question: CopyCheck): Promise<void> {
  const { file, folder, isDefault, environment } = question;
  const key = readIdentity(() => new Archive(realDisk, file), file);
  if (key === null) return;
  const place = await findOtherLocation(key, folder, environment);
  if (place === null) return;
  const what = `appliance ${keyIdOf(key)} of ${file} is ${place}`;
  if (!isDefault) {
    printWarning(`${what}; the copy in ${folder} cannot be served at the same time`);
    return;
  }
  throw new Failure(
    `${what}: ${folder} would become a copy, which cannot be served at the same time`,
    "specify the folder to restore with --data DIR",
  );
}

/** Where else on this machine it is; null: nowhere, as far as this user can tell. */
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

/** What cannot be read is for others to refuse. */
function readIdentity(open: () => Pick<Disk, "read">, folder: string): PrivateKey | null {
  try {
    const bytes = open().read(join(folder, IDENTITY_FILE));
    return bytes && parsePrivateKey(JSON.parse(new TextDecoder().decode(bytes)));
  } catch {
    return null;
  }
}
