import { DAY, SECOND } from "./time.ts";

/** Every bound a rule relies on, in one place. */
export const limits = {
  /**
   * A clock on the other side may run ahead a little; a borrow this far past its cap gets the cap.
   */
  borrowSkew: 60 * SECOND,
  /** Written with one command, so that a site's Monday morning does not wait for its weekend. */
  expiriesPerCommand: 64,
  /** A changed contact of one slot is audited at most this often. */
  contactAuditInterval: DAY,
  idempotencyAge: DAY,
  /** Of all peers together; the one that sent the most loses its oldest. */
  idempotencyKeys: 100_000,
  /** Old keys dropped with one new one: more than come in, few enough not to be felt. */
  idempotencyDropsPerCommand: 16,
  refusalUsers: 20,
  /**
   * Products and codes that refusals are totalled for; a caller cannot grow the state by guessing.
   */
  refusalTotals: 1_000,
  openRequests: 64,
  requestAge: 400 * DAY,
  requestHeads: 64,
  openActivations: 64,
  activationAge: 30 * DAY,
  /**
   * Answered requests remembered, so that a file used twice is told apart from one never asked
   * for.
   */
  answeredRequests: 1_000,
  restores: 16,
  /** Jumps of the clock that a set-back can still undo; older ones count as confirmed. */
  clockJumps: 64,
  /** Declared gaps of the audit log that are kept at once. */
  auditGaps: 256,
  consumptionTotal: Number.MAX_SAFE_INTEGER,
} as const;
