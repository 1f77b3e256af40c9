import { dirname, join } from "node:path";
import type { Instant } from "../../domain/time.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { renameToNewName } from "../../platform/files/files.ts";
import { errorCode, errorPath } from "../../platform/files/system-error.ts";
import { randomBytes } from "../../platform/crypto/random.ts";
import { rfc3339 } from "../../platform/rfc3339.ts";
import { version } from "../../platform/embedded/version.ts";
import { Archive, ArchiveWriter } from "./archive.ts";
import { MANIFEST_FILE, parseManifest, type BackupManifest } from "./backup-manifest.ts";
import { isSameDamage, type AuditDamage } from "../../store/audit/damage.ts";
import {
  AUDIT_FOLDER,
  IDENTITY_FILE,
  isStoreFile,
  segmentName,
  STATE_FILE,
} from "../../store/folder/files.ts";
import { isAfterAnchor, listAuditFiles } from "../../store/audit/audit-log.ts";
import { BackupRefused, FolderRefused, FormatRefused } from "../../store/folder/refusal.ts";
import { replay, type ReplayResult } from "../../store/journal/replay.ts";
import { verify, type VerifyReport, type VerifyOptions } from "../folder/verify.ts";

/** The first file in every backup: the beginning of one whose tar header is damaged. */
export const beginsLikeBackup = (text: string): boolean => text.startsWith(IDENTITY_FILE);

const MAX_ATTEMPTS = 5;

/**
 * Copies a data folder into one file, with or without a running server, and without a request to
 * it. This works because everything a state refers to only grows, and stays for two checkpoints.
 * The copy is read back and verified before it gets its final name; if two checkpoints ran
 * meanwhile, it is made again. A damaged audit log is copied as it is, and the manifest says so:
 * everything else is worth keeping.
 */
export async function makeBackup(
  disk: Disk,
  folder: string,
  out: string,
  now: Instant,
  options: VerifyOptions,
): Promise<{
  readonly manifest: BackupManifest;
  readonly verifyReport: VerifyReport;
  /** Of the audit log in the folder itself. */
  readonly auditDamage: AuditDamage | null;
  readonly size: number;
}> {
  if (disk.stat(out) !== null) throw alreadyExists(out);
  let damage: AuditDamage | null = null;
  for (let attempt = 1; ; attempt += 1) {
    const temporaryPath = temporaryName(out);
    try {
      const manifest = await copyFolder(disk, folder, temporaryPath, now, damage);
      const { verifyReport } = await openBackup(disk, temporaryPath, options);
      // The damage must not be a file that was being removed while it was copied.
      if (damage !== null && !isSameDamage(damage, await findAuditDamage(disk, folder, options))) {
        throw changedWhileCopied(join(folder, AUDIT_FOLDER));
      }
      const size = disk.stat(temporaryPath)?.size ?? 0;
      renameToNewName(disk, temporaryPath, out);
      await disk.syncFolder(dirname(out));
      return { manifest, verifyReport, auditDamage: damage, size };
    } catch (error) {
      if (disk.stat(temporaryPath) !== null) disk.remove(temporaryPath);
      if (errorCode(error) === "EEXIST") throw alreadyExists(out);
      // The name of the temporary file would tell the operator nothing.
      if (errorPath(error) === temporaryPath) Object.assign(error as Error, { path: out });
      const isRetryable = error instanceof BackupRefused || error instanceof FolderRefused;
      if (!isRetryable) throw error;
      damage = await findAuditDamage(disk, folder, options);
      if (attempt < MAX_ATTEMPTS) continue;
      // Then the folder itself is damaged: verify reports what is wrong, and where.
      await verify(disk, folder, options);
      throw error;
    }
  }
}

const RANDOM_BYTES = 8;

/**
 * Unique for each backup: two that run at once must not write into one file. It also identifies
 * what a killed backup leaves behind.
 */
const temporaryName = (out: string): string => `${out}.${randomBytes(RANDOM_BYTES)}.new`;

/** What the name of such a file ends with. */
export const UNFINISHED_SUFFIX = /\.[0-9a-f]{16}\.new$/;

const alreadyExists = (out: string): BackupRefused =>
  new BackupRefused(`${out} already exists`, "choose a new file name; backups are not overwritten");

/** Null: the audit log is intact, or something else is wrong, which other checks report. */
const findAuditDamage = (disk: Disk, folder: string, options: VerifyOptions) =>
  verify(disk, folder, { ...options, allowAuditDamage: true }).then(
    ({ auditDamage }) => auditDamage,
    () => null,
  );

/** The folder changed during the copy. */
const changedWhileCopied = (path: string): BackupRefused =>
  new BackupRefused(`${path} changed while it was copied`, "try again");

