import { join } from "node:path";
import type { Fault } from "../domain/fault.ts";
import { limits } from "../domain/limits.ts";
import { err, ok, type Result } from "../domain/result.ts";
import type { AuditGap, AuditGapFile } from "../domain/state.ts";
import { runBetweenRequests } from "../platform/yield-to-requests.ts";
import { errorCode } from "../platform/disk.ts";
import type { AuditFinding } from "../store/audit/audit-health.ts";
import { readAuditMonth } from "../store/audit/month.ts";
import { recoverLines } from "../store/audit/line-recovery.ts";
import {
  findGapsDeclaredWithin,
  describeAuditFile,
  buildGaps,
  type NewGap,
} from "../store/audit/new-gaps.ts";
import { needsRewrite, removeAuditFiles, rewriteAuditFiles } from "../store/audit/rewrite.ts";
import { surveyAuditLog, type AuditSurvey, type MissingLines } from "../store/audit/survey.ts";
import { AUDIT_FOLDER } from "../store/files.ts";
import type { StorageFault } from "../store/group-commit.ts";
import { StateFile } from "../store/state-file.ts";
import type { Store } from "../store/store.ts";

export type { MissingLines };

export type AuditMaintenanceFault =
  | Fault
  | StorageFault
  | { readonly code: "audit_month_damaged"; readonly file: string }
  | { readonly code: "audit_month_empty" }
  | { readonly code: "audit_month_sealed" }
  | { readonly code: "audit_maintenance_incomplete"; readonly reason: string };

/** What a repair found and did. */
export interface AuditRepair {
  /** Lines that are gone and were not declared. */
  readonly missing: readonly MissingLines[];
  /** Lines that were found again and stand in their places now. */
  readonly recovered: number;
  /** Files that were written again, and what was in them before, under other names. */
  readonly written: readonly string[];
  readonly kept: readonly string[];
  readonly declared: readonly AuditGap[];
}

export interface AuditSeal {
  readonly gaps: readonly AuditGap[];
  readonly removed: readonly string[];
  readonly freedBytes: number;
}

interface OperatorNote {
  /** What the operator says about it. */
  readonly note: string;
  readonly peer: string;
}

/** Mends the files of the audit log, and lets months of it go; beside everybody's answers. */
export class AuditMaintenance {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** What is wrong with it, as far as anybody looked; null: nothing. */
  get finding(): AuditFinding | null {
    return this.#store.auditHealth.finding;
  }

  /** Somebody read all of it; null: it is whole. */
  setFinding(found: AuditFinding | null): void {
    this.#store.auditHealth.setVerifyResult(found);
  }

