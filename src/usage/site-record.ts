import type { Episode, EpisodeOutcome } from "../domain/model/demand/episode.ts";
import type { ReleasedBy } from "../domain/model/event.ts";
import type { QueueEvent } from "../domain/model/queue/queue-event-types.ts";
import type { Identity } from "../domain/model/rules/caller-facts.ts";
import type { RuleSet } from "../domain/model/rules/rule-set.ts";
import type { ReservationRecalled, RulesApplied } from "../domain/model/rules/rules-event-types.ts";
import type { Terms } from "../domain/model/licenses/terms.ts";
import type { PoolName } from "../domain/model/slots/pool-name.ts";
import type { Instant } from "../domain/time.ts";

/**
 * What the audit log says of a period of time: who held what, who was denied what, and which limits
 * were in force. Every report, statement and usage step is computed from it.
 */
export interface SiteRecord {
  /** Nothing is known before this instant. */
  readonly from: Instant;
  /** The instant of the state that completes the record: sessions without an end are held then. */
  readonly to: Instant;
  /** At least one. Time runs forward within each; the clock was set back between two of them. */
  readonly clockPeriods: readonly ClockPeriod[];
  readonly sessions: readonly Session[];
  readonly episodes: readonly EndedEpisode[];
  readonly terms: readonly TermsPeriod[];
  readonly consumptions: readonly CountedConsumption[];
  readonly waits: readonly QueueWait[];
  /** The rules of sharing at its begin; null: there were none, or it is not known. */
  readonly rulesBefore: RuleSet | null;
  /** Changes of rules and queues, in the order of the journal. */
  readonly sharing: readonly SharingChange[];
  /** What the record lacks, oldest first. */
  readonly missing: readonly MissingLines[];
}

/** Lines of the audit log that are damaged, or were declared missing. */
export interface MissingLines {
  /** When the last line before them and the first line after them were written. */
  readonly from: Instant;
  readonly to: Instant;
  /** Their numbers in the audit log. */
  readonly firstLine: number;
  readonly lastLine: number;
  /** Index into `clockPeriods`: where the line after them was written. */
  readonly clockPeriod: number;
}

export interface ClockPeriod {
  readonly from: Instant;
  readonly to: Instant;
  /** When the clock jumped forward by mistake: the period ended by undoing this. Absent: never. */
  readonly wrongFrom?: Instant;
  /** The journal line that set the clock back. Absent: the last period. */
  readonly endSeq?: number;
}

/**
 * One user held one slot, from taking it to its end. `clipToClockPeriods` says when that was in
 * each clock period.
 */
export interface Session extends PoolName {
  readonly license: number;
  readonly user: string;
  readonly slot: number;
  /** Null: taken before the record begins. */
  readonly start: Instant | null;
  /** Null: held at the end of the record. */
  readonly end: Instant | null;
  /** Indices into `clockPeriods`: where it was taken and where its end was written. */
  readonly startPeriod: number;
  readonly endPeriod: number;
  /** The journal lines that took it and ended it; null: outside the record. */
  readonly startSeq: number | null;
  readonly endSeq: number | null;
  readonly endedBy: ReleasedBy | "expiry" | "license_removed" | null;
  readonly host: string;
  readonly peer: string;
  /** What was observed of the caller; absent: nothing, or it was taken before the record begins. */
  readonly identity?: Identity;
  /** In order, and without overlap. The last one may be longer than the session. */
  readonly borrows: readonly Borrow[];
}

/** Borrowed from `from` until before `until`, which the clock may not have reached yet. */
export interface Borrow {
  readonly from: Instant;
  readonly until: Instant;
  /** Index into `clockPeriods`: where it was borrowed. */
  readonly clockPeriod: number;
}

/** What decides who gets a free slot, besides the licenses. */
export type SharingEvent = RulesApplied | ReservationRecalled | QueueEvent;

export interface SharingChange {
  readonly event: SharingEvent;
  readonly clockPeriod: number;
  readonly seq: number;
}

/** One user had a place in the queue of a product, until a slot was taken or the place ended. */
export interface QueueWait {
  readonly product: string;
  readonly place: number;
  /** Null: since before the record begins. */
  readonly start: Instant | null;
  /** Null: the user waits at the end of the record. */
  readonly end: Instant | null;
  /** Indices into `clockPeriods`. */
  readonly startPeriod: number;
  readonly endPeriod: number;
}

/** Slots of a pool that were held during a whole record. */
export interface UntouchedSlots extends PoolName {
  readonly count: number;
  /** When the borrows of some of them end. */
  readonly borrowedUntil: readonly Instant[];
}

export interface EndedEpisode extends Episode {
  readonly outcome: EpisodeOutcome;
  readonly endedAt: Instant;
  /** Index into `clockPeriods`. */
  readonly clockPeriod: number;
}

/** One license had these terms from `from` until before `to`; null: still in force. */
export interface TermsPeriod {
  readonly license: number;
  readonly vendor: string;
  readonly terms: Terms;
  readonly from: Instant;
  readonly to: Instant | null;
  /** Indices into `clockPeriods`: a clock that was set back can make `to` earlier than `from`. */
  readonly startPeriod: number;
  readonly endPeriod: number;
  /** The journal lines that installed it and replaced or removed it; null: outside the record. */
  readonly startSeq: number | null;
  readonly endSeq: number | null;
}

export interface CountedConsumption extends PoolName {
  readonly license: number;
  readonly user: string | null;
  readonly at: Instant;
  readonly count: number;
  /** The total after it, and the clock period it was counted in. */
  readonly total: number;
  readonly clockPeriod: number;
  /** The journal line that counted it. */
  readonly seq: number;
}