async function copyFolder(
  disk: Disk,
  folder: string,
  out: string,
  now: Instant,
  damage: AuditDamage | null,
): Promise<BackupManifest> {
  const replayed = await replay(disk, folder);
  if (replayed === null) {
    throw new FolderRefused(
      `${folder} is not a data folder`,
      "specify another folder with --data DIR",
    );
  }
  const files: BackupManifest["files"] = [];
  const file = disk.open(out, "new");
  try {
    const archive = new ArchiveWriter(file);
    for (const { name, size } of listEntries(disk, folder, replayed, damage !== null)) {
      const hash = new Bun.CryptoHasher("sha256");
      archive.add(name, size, readParts(disk, join(folder, name), size, hash));
      files.push({ name, size, sha256: hash.digest("hex") });
    }
    const { state, head } = replayed;
    const manifest: BackupManifest = {
      backup: 1,
      berth: version,
      made_at: rfc3339(now),
      appliance: state.appliance,
      kind: state.kind,
      seq: head.seq,
      audit_seq: head.auditSeq,
      files,
      ...(damage !== null && {
        audit_damage: { missing: [...damage.missing], files: [...damage.files] },
      }),
    };
    const text = Buffer.from(`${JSON.stringify(manifest, null, 1)}\n`);
    archive.add(MANIFEST_FILE, text.length, [text]);
    archive.end();
    await file.sync();
    return manifest;
  } finally {
    file.close();
  }
}

interface BackupEntry {
  readonly name: string;
  readonly size: number;
}

/** Never includes the cloud credentials or the key that encrypts them. */
function listEntries(
  disk: Disk,
  folder: string,
  { snapshot, segments }: ReplayResult,
  isDamaged: boolean,
): BackupEntry[] {
  const statEntry = (name: string): BackupEntry => {
    const size = disk.stat(join(folder, name))?.size;
    if (size === undefined) throw changedWhileCopied(join(folder, name));
    return { name, size };
  };
  const { file, length, seq, anchor } = snapshot.audit;
  const auditFiles = listAuditFiles(disk, folder)
    .filter(isAfterAnchor(anchor))
    // If the audit log is damaged, also files that begin with damage.
    .filter(({ firstSeq }) => firstSeq <= seq || (isDamaged && firstSeq === Infinity));
  return [
    statEntry(IDENTITY_FILE),
    statEntry(STATE_FILE),
    ...segments.map(({ number, size }) => ({ name: segmentName(number), size })),
    ...auditFiles.map(({ name }) =>
      name === file && !isDamaged
        ? { name: join(AUDIT_FOLDER, name), size: length }
        : statEntry(join(AUDIT_FOLDER, name)),
    ),
  ];
}

const PART_BYTES = 1024 * 1024;

function* readParts(
  disk: Disk,
  path: string,
  size: number,
  hash: Bun.CryptoHasher,
): Generator<Uint8Array> {
  for (let offset = 0; offset < size; offset += PART_BYTES) {
    const part = disk.readPart(path, offset, Math.min(PART_BYTES, size - offset));
    if (part?.length !== Math.min(PART_BYTES, size - offset)) throw changedWhileCopied(path);
    hash.update(part);
    yield part;
  }
}

/**
 * Reads a whole backup: checks every byte against its manifest, then verifies it as a data folder.
 */
export async function openBackup(
  disk: Disk,
  path: string,
  options: VerifyOptions,
): Promise<{
  readonly archive: Archive;
  readonly manifest: BackupManifest;
  readonly verifyReport: VerifyReport;
}> {
  const archive = new Archive(disk, path);
  const bytes = archive.read(join(path, MANIFEST_FILE));
  const manifest = bytes && parseManifest(bytes);
  if (manifest === null) {
    throw new BackupRefused(`${path} is not a complete backup`, "use another backup file");
  }
  const listedNames = manifest.files.map(({ name }) => name).toSorted();
  const foundNames = archive.names.filter((name) => name !== MANIFEST_FILE).toSorted();
  // A backup may contain only files that a restore replaces: no encrypted credentials.
  const hasOnlyStoreFiles = foundNames.every((name) => isStoreFile(name.split("/")[0] ?? ""));
  if (!hasOnlyStoreFiles || !Bun.deepEquals(listedNames, foundNames))
    throw notAsListed(path, "its list of files");
  for (const { name, size, sha256 } of manifest.files) {
    if (archive.stat(join(path, name))?.size !== size) throw notAsListed(path, name);
    const hash = new Bun.CryptoHasher("sha256");
    for (const part of readParts(archive, join(path, name), size, hash)) void part;
    if (hash.digest("hex") !== sha256) throw notAsListed(path, name);
  }
  const verifyOptions = { ...options, allowAuditDamage: manifest.audit_damage !== undefined };
  const verifyReport = await verify(archive, path, verifyOptions).catch((error: unknown) => {
    if (error instanceof FormatRefused || !(error instanceof FolderRefused)) throw error;
    throw new BackupRefused(`${path} is damaged: ${error.message}`, "use another backup file");
  });
  const isAsListed =
    verifyReport.appliance === manifest.appliance &&
    verifyReport.kind === manifest.kind &&
    verifyReport.head.seq === manifest.seq &&
    verifyReport.head.auditSeq === manifest.audit_seq &&
    isSameDamage(verifyReport.auditDamage, manifest.audit_damage ?? null) &&
    verifyReport.tornBytes === 0;
  if (!isAsListed) throw notAsListed(path, "its content");
  return { archive, manifest, verifyReport };
}

const notAsListed = (path: string, part: string): BackupRefused =>
  new BackupRefused(
    `${path} is damaged: ${part} does not match its manifest`,
    "use another backup file",
  );