  /**
   * Puts back what can be found again. What is gone for good is declared as a gap, but only when
   * somebody accepts that; null: nobody does, and then nothing is changed unless all can be mended.
   */
  async repair(accept: OperatorNote | null): Promise<Result<AuditRepair, AuditMaintenanceFault>> {
    const repaired = await this.#guarded(() =>
      this.#store.pauseCheckpointsDuring(() => this.#mend(accept)),
    );
    if (!repaired.ok || repaired.value.missing.length > 0) return repaired;
    this.setFinding(null);
    // The newest file may have been closed: lines go on in another from the next checkpoint on.
    await this.#store.checkpoint();
    return repaired;
  }

  async #mend(accept: OperatorNote | null): Promise<Result<AuditRepair, AuditMaintenanceFault>> {
    const { disk, folder, gaps } = this.#store.auditLogSource();
    const audit = await this.#audit();
    const survey = await inSlices(surveyAuditLog(disk, folder, audit, gaps));
    const { lines, missing } = await inSlices(recoverLines(disk, folder, survey));
    const nothing = { missing, recovered: 0, written: [], kept: [], declared: [] };
    if (!needsRewrite(survey) || (missing.length > 0 && accept === null)) return ok(nothing);
    const described = await this.#describe(survey, audit.file);
    const { writtenFiles, damagedCopies } = await rewriteAuditFiles(
      disk,
      folder,
      survey,
      lines,
      audit.file,
    );
    const done = {
      ...nothing,
      missing: [],
      recovered: lines.size,
      written: writtenFiles,
      kept: damagedCopies,
    };
    if (missing.length === 0 || accept === null) return ok(done);
    const size = disk.stat(join(folder, AUDIT_FOLDER, audit.file ?? ""))?.size ?? 0;
    // A newest file that is not as long as the state says is not continued: a gap closes it.
    const closed = size < audit.length ? audit.file : null;
    const fresh = buildGaps(missing, described, limits.auditGaps - gaps.length, closed);
    const declared = await this.#declare(fresh, accept);
    return declared.ok ? ok({ ...done, declared: declared.value }) : declared;
  }

  async #describe({ files, unreadableFiles }: AuditSurvey, newest: string | null) {
    const { disk, folder } = this.#store.auditLogSource();
    const unclean = files.filter(({ hasForeignBytes }) => hasForeignBytes).map(({ name }) => name);
    const names = new Set([...unclean, ...unreadableFiles, ...(newest === null ? [] : [newest])]);
    const described = new Map<string, AuditGapFile>();
    for (const name of names) {
      described.set(name, await inSlices(describeAuditFile(disk, folder, name)));
    }
    return described;
  }

  /**
   * Lets the lines of a month go. They are declared as gone first, and their files removed after
   * that is on disk: in between, and after a stop, they are simply there still.
   */
  async seal(month: string, by: OperatorNote): Promise<Result<AuditSeal, AuditMaintenanceFault>> {
    await this.#store.checkpoint();
    const read = await this.#guarded(() =>
      this.#store.pauseCheckpointsDuring(() => this.#declareMonth(month, by)),
    );
    if (!read.ok) return read;
    // From here on the month's files are written to no more.
    await this.#store.checkpoint();
    return this.#guarded(() =>
      this.#store.pauseCheckpointsDuring(async () => {
        const { gaps, files } = read.value;
        const { file: newest } = await this.#audit();
        const [kept, free] = [
          files.filter(({ name }) => name === newest),
          files.filter(({ name }) => name !== newest),
        ];
        const { disk, folder } = this.#store.auditLogSource();
        const freedBytes = await removeAuditFiles(
          disk,
          folder,
          free.map(({ name }) => name),
        );
        if (kept.length > 0) {
          const reason = this.#store.health().checkpointError ?? "the checkpoint was not made";
          return err({ code: "audit_maintenance_incomplete", reason } as const);
        }
        return ok({ gaps, removed: free.map(({ name }) => name), freedBytes });
      }),
    );
  }

  async #declareMonth(month: string, by: OperatorNote) {
    const { disk, folder, gaps } = this.#store.auditLogSource();
    const audit = await this.#audit();
    const found = await inSlices(readAuditMonth(disk, folder, audit, gaps, month));
    if (found.damagedFile !== null) {
      return err({ code: "audit_month_damaged", file: found.damagedFile } as const);
    }
    const { files } = found;
    const known = gaps.filter((gap) => gap.files.some(({ name }) => name.startsWith(month)));
    if (files.length === 0) {
      const isSealed = known.some(({ reason }) => reason === "sealed");
      return err({ code: isSealed ? "audit_month_sealed" : "audit_month_empty" } as const);
    }
    if (found.gaps.length === 0) return ok({ gaps: known, files });
    const declared = await this.#declare(found.gaps, by);
    return declared.ok ? ok({ gaps: declared.value, files }) : declared;
  }

  async #declare(
    fresh: readonly NewGap[],
    { note: setFinding, peer }: OperatorNote,
  ): Promise<Result<readonly AuditGap[], Fault | StorageFault>> {
    const again = findGapsDeclaredWithin(this.#store.auditLogSource().gaps, fresh);
    return this.#store.transact(
      { type: "DeclareAuditGaps", gaps: [...fresh, ...again], note: setFinding, peer },
      (_state, { gaps }) => gaps.slice(0, fresh.length),
    );
  }

  /** Where the audit log ends in its files. */
  async #audit() {
    const { disk, folder } = this.#store.auditLogSource();
    const snapshot = await new StateFile(disk, folder).read();
    if (snapshot === null) throw new Error(`the state in ${folder} is gone`);
    return snapshot.audit;
  }

  /** What the kernel refuses is no fault of the caller's, nor of ours. */
  async #guarded<T>(
    work: () => Promise<Result<T, AuditMaintenanceFault>>,
  ): Promise<Result<T, AuditMaintenanceFault>> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Error) || errorCode(error) === null) throw error;
      return err({ code: "audit_maintenance_incomplete", reason: error.message });
    }
  }
}

/** Between two slices, others are answered. */
async function inSlices<T>(work: Generator<void, T>): Promise<T> {
  for (;;) {
    const { done, value } = await runBetweenRequests(() => work.next());
    if (done === true) return value;
  }
}
