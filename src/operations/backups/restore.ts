import { hasHadLicense, isUnusedSite } from "../../domain/appliance/move.ts";
import {
  beginRestoreGrace,
  hostGraceEnd,
  isForOtherHosts,
} from "../../domain/licenses/restore-grace.ts";
import type { License, State } from "../../domain/model/state.ts";
import { latest, type Instant } from "../../domain/time.ts";
import type { HardwareComponent } from "../../license/documents/hardware.ts";
import type { Disk } from "../../platform/files/disk.ts";
import { randomId } from "../../platform/crypto/random.ts";
import { MANIFEST_FILE, type BackupManifest } from "./backup-manifest.ts";
import { openBackup, UNFINISHED_SUFFIX } from "./backup.ts";
import { isEmptyFolder, acquireFolder } from "../../store/folder/folder.ts";
import type { ChainHead } from "../../store/journal/journal.ts";
import { BackupRefused, FolderRefused, PairRefused } from "../../store/folder/refusal.ts";
import { replay } from "../../store/journal/replay.ts";
import { applyRestore, stageRestore } from "../../store/folder/restore-steps.ts";
import { Identity } from "../appliance/identity.ts";
import type { VerifyReport, VerifyOptions } from "../folder/verify.ts";

export interface RestoreOptions {
  readonly disk: Disk;
  readonly folder: string;
  /** The backup file. */
  readonly file: string;
  readonly acceptLoss: boolean;
  /** Whether the appliance moves here from another host, which has retired it. */
  readonly isMove?: boolean;
  /** Whether this host joins a pair, whose other host made the backup. */
  readonly isJoin?: boolean;
  /** Called when nothing can be refused any more, before the folder is changed. */
  readonly beforeChange?: () => Promise<void>;
  readonly now: Instant;
  readonly uid: number;
  /** The components of this machine; absent: no license may begin a grace period. */
  readonly hardware?: readonly HardwareComponent[];
  readonly identity: VerifyOptions["identity"];
  readonly checkSignatures?: VerifyOptions["checkSignatures"];
}

export interface RestoreReport {
  readonly manifest: BackupManifest;
  readonly verifyReport: VerifyReport;
  readonly lineage: string;
  /** The folder with the replaced files; null: there were none. */
  readonly replacedFolder: string | null;
  /** The lines that the folder had and the backup does not; null: none, or unknown. */
  readonly lostLines: number | null;
  /** The folder had no contents of this appliance before. */
  readonly isNewHere: boolean;
  /** The licenses that this machine cannot serve, or only for a grace period. */
  readonly licensesForOtherHosts: readonly LicenseForOtherHosts[];
}

interface LicenseForOtherHosts {
  readonly license: number;
  readonly product: string;
  readonly serial: number;
  /** It serves here until then; null: it does not serve here. */
  readonly until: Instant | null;
}

