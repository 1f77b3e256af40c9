import { isUnusedSite } from "../domain/move.ts";
import type { State } from "../domain/state.ts";
import { latest, type Instant } from "../domain/time.ts";
import type { Disk } from "../platform/disk.ts";
import { randomId } from "../platform/random.ts";
import { MANIFEST_FILE, openBackup, type BackupManifest } from "./backup.ts";
import { isEmptyFolder, acquireFolder } from "./folder.ts";
import type { ChainHead } from "./journal.ts";
import { BackupRefused, FolderRefused } from "./refusal.ts";
import { replay } from "./replay.ts";
import { applyRestore, stageRestore } from "./restore-steps.ts";
import type { VerifyReport, VerifyOptions } from "./verify.ts";

export interface RestoreOptions {
  readonly disk: Disk;
  readonly folder: string;
  /** The backup. */
  readonly file: string;
  readonly acceptLoss: boolean;
  /** Whether it is carried on here from another host, which has given it up. */
  readonly isMove?: boolean;
  readonly now: Instant;
  readonly uid: number;
  readonly identity: VerifyOptions["identity"];
  readonly checkSignatures?: VerifyOptions["checkSignatures"];
}

export interface RestoreReport {
  readonly manifest: BackupManifest;
  readonly verifyReport: VerifyReport;
  readonly lineage: string;
  /** Where what was there is now; null when nothing was. */
  readonly replacedFolder: string | null;
  /** What the backup does not hold and the folder did; null: nothing, or nobody can tell. */
  readonly lostLines: number | null;
}

/**
 * Puts a backup in the place of what a folder holds, and says so in the record. The backup is
 * checked from end to end first; what it replaces is kept; and what it does not hold is given up
 * only when somebody says so.
 */
export async function restoreBackup(options: RestoreOptions): Promise<RestoreReport> {
  const { disk, folder, file, uid, identity, checkSignatures, isMove = false } = options;
  const checks = { identity, checkSignatures };
  // A bad file must not leave a new folder behind.
  if (disk.stat(folder) === null) await openBackup(disk, file, checks);
  const { lock } = await acquireFolder({ disk, folder, create: true, uid, holder: "command" });
  try {
    const there = isEmptyFolder(disk, folder) ? null : await readExistingFolder(disk, folder);
    let continues = there === null;
    const { archive, manifest, verifyReport } = await openBackup(disk, file, {
      ...checks,
      onAuditedLine(seq, sum) {
        if (there !== null && "head" in there) {
          continues ||= seq === there.head.auditSeq && sum === there.head.auditSum;
        }
      },
    });
    if (isMove) checkMove(options, there, verifyReport, continues);
    const lost = isMove ? 0 : checkLoss(options, there, verifyReport, continues);
    const { head, coveredSeq, segments, mark } = verifyReport;
    const same =
      there !== null && "head" in there && there.state.appliance === verifyReport.appliance;
    const restore = {
      lineage: randomId(),
      at: latest(options.now, mark),
      seq: head.seq,
      replaced: same ? there.head.seq : null,
      ...(isMove && { moved: true as const }),
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
    });
    const { replaced } = await applyRestore(disk, folder, { restore, isMove });
    return {
      manifest,
      verifyReport,
      lineage: restore.lineage,
      replacedFolder: replaced,
      lostLines: lost,
    };
  } finally {
    lock.release();
  }
}

/** Into an empty or an unused folder, or back to where it came from, as if it had never left. */
function checkMove(
  { folder, file }: RestoreOptions,
  there: ExistingFolder | null,
  { retired, appliance, kind, head }: VerifyReport,
  continues: boolean,
): void {
  if (retired === null) {
    throw new BackupRefused(
      `${file} is a backup, not a moved site: its host still serves it, and both would grant the same slots`,
      "create the file with berth move out on that host; or, if that host is lost, use berth restore",
    );
  }
  if (kind === "demo") {
    throw new BackupRefused(
      `${file} is of a demo, which cannot be moved`,
      "start a new demo with berth demo",
    );
  }
  if (there === null) return;
  if ("head" in there) {
    const { state } = there;
    const same = state.appliance === appliance;
    if (isUnusedSite(state) || (same && continues)) return;
    // Somebody whose first try was interrupted must not look for another place to bring it to.
    if (same && state.restores.some(({ moved, seq }) => moved === true && seq === head.seq)) {
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

/** How many lines are given up; throws unless that is none, or was agreed to. */
function checkLoss(
  { folder, file, acceptLoss }: RestoreOptions,
  there: ExistingFolder | null,
  { appliance, head, auditLog, retired, auditGaps, auditDamage }: VerifyReport,
  continues: boolean,
): number | null {
  if (retired !== null) {
    throw new BackupRefused(
      `${file} was written by berth move out: restored as a backup it could not grant licenses`,
      "use berth move in instead",
    );
  }
  if (there === null) return 0;
  const hint = `berth restore --accept-loss restores anyway and keeps the current contents of ${folder}`;
  if ("unreadable" in there) {
    if (acceptLoss) return null;
    throw new BackupRefused(`it is unknown which changes would be lost: ${there.unreadable}`, hint);
  }
  if (there.state.appliance !== appliance) {
    if (acceptLoss) return null;
    throw new BackupRefused(
      `${folder} is of appliance ${there.state.appliance}, but ${file} is of appliance ${appliance}`,
      hint,
    );
  }
  if (continues && head.seq >= there.head.seq) return 0;
  const since = there.head.seq - head.seq;
  if (acceptLoss) return since > 0 ? since : null;
  if (since <= 0 && there.head.auditSeq < auditLog.from - 1) {
    throw new BackupRefused(
      `cannot determine whether ${file} continues the contents of ${folder}: its audit log begins later, at line ${auditLog.from}`,
      hint,
    );
  }
  const { auditSeq: end } = there.head;
  // Of a declared gap the last line's sum is known.
  const isGone =
    auditGaps.some(({ from, to }) => from <= end && end < to) ||
    auditDamage?.missing.some(({ from, to }) => from <= end && end <= to) === true;
  if (since <= 0 && isGone) {
    throw new BackupRefused(
      `cannot determine whether ${file} continues the contents of ${folder}: its audit log lacks line ${end}`,
      hint,
    );
  }
  throw new BackupRefused(
    since > 0
      ? `${file} is older than ${folder}: ${since === 1 ? "1 change" : `${since} changes`} since then would be lost (from line ${head.seq + 1} on)`
      : `${file} does not continue the contents of ${folder}: they differ from before line ${there.head.seq}`,
    hint,
  );
}
