import { join } from "node:path";
import type { Fault } from "../../domain/model/fault.ts";
import type { AuditMaintenanceFault } from "../../faults/fault-types.ts";
import { limits } from "../../domain/model/limits.ts";
import { err, ok, type Result } from "../../domain/result.ts";
import type { AuditGap, AuditGapFile } from "../../domain/model/state.ts";
import { finishBetweenRequests } from "../../platform/schedule/yield-to-requests.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import type { AuditFinding } from "../../store/audit/audit-health.ts";
import { readAuditMonth } from "../../store/audit/month.ts";
import { recoverLines } from "../../store/audit/line-recovery.ts";
import {
  findGapsDeclaredWithin,
  describeAuditFile,
  buildGaps,
  type NewGap,
} from "../../store/audit/new-gaps.ts";
import { needsRewrite, removeAuditFiles, rewriteAuditFiles } from "../../store/audit/rewrite.ts";
import { surveyAuditLog, type AuditSurvey, type MissingLines } from "../../store/audit/survey.ts";
import { AUDIT_FOLDER } from "../../store/folder/files.ts";
import type { StorageFault } from "../../store/journal/storage-fault.ts";
import { StateFile } from "../../store/state/state-file.ts";
import type { Store } from "../../store/store.ts";

export type { AuditFinding };

/** The path of a file of the audit log, relative to the data folder. */
export const auditFilePath = (name: string): string => `${AUDIT_FOLDER}/${name}`;

export type { MissingLines };

type RefusedAuditMaintenance = Fault | StorageFault | AuditMaintenanceFault;

/** The result of a repair. */
export interface AuditRepair {
  /** Missing lines that are not declared as a gap. */
  readonly missing: readonly MissingLines[];
  /** Number of lines that were recovered and written back. */
  readonly recovered: number;
  /** Rewritten files, and the copies of their previous content. */
  readonly written: readonly string[];
  readonly backupFiles: readonly string[];
  readonly declared: readonly AuditGap[];
}

export interface AuditSeal {
  readonly gaps: readonly AuditGap[];
  readonly removed: readonly string[];
  readonly freedBytes: number;
}

interface OperatorNote {
  /** The operator's reason. */
  readonly note: string;
  readonly peer: string;
}

/** Repairs the files of the audit log and removes sealed months, while requests are served. */
export class AuditMaintenance {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** The known damage of the audit log; null: none is known. */
  get finding(): AuditFinding | null {
    return this.#store.auditHealth.finding;
  }

  /** Stores the result of a complete verification; null: intact. */
  setFinding(finding: AuditFinding | null): void {
    this.#store.auditHealth.setVerifyResult(finding);
  }

