import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { dirname, join } from "node:path";
import type { Instant } from "../domain/time.ts";
import type { Disk } from "../platform/disk.ts";
import { randomBytes } from "../platform/random.ts";
import { rfc3339 } from "../platform/rfc3339.ts";
import { version } from "../platform/version.ts";
import { Archive, ArchiveWriter } from "./archive.ts";
import { isSameDamage, type AuditDamage } from "./audit/damage.ts";
import { AUDIT_FOLDER, IDENTITY_FILE, isStoreFile, segmentName, STATE_FILE } from "./files.ts";
import { isAfterAnchor, listAuditFiles } from "./audit/audit-log.ts";
import { BackupRefused, FolderRefused, FormatRefused } from "./refusal.ts";
import { replay, type ReplayResult } from "./replay.ts";
import { verify, type VerifyReport, type VerifyOptions } from "./verify.ts";

/** The last entry of a backup: what should be in it. A file that was cut short has none. */
export const MANIFEST_FILE = "backup.json";

const BackupManifest = Type.Object({
  backup: Type.Literal(1),
  berth: Type.String(),
  made_at: Type.String(),
  appliance: Type.String(),
  kind: Type.String(),
  seq: Type.Integer({ minimum: 0 }),
  audit_seq: Type.Integer({ minimum: 0 }),
  files: Type.Array(
    Type.Object({ name: Type.String(), size: Type.Integer(), sha256: Type.String() }),
  ),
  /** What was wrong with the audit log by then; left out: nothing. */
  audit_damage: Type.Optional(
    Type.Object({
      missing: Type.Array(Type.Object({ from: Type.Integer(), to: Type.Integer() })),
      files: Type.Array(Type.String()),
    }),
  ),
});

export type BackupManifest = Static<typeof BackupManifest>;

const MAX_ATTEMPTS = 5;

/**
 * Copies a data folder into one file, whether a server works on it or not, and without asking it:
 * everything a state refers to only ever grows, and stays for two checkpoints. What was copied is
 * read back and walked before it gets its name, so a copy that met two checkpoints is made again.
 * A damaged audit log is copied as it is, and the backup says so: all else is worth keeping.
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
  readonly size: number;
}> {
  if (disk.stat(out) !== null) {
    throw new BackupRefused(
      `${out} already exists`,
      "choose a new file name; backups are not overwritten",
    );
  }
  let damage: AuditDamage | null = null;
  for (let attempt = 1; ; attempt += 1) {
    const fresh = temporaryName(out);
    try {
      const manifest = await copyFolder(disk, folder, fresh, now, damage);
      const { verifyReport } = await openBackup(disk, fresh, options);
      // Not what a file that was just let go of looked like while it was copied.
      if (damage !== null && !isSameDamage(damage, await findAuditDamage(disk, folder, options))) {
        throw changedWhileCopied(join(folder, AUDIT_FOLDER));
      }
      const size = disk.stat(fresh)?.size ?? 0;
      disk.rename(fresh, out);
      await disk.syncFolder(dirname(out));
      return { manifest, verifyReport, size };
    } catch (error) {
      if (disk.stat(fresh) !== null) disk.remove(fresh);
      const moved = error instanceof BackupRefused || error instanceof FolderRefused;
      if (!moved) throw error;
      damage = await findAuditDamage(disk, folder, options);
      if (attempt < MAX_ATTEMPTS) continue;
      // It is not the copy that is wrong, then: say what is, and where.
      await verify(disk, folder, options);
      throw error;
    }
  }
}

const RANDOM_BYTES = 8;

/**
 * Its own for every backup: two that are made at once must not write into one file. What a killed
 * one leaves can be told by it.
 */
const temporaryName = (out: string): string => `${out}.${randomBytes(RANDOM_BYTES)}.new`;

/** Null: it is whole, or something else is wrong, which is for others to say. */
const findAuditDamage = (disk: Disk, folder: string, options: VerifyOptions) =>
  verify(disk, folder, { ...options, allowAuditDamage: true }).then(
    ({ auditDamage }) => auditDamage,
    () => null,
  );

/** The folder moved on under the copy. */
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

/** Never the cloud credentials and what opens them. */
function listEntries(
  disk: Disk,
  folder: string,
  { snapshot, segments }: ReplayResult,
  isDamaged: boolean,
): BackupEntry[] {
  const whole = (name: string): BackupEntry => {
    const size = disk.stat(join(folder, name))?.size;
    if (size === undefined) throw changedWhileCopied(join(folder, name));
    return { name, size };
  };
  const { file, length, seq, anchor } = snapshot.audit;
  const kept = listAuditFiles(disk, folder)
    .filter(isAfterAnchor(anchor))
    // Where the audit log is damaged, also what begins with it.
    .filter(({ firstSeq }) => firstSeq <= seq || (isDamaged && firstSeq === Infinity));
  return [
    whole(IDENTITY_FILE),
    whole(STATE_FILE),
    ...segments.map(({ number, size }) => ({ name: segmentName(number), size })),
    ...kept.map(({ name }) =>
      name === file && !isDamaged
        ? { name: join(AUDIT_FOLDER, name), size: length }
        : whole(join(AUDIT_FOLDER, name)),
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
  for (let from = 0; from < size; from += PART_BYTES) {
    const part = disk.readPart(path, from, Math.min(PART_BYTES, size - from));
    if (part?.length !== Math.min(PART_BYTES, size - from)) throw changedWhileCopied(path);
    hash.update(part);
    yield part;
  }
}

/** Reads a backup whole: every byte against its manifest, then as the data folder it is. */
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
  const listed = manifest.files.map(({ name }) => name).toSorted();
  const found = archive.names.filter((name) => name !== MANIFEST_FILE).toSorted();
  // Only what leaves a folder with a restore may come with one: not the sealed credentials.
  const known = found.every((name) => isStoreFile(name.split("/")[0] ?? ""));
  if (!known || !Bun.deepEquals(listed, found)) throw notAsListed(path, "its list of files");
  for (const { name, size, sha256 } of manifest.files) {
    if (archive.stat(join(path, name))?.size !== size) throw notAsListed(path, name);
    const hash = new Bun.CryptoHasher("sha256");
    for (const part of readParts(archive, join(path, name), size, hash)) void part;
    if (hash.digest("hex") !== sha256) throw notAsListed(path, name);
  }
  const allowing = { ...options, allowAuditDamage: manifest.audit_damage !== undefined };
  const verifyReport = await verify(archive, path, allowing).catch((error: unknown) => {
    if (error instanceof FormatRefused) throw new BackupRefused(error.message, error.hint);
    if (!(error instanceof FolderRefused)) throw error;
    throw new BackupRefused(`${path} is damaged: ${error.message}`, "use another backup file");
  });
  const same =
    verifyReport.appliance === manifest.appliance &&
    verifyReport.kind === manifest.kind &&
    verifyReport.head.seq === manifest.seq &&
    verifyReport.head.auditSeq === manifest.audit_seq &&
    isSameDamage(verifyReport.auditDamage, manifest.audit_damage ?? null) &&
    verifyReport.tornBytes === 0;
  if (!same) throw notAsListed(path, "its content");
  return { archive, manifest, verifyReport };
}

function parseManifest(bytes: Uint8Array): BackupManifest | null {
  try {
    const read: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return Value.Check(BackupManifest, read) ? read : null;
  } catch {
    return null;
  }
}

const notAsListed = (path: string, what: string): BackupRefused =>
  new BackupRefused(
    `${path} is damaged: ${what} does not match its manifest`,
    "use another backup file",
  );
