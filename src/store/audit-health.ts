import { AuditDamaged } from "./refusal.ts";

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
  #byCheckpoint: AuditFinding | null = null;
  #byVerify: AuditFinding | null = null;

  /** How a checkpoint ended; null: well. */
  checkpointEnded(error: unknown): void {
    this.#byCheckpoint = error instanceof AuditDamaged ? error : null;
  }

  /** What somebody found who read all of it; null: that it is whole. */
  verified(found: AuditFinding | null): void {
    this.#byVerify = found;
    if (found === null) this.#byCheckpoint = null;
  }

  get finding(): AuditFinding | null {
    return this.#byCheckpoint ?? this.#byVerify;
  }
}