  /**
   * Restores lines that can be recovered. Other missing lines are declared as a gap, but only with
   * the operator's acceptance. Without it (null), nothing is changed unless everything can be
   * recovered.
   */
  async repair(
    acceptance: OperatorNote | null,
  ): Promise<Result<AuditRepair, RefusedAuditMaintenance>> {
    const repaired = await this.#catchSystemErrors(() =>
      this.#store.pauseCheckpointsDuring(() => this.#repairFiles(acceptance)),
    );
    if (!repaired.ok || repaired.value.missing.length > 0) return repaired;
    this.setFinding(null);
    // The newest file may have been closed: after a checkpoint, new lines go to another file.
    await this.#store.checkpoint();
    return repaired;
  }

  async #repairFiles(
    acceptance: OperatorNote | null,
  ): Promise<Result<AuditRepair, RefusedAuditMaintenance>> {
    const { disk, folder, gaps } = this.#store.auditLogSource();
    const audit = await this.#readAuditEnd();
    const survey = await finishBetweenRequests(surveyAuditLog(disk, folder, audit, gaps));
    const { lines, missing } = await finishBetweenRequests(recoverLines(disk, folder, survey));
    const unchanged = { missing, recovered: 0, written: [], backupFiles: [], declared: [] };
    if (!needsRewrite(survey) || (missing.length > 0 && acceptance === null)) return ok(unchanged);
    const described = await this.#describeFiles(survey, audit.file);
    const { writtenFiles, damagedCopies } = await rewriteAuditFiles(
      disk,
      folder,
      survey,
      lines,
      audit.file,
    );
    const repair = {
      ...unchanged,
      missing: [],
      recovered: lines.size,
      written: writtenFiles,
      backupFiles: damagedCopies,
    };
    if (missing.length === 0 || acceptance === null) return ok(repair);
    const newestSize = disk.stat(join(folder, AUDIT_FOLDER, audit.file ?? ""))?.size ?? 0;
    // A newest file that is shorter than the state says is not continued: a gap closes it.
    const closedFile = newestSize < audit.length ? audit.file : null;
    const newGaps = buildGaps(missing, described, limits.auditGaps - gaps.length, closedFile);
    const declared = await this.#declare(newGaps, acceptance);
    return declared.ok ? ok({ ...repair, declared: declared.value }) : declared;
  }

  async #describeFiles({ files, unreadableFiles }: AuditSurvey, newest: string | null) {
    const { disk, folder } = this.#store.auditLogSource();
    const damaged = files.filter(({ hasForeignBytes }) => hasForeignBytes).map(({ name }) => name);
    const names = new Set([...damaged, ...unreadableFiles, ...(newest === null ? [] : [newest])]);
    const described = new Map<string, AuditGapFile>();
    for (const name of names) {
      described.set(name, await finishBetweenRequests(describeAuditFile(disk, folder, name)));
    }
    return described;
  }

  /**
   * Removes the lines of a month. They are declared as a gap first, and their files are removed
   * after that is on disk. After a crash in between, the files are simply still there.
   */
  async seal(
    month: string,
    operatorNote: OperatorNote,
  ): Promise<Result<AuditSeal, RefusedAuditMaintenance>> {
    await this.#store.checkpoint();
    const sealed = await this.#catchSystemErrors(() =>
      this.#store.pauseCheckpointsDuring(() => this.#declareMonth(month, operatorNote)),
    );
    if (!sealed.ok) return sealed;
    // After this checkpoint, nothing is written to the month's files.
    await this.#store.checkpoint();
    return this.#catchSystemErrors(() =>
      this.#store.pauseCheckpointsDuring(async () => {
        const { gaps, files } = sealed.value;
        const { file: newest } = await this.#readAuditEnd();
        const removable = files.filter(({ name }) => name !== newest).map(({ name }) => name);
        const { disk, folder } = this.#store.auditLogSource();
        const freedBytes = await removeAuditFiles(disk, folder, removable);
        if (removable.length < files.length) {
          const reason = this.#store.status().checkpointError ?? "the checkpoint was not written";
          return err({ code: "audit_maintenance_incomplete", reason } as const);
        }
        return ok({ gaps, removed: removable, freedBytes });
      }),
    );
  }

  async #declareMonth(month: string, operatorNote: OperatorNote) {
    const { disk, folder, gaps } = this.#store.auditLogSource();
    const audit = await this.#readAuditEnd();
    const contents = await finishBetweenRequests(readAuditMonth(disk, folder, audit, gaps, month));
    if (contents.damagedFile !== null) {
      return err({ code: "audit_month_damaged", file: contents.damagedFile } as const);
    }
    const { files } = contents;
    const declaredGaps = gaps.filter((gap) => gap.files.some(({ name }) => name.startsWith(month)));
    if (files.length === 0) {
      const isSealed = declaredGaps.some(({ reason }) => reason === "sealed");
      return err({ code: isSealed ? "audit_month_sealed" : "audit_month_empty" } as const);
    }
    if (contents.gaps.length === 0) return ok({ gaps: declaredGaps, files });
    const declared = await this.#declare(contents.gaps, operatorNote);
    return declared.ok ? ok({ gaps: declared.value, files }) : declared;
  }

  async #declare(
    newGaps: readonly NewGap[],
    { note, peer }: OperatorNote,
  ): Promise<Result<readonly AuditGap[], Fault | StorageFault>> {
    const redeclared = findGapsDeclaredWithin(this.#store.auditLogSource().gaps, newGaps);
    return this.#store.transact(
      { type: "DeclareAuditGaps", gaps: [...newGaps, ...redeclared], note, peer },
      (_state, { gaps }) => gaps.slice(0, newGaps.length),
      null,
      "outcome",
    );
  }

  /** The end of the audit log: newest file and its length, from the state file. */
  async #readAuditEnd() {
    const { disk, folder } = this.#store.auditLogSource();
    const snapshot = await new StateFile(disk, folder).read();
    if (snapshot === null) throw new Error(`the state file in ${folder} is missing`);
    return snapshot.audit;
  }

  /** Turns system errors into a fault: they are neither a wrong request nor a bug in berth. */
  async #catchSystemErrors<T>(
    work: () => Promise<Result<T, RefusedAuditMaintenance>>,
  ): Promise<Result<T, RefusedAuditMaintenance>> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Error) || errorCode(error) === null) throw error;
      return err({ code: "audit_maintenance_incomplete", reason: error.message });
    }
  }
}
