import { AuditDamaged } from "../folder/refusal.ts";

/** The damage of the audit log in words, and what to do about it. */
export interface AuditFinding {
  readonly message: string;
  readonly hint: string;
}

/**
 * What a running server knows about its audit log. The server does not read all of it: a checkpoint
 * checks only its newest file, and `verify` the rest.
 */
export class AuditHealth {
  #checkpointFinding: AuditFinding | null = null;
  #verifyFinding: AuditFinding | null = null;

  /** Sets how a checkpoint ended; null: it succeeded. */
  setCheckpointResult(error: unknown): void {
    this.#checkpointFinding = error instanceof AuditDamaged ? error : null;
  }

  /** Sets the result of a complete verification; null: the audit log is intact. */
  setVerifyResult(finding: AuditFinding | null): void {
    this.#verifyFinding = finding;
    if (finding === null) this.#checkpointFinding = null;
  }

  get finding(): AuditFinding | null {
    return this.#checkpointFinding ?? this.#verifyFinding;
  }
}
