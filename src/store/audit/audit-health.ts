import { AuditDamaged } from "../refusal.ts";

/** What is wrong with the audit log, in words, and what to do about it. */
export interface AuditFinding {
  readonly message: string;
  readonly hint: string;
}

/**
 * What a running server knows of its audit log. Nobody reads all of it just to look: a checkpoint
 * knows its newest file only, and `verify` the rest.
 */
export class AuditHealth {
  #checkpointFinding: AuditFinding | null = null;
  #verifyFinding: AuditFinding | null = null;

  /** How a checkpoint ended; null: well. */
  setCheckpointResult(error: unknown): void {
    this.#checkpointFinding = error instanceof AuditDamaged ? error : null;
  }

  /** What somebody found who read all of it; null: that it is whole. */
  setVerifyResult(found: AuditFinding | null): void {
    this.#verifyFinding = found;
    if (found === null) this.#checkpointFinding = null;
  }

  get finding(): AuditFinding | null {
    return this.#checkpointFinding ?? this.#verifyFinding;
  }
}