/**
 * Replaces the contents of a folder by a backup, and records that in the audit log. The backup is
 * verified completely first. The replaced files are kept. Changes that the backup does not contain
 * are discarded only if the operator accepts the loss.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreReport> {
  const { disk, folder, file, uid, identity, checkSignatures } = options;
  const { isMove = false, isJoin = false } = options;
  const checks = { identity, checkSignatures };
  // Checked first: a bad file must not leave a new folder behind.
  if (disk.stat(folder) === null) await openBackup(disk, file, checks);
  const { lock } = await acquireFolder({ disk, folder, create: true, uid, holder: "command" });
  try {
    const existing = isEmptyFolder(disk, folder) ? null : await readExistingFolder(disk, folder);
    let isContinuation = existing === null;
    const backedUp: State[] = [];
    const { archive, manifest, verifyReport } = await openBackup(disk, file, {
      ...checks,
      onState: (state) => backedUp.push(state),
      onAuditedLine(seq, sum) {
        if (existing !== null && "head" in existing) {
          isContinuation ||= seq === existing.head.auditSeq && sum === existing.head.auditSum;
        }
      },
    });
    if (!isJoin) refuseInPair(folder, existing);
    if (isMove) checkMove(options, existing, verifyReport, isContinuation);
    if (isJoin) checkUnused(options, existing, verifyReport);
    const lostLines =
      isMove || isJoin ? 0 : checkLoss(options, existing, verifyReport, isContinuation);
    const { head, coveredSeq, segments, mark } = verifyReport;
    const isSameAppliance =
      existing !== null &&
      "head" in existing &&
      existing.state.appliance === verifyReport.appliance;
    const at = latest(options.now, mark);
    const forOtherHosts = backedUp
      .flatMap((state) => findLicensesForOtherHosts(options, state, archive))
      .map((license) => ({ ...license, restored: beginRestoreGrace(license, at) }));
    const grace = forOtherHosts
      .filter(({ terms }) => terms.restoreGraceHours !== undefined)
      .map(({ id, grant }) => ({ license: id, serial: grant.serial }));
    const restore = {
      lineage: randomId(),
      at,
      seq: head.seq,
      replaced: isSameAppliance ? existing.head.seq : null,
      ...(isMove && { moved: true as const }),
      ...(grace.length > 0 && { grace }),
    };
    await stageRestore(disk, folder, {
      backupDisk: archive,
      backupPath: file,
      fileNames: manifest.files.map(({ name }) => name).filter((name) => name !== MANIFEST_FILE),
      coveredSeq,
      lastSegmentSeq: segments.at(-1) ?? coveredSeq + 1,
      head,
      restore,
      isMove,
      isJoin,
    });
    await options.beforeChange?.();
    const { replaced } = await applyRestore(disk, folder, { restore, isMove });
    return {
      manifest,
      verifyReport,
      lineage: restore.lineage,
      replacedFolder: replaced,
      lostLines,
      isNewHere: !isSameAppliance,
      licensesForOtherHosts: forOtherHosts.map((license) => {
        const { id, terms, grant } = license;
        const until = hostGraceEnd(license);
        const isServed = until !== null && at < until;
        const { product } = terms;
        return { license: id, product, serial: grant.serial, until: isServed ? until : null };
      }),
    };
  } finally {
    lock.release();
  }
}

function findLicensesForOtherHosts(
  { hardware, file }: RestoreOptions,
  { appliance, licenses, kind }: State,
  archive: Disk,
): License[] {
  if (hardware === undefined || kind === "demo") return [];
  const identity = new Identity(archive, file, hardware);
  identity.open(appliance);
  const isSignedForThisMachine = (license: License): boolean =>
    identity.matchHardware(license).isMatch;
  return [...licenses.values()].filter((license) =>
    isForOtherHosts(license, isSignedForThisMachine),
  );
}

/**
 * Allows a move into an empty or unused folder, or back to the original host if nothing changed
 * since.
 */
function checkMove(
  { folder, file }: RestoreOptions,
  existing: ExistingFolder | null,
  { retired, appliance, kind, head }: VerifyReport,
  isContinuation: boolean,
): void {
  if (retired === null) {
    throw new BackupRefused(
      `${file} is a backup, not a moved site: its host still serves it, and both would grant the same slots`,
      "create the file with berth move out on that host; or, if that host is lost, use berth restore",
    );
  }
  // The repeated command wrote another file: with both, two hosts could continue.
  if (UNFINISHED_SUFFIX.test(file)) {
    throw new BackupRefused(
      `${file} was left behind by an interrupted berth move out`,
      "delete it, and use the file of a berth move out that succeeded",
    );
  }
  if (kind === "demo") {
    throw new BackupRefused(
      `${file} is of a demo, which cannot be moved`,
      "start a new demo with berth demo",
    );
  }
  if (existing === null) return;
  if ("head" in existing) {
    const { state } = existing;
    const isSameAppliance = state.appliance === appliance;
    if (isUnusedSite(state) || (isSameAppliance && isContinuation)) return;
    // After an interrupted first attempt, the operator must not move the file in on another host.
    if (
      isSameAppliance &&
      state.restores.some(({ moved, seq }) => moved === true && seq === head.seq)
    ) {
      throw new BackupRefused(
        `${file} was already moved in here, and ${folder} continues from it`,
        "start the server, and do not move the file in anywhere else",
      );
    }
  }
  throw new BackupRefused(
    `${folder} already contains another site`,
    "specify an empty folder with --data DIR",
  );
}

/** The other host would continue with what the backup replaces. */
function refuseInPair(folder: string, existing: ExistingFolder | null): void {
  if (existing === null || !("head" in existing) || existing.state.pair === null) return;
  const names = [...existing.state.pair.hosts.keys()].join(" and ");
  throw new PairRefused(
    `${folder} is of a pair (${names}), whose log does not continue a backup`,
    "stop both hosts and end the pair with berth pair leave; restore, and form the pair again with an empty database",
  );
}

