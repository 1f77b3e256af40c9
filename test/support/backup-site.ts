// A site with an identity key, and helpers to back it up, verify it and restore it.
import { expect } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { realDisk, type Disk } from "../../src/platform/files/disk.ts";
import { makeBackup, openBackup } from "../../src/operations/backups/backup.ts";
import { checkpoint } from "../../src/store/checkpoint/checkpoint.ts";
import { generationName, isStoreFile } from "../../src/store/folder/files.ts";
import { genesisHead } from "../../src/store/journal/journal.ts";
import { BackupRefused, FolderRefused } from "../../src/store/folder/refusal.ts";
import { replay } from "../../src/store/journal/replay.ts";
import {
  restoreBackup,
  type RestoreOptions,
  type RestoreReport,
} from "../../src/operations/backups/restore.ts";
import { emptyAuditLogEnd } from "../../src/store/state/snapshot.ts";
import { encodeSnapshot } from "../../src/store/state/state-rows.ts";
import { StateFile } from "../../src/store/state/state-file.ts";
import type { StoreOptions } from "../../src/store/store-options.ts";
import {
  verify,
  type VerifyReport,
  type VerifyOptions,
} from "../../src/operations/folder/verify.ts";
import {
  transactOrThrow,
  transactInOneBatch,
  dumpStateSorted,
  INSTALL_CAD,
  openSite,
  openAndCloseFolder,
  type StateDump,
  type OpenSite,
} from "./licensed-store.ts";
import { makeNewSite } from "./new-site.ts";
import { MONDAY, register, utc } from "./scenario.ts";
import { contentsOf, tempFolder } from "./temp-folder.ts";

export const APPLIANCE_ID = "APPLIANCE0000001";

const keyOf = (appliance: string): string => `the key of ${appliance}\n`;

/** Replaces the real check: the key in the folder must be that of the appliance. */
export const checkIdentity: VerifyOptions["identity"] = (disk, folder, appliance) => {
  const path = join(folder, "identity.jwk");
  if (new TextDecoder().decode(disk.read(path) ?? new Uint8Array()) === keyOf(appliance)) return;
  throw new FolderRefused(`${path} is another appliance's key`, "restore it from a backup");
};

/** Opens a new folder with open requests, an identity key and the license for `cad`. */
export async function openSiteWithKey(
  differing: Partial<StoreOptions> = {},
  appliance = APPLIANCE_ID,
): Promise<OpenSite> {
  const folder = join(tempFolder(), "data");
  await openAndCloseFolder(folder, { identify: async () => appliance });
  const snapshot = encodeSnapshot(makeNewSite(), genesisHead, emptyAuditLogEnd);
  await new StateFile(realDisk, folder).write(snapshot, null);
  await new StateFile(realDisk, folder, generationName(0)).write(snapshot, null);
  writeFileSync(join(folder, "identity.jwk"), keyOf(appliance), { mode: 0o600 });
  const site = await openSite({ folder, ...differing });
  await transactOrThrow(site.store, INSTALL_CAD);
  return site;
}

/** Two checkpoints in two months, and then a batch of two lines in the journal. */
export async function openSiteWithHistory(
  differing: Partial<StoreOptions> = {},
): Promise<OpenSite> {
  const site = await openSiteWithKey(differing);
  await transactOrThrow(site.store, register("ada"));
  await site.store.checkpoint();
  site.clock.now = utc("2026-04-01T00:00:00Z");
  await transactOrThrow(site.store, register("bob"));
  await site.store.checkpoint();
  await transactInOneBatch(site.store, register("cem"), register("bob"));
  return site;
}

/** A checkpoint that keeps this many months of the audit log. */
export const checkpointKeepingMonths =
  (months: number, disk: Disk = realDisk): StoreOptions["checkpoint"] =>
  (folder, open) =>
    checkpoint(disk, folder, open, { keepMonths: months });

export const newBackupPath = (): string => join(tempFolder(), "site.berth");

/** Makes a backup and returns its path. */
export async function backUpFolder(folder: string, out = newBackupPath()): Promise<string> {
  await makeBackup(realDisk, folder, out, MONDAY, { identity: checkIdentity });
  return out;
}

export const verifyFolder = (folder: string, disk: Disk = realDisk): Promise<VerifyReport> =>
  verify(disk, folder, { identity: checkIdentity });

/** The state in a backup, as a server would read it. */
export async function readBackupState(
  file: string,
): Promise<{ readonly state: StateDump; readonly seq: number }> {
  const { archive } = await openBackup(realDisk, file, { identity: checkIdentity });
  return readFolderState(file, archive);
}

/** The state in a folder, read without changing it. */
export async function readFolderState(
  folder: string,
  disk: Disk = realDisk,
): Promise<{ readonly state: StateDump; readonly seq: number }> {
  const replayed = await replay(disk, folder);
  if (replayed === null) throw new Error(`${folder} is empty`);
  return { state: dumpStateSorted(replayed.state), seq: replayed.head.seq };
}

export const restoreTo = (
  folder: string,
  file: string,
  differing: Partial<RestoreOptions> = {},
): Promise<RestoreReport> =>
  restoreBackup({
    disk: realDisk,
    folder,
    file,
    acceptLoss: false,
    now: MONDAY,
    uid: process.getuid?.() ?? 0,
    identity: checkIdentity,
    ...differing,
  });

export interface Refusal {
  readonly name: string;
  readonly message: string;
  readonly hint: string;
}

/** Returns the expected refusal; throws any other error again. */
export async function catchRefusal(attempt: Promise<unknown>): Promise<Refusal> {
  try {
    await attempt;
  } catch (error) {
    if (!(error instanceof FolderRefused) && !(error instanceof BackupRefused)) throw error;
    const { name, message, hint } = error;
    expect(message).not.toContain("\n");
    return { name, message, hint };
  }
  throw new Error("expected a refusal");
}

/** Replaces the bytes of a file. */
export function editFile(path: string, change: (bytes: Buffer) => Uint8Array | string): void {
  writeFileSync(path, change(readFileSync(path)));
}

export const flipBit = (path: string, offset: number): void =>
  editFile(path, (bytes) => {
    bytes[offset] = (bytes[offset] ?? 0) ^ 1;
    return bytes;
  });

/** The store's files in a folder, with their bytes. */
export const readStoreFiles = (folder: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(contentsOf(folder)).filter(([name]) => isStoreFile(name.split("/")[0] ?? "")),
  );

/** The folder into which a restore moved the replaced files; null: it replaced none. */
export function findReplacedFolder(folder: string): string | null {
  const [name, ...others] = readdirSync(folder).filter((entry) => entry.startsWith("replaced-"));
  expect(others).toEqual([]);
  return name === undefined ? null : join(folder, name);
}

/** Temporary files of a restore that has not finished. */
export const listRestoreLeftovers = (folder: string): string[] =>
  existsSync(folder)
    ? readdirSync(folder).filter((name) => /^(?:restore\.new|restoring-|arriving-)/.test(name))
    : [];
