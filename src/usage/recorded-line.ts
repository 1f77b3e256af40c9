import type { Event } from "../domain/model/event.ts";
import type { Terms } from "../domain/model/licenses/terms.ts";
import type { Instant } from "../domain/time.ts";

/** A line of the audit log. */
export interface RecordedLine {
  readonly seq: number;
  readonly at: Instant;
  /** Its number in the audit log; lines are missing if it is not the next one. */
  readonly audit_seq?: number;
  readonly events: readonly Event[];
}

/** What was known before the first line of a record, besides the slots that were held. */
export interface KnownBefore {
  /** The terms in force, by license. */
  readonly terms: ReadonlyMap<number, KnownTerms>;
  /** The borrows of held slots, by slot. */
  readonly borrows: ReadonlyMap<number, KnownBorrow>;
  /** The numbers of the places in all queues. */
  readonly places: ReadonlySet<number>;
}

export interface KnownBorrow {
  readonly license: number;
  readonly until: Instant;
}

export interface KnownTerms {
  readonly vendor: string;
  readonly terms: Terms;
}

/** Where an event is in a record. */
export interface RecordPosition {
  readonly at: Instant;
  readonly clockPeriod: number;
  readonly seq: number;
}
