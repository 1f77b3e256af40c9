import { AuditDamaged } from "../folder/refusal.ts";
import { lineUnreadable } from "./audit-log.ts";

/** The damage of the audit log in words, and what to do about it. */
export interface AuditFinding {
  readonly message: string;
  readonly hint: string;
}

/**
 * What a running server knows about its audit log. The server does not read all of it: a checkpoint
 * checks only its newest file, a report the lines of its period, and `verify` the rest.
 */
export class AuditHealth {
  readonly #folder: string;
  #checkpointFinding: AuditFinding | null = null;
  #verifyFinding: AuditFinding | null = null;
  #readFinding: AuditFinding | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  /** Sets how a checkpoint ended; null: it succeeded. */
  setCheckpointResult(error: unknown): void {
    this.#checkpointFinding = error instanceof AuditDamaged ? error : null;
  }

  /** Sets the result of a complete verification; null: the audit log is intact. */
  setVerifyResult(finding: AuditFinding | null): void {
    this.#verifyFinding = finding;
    this.#readFinding = null;
    if (finding === null) this.#checkpointFinding = null;
  }

  /** A report, or a page of the audit log, could not read this line. */
  noteUnreadableLine(auditSeq: number): void {
    const { message, hint } = lineUnreadable(this.#folder, auditSeq);
    this.#readFinding = { message, hint };
  }

  /** A verification says more than a reader, which knows one line. */
  get finding(): AuditFinding | null {
    return this.#checkpointFinding ?? this.#verifyFinding ?? this.#readFinding;
  }
}