/** Refuses a folder in which a host could not join, before its request is on its way. */
export async function refuseUsedFolder(disk: Disk, folder: string): Promise<void> {
  if (disk.stat(folder) === null || isEmptyFolder(disk, folder)) return;
  const existing = await readExistingFolder(disk, folder);
  if ("head" in existing && isUnusedSite(existing.state)) return;
  throw new PairRefused(
    `${folder} already contains a site`,
    "a host joins with an empty folder: move this one away, or specify another one with --data DIR",
  );
}

/** Allows a host to join with an empty or unused folder. */
function checkUnused(
  { folder }: RestoreOptions,
  existing: ExistingFolder | null,
  { appliance }: VerifyReport,
): void {
  if (existing === null) return;
  if ("head" in existing) {
    if (isUnusedSite(existing.state)) return;
    if (existing.state.appliance === appliance) {
      throw new PairRefused(
        `${folder} already contains this appliance`,
        "if this host joined before, start the server; else move the folder away first",
      );
    }
  }
  throw new PairRefused(
    `${folder} already contains another site`,
    "specify an empty folder with --data DIR, and make the request there",
  );
}

type ExistingFolder =
  { readonly head: ChainHead; readonly state: State } | { readonly unreadable: string };

async function readExistingFolder(disk: Disk, folder: string): Promise<ExistingFolder> {
  try {
    const replayed = await replay(disk, folder);
    if (replayed === null) return { unreadable: "its state is missing" };
    return { head: replayed.head, state: replayed.state };
  } catch (error) {
    if (!(error instanceof FolderRefused)) throw error;
    return { unreadable: error.message };
  }
}

/** Returns how many lines are lost; throws unless it is none or the loss was accepted. */
function checkLoss(
  { folder, file, acceptLoss }: RestoreOptions,
  existing: ExistingFolder | null,
  { appliance, head, auditLog, retired, auditGaps, auditDamage }: VerifyReport,
  isContinuation: boolean,
): number | null {
  if (retired !== null) {
    throw new BackupRefused(
      `${file} was written by berth move out: restored as a backup it could not grant licenses`,
      "use berth move in instead",
    );
  }
  if (existing === null) return 0;
  const hint = `berth restore --accept-loss restores anyway and keeps the current contents of ${folder}`;
  if ("unreadable" in existing) {
    if (acceptLoss) return null;
    throw new BackupRefused(
      `it is unknown which changes would be lost: ${existing.unreadable}`,
      hint,
    );
  }
  if (existing.state.appliance !== appliance) {
    // An installation creates such a folder for its first token.
    if (!hasHadLicense(existing.state)) return 0;
    if (acceptLoss) return null;
    throw new BackupRefused(
      `${folder} is of appliance ${existing.state.appliance}, but ${file} is of appliance ${appliance}`,
      hint,
    );
  }
  if (isContinuation && head.seq >= existing.head.seq) return 0;
  const newerLines = existing.head.seq - head.seq;
  if (acceptLoss) return newerLines > 0 ? newerLines : null;
  if (newerLines <= 0 && existing.head.auditSeq < auditLog.from - 1) {
    throw new BackupRefused(
      `cannot determine whether ${file} continues the contents of ${folder}: its audit log begins later, at line ${auditLog.from}`,
      hint,
    );
  }
  const { auditSeq: lastAuditSeq } = existing.head;
  // The last line of a declared gap is not missing here: its sum is known.
  const isLineMissing =
    auditGaps.some(({ from, to }) => from <= lastAuditSeq && lastAuditSeq < to) ||
    auditDamage?.missing.some(({ from, to }) => from <= lastAuditSeq && lastAuditSeq <= to) ===
      true;
  if (newerLines <= 0 && isLineMissing) {
    throw new BackupRefused(
      `cannot determine whether ${file} continues the contents of ${folder}: its audit log lacks line ${lastAuditSeq}`,
      hint,
    );
  }
  throw new BackupRefused(
    newerLines > 0
      ? `${file} is older than ${folder}: ${newerLines === 1 ? "1 change" : `${newerLines} changes`} since then would be lost (from line ${head.seq + 1} on)`
      : `${file} does not continue the contents of ${folder}: they differ from before line ${existing.head.seq}`,
    hint,
  );
}
