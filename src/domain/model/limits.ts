import { DAY, MINUTE, SECOND } from "../time.ts";

/** Every limit that a rule uses. */
export const limits = {
  /**
   * The client's clock may be slightly ahead: a borrow end this far past the maximum is cut to the
   * maximum.
   */
  borrowSkew: 60 * SECOND,
  /**
   * Expiries written with one command: the first commands after a weekend must not wait for all of
   * its expiries.
   */
  expiriesPerCommand: 64,
  /** A changed contact of one slot is audited at most once in this interval. */
  contactAuditInterval: DAY,
  idempotencyAge: DAY,
  /** For all peers together; when exceeded, the peer with the most keys loses its oldest. */
  idempotencyKeys: 100_000,
  /** Old keys dropped with each new one: more than are added, few enough to cost little. */
  idempotencyDropsPerCommand: 16,
  refusalUsers: 20,
  /**
   * Products, features and codes that refusals are counted for, so that callers cannot grow the
   * state with made-up names.
   */
  refusalTotals: 1_000,
  /** Denied episodes that are open at the same time; further refusals are only counted. */
  openEpisodes: 100_000,
  /** Without a retry for so long, an episode has ended. */
  episodeSilence: 10 * MINUTE,
  /** A refusal so long after the first one begins another episode. */
  episodeLength: DAY,
  /** Places in all queues that one address, and one person, may have, unless a setting differs. */
  placesPerCaller: 100,
  openRequests: 64,
  requestAge: 400 * DAY,
  /** Heads in a request. */
  requestHeads: 64,
  /** A request can be signed again with its heads, unless more than 64 were created since. */
  keptRequestHeads: 128,
  openActivations: 64,
  activationAge: 30 * DAY,
  /** How long a site shows what a newer trust document changed. */
  trustNoticeAge: 7 * DAY,
  /**
   * Answered requests that are kept, to distinguish a file used twice from one that was never
   * requested.
   */
  answeredRequests: 1_000,
  /** Cancelled requests that are kept, to say so when an answer arrives. */
  cancelledRequests: 64,
  /** Slots that a request may ask for: as many as the terms of a license may have. */
  wantedSlots: 1_000_000_000_000,
  requestNoteLength: 500,
  restores: 16,
  /** Whole days that one usage statement covers. */
  statementDays: 31,
  /** Statements kept for each vendor; the oldest is dropped first. */
  keptStatements: 24,
  /** Clock jumps that a set-back can still undo; older ones count as confirmed. */
  clockJumps: 64,
  /** Maximum number of declared gaps of the audit log. */
  auditGaps: 256,
  consumptionTotal: Number.MAX_SAFE_INTEGER,
} as const;
