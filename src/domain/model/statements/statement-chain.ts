import type { Instant } from "../../time.ts";

/** The statements for one vendor, each of which continues the one before. */
export interface StatementChain {
  readonly vendor: string;
  /**
   * Oldest first: the newest one, and those before it that the vendor has not acknowledged yet. The
   * oldest are dropped above a limit.
   */
  readonly statements: readonly StoredStatement[];
  /** The newest statement that the vendor acknowledged; null: none. */
  readonly acknowledged: AcknowledgedStatement | null;
}

export interface StoredStatement {
  /** Counted from 1. */
  readonly n: number;
  readonly at: Instant;
  /** The beginnings of the first day, and of the day after the last. */
  readonly from: Instant;
  readonly to: Instant;
  /** The lines of the audit log since the statement before; `auditSum` is of the last one. */
  readonly auditFrom: number;
  readonly auditTo: number;
  readonly auditSum: string;
  /** SHA-256 of the document. */
  readonly digest: string;
  /** The digest of the statement before; null: it is the first. */
  readonly previous: string | null;
  /** Kept, so that the same statement can be handed out again. */
  readonly document: string;
}

export interface AcknowledgedStatement {
  readonly n: number;
  readonly digest: string;
  readonly at: Instant;
}
