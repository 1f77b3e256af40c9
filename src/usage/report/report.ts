import type { Episode, EpisodeOutcome } from "../../domain/model/demand/episode.ts";
import type { Instant } from "../../domain/time.ts";
import type { PoolName } from "../../domain/model/slots/pool-name.ts";
import type { EndedEpisode, MissingLines, Session } from "../site-record.ts";

/** The longest period of a report. */
export const MAX_PERIOD_DAYS = 600;

/** What a report covers. */
export interface ReportRequest {
  readonly from: Instant;
  /** Exclusive. */
  readonly to: Instant;
  /** Null: all products. */
  readonly product: string | null;
  /** Null: the product's own slots and all its features. */
  readonly feature: string | null;
  /** Of the days and the heat map: an IANA name such as `Europe/Berlin`, or an offset. */
  readonly timeZone: string;
  /** A holder without use for so many days is idle. */
  readonly idleDays: number;
  /** At most so many rows of each list; the rest is counted. */
  readonly rows: number;
  /** Whether the list of sessions is included. */
  readonly hasSessions: boolean;
}

/** A slot that is held now, from the state: a record has no heartbeats. */
export interface Holder {
  readonly license: number;
  readonly product: string;
  readonly user: string;
  readonly slot: number;
  readonly host: string;
  readonly peer: string;
  readonly registeredAt: Instant;
  readonly lastSeenAt: Instant;
  readonly borrowedUntil: Instant | null;
}

/** What a report needs besides the record: what is the case now. */
export interface PresentState {
  readonly holders: readonly Holder[];
  readonly openEpisodes: readonly Episode[];
}

/** The figures of a site over a period. One object, from which every format is written. */
export interface Report {
  readonly from: Instant;
  readonly to: Instant;
  /** Nothing is known before this instant. */
  readonly knownFrom: Instant;
  /** The instant of the newest data. */
  readonly asOf: Instant;
  /** Lines of the audit log that no figure contains, oldest first. */
  readonly missing: readonly MissingLines[];
  readonly request: ReportRequest;
  readonly pools: readonly PoolFigures[];
  readonly days: readonly DayFigures[];
  readonly denials: DenialFigures;
  /** Oldest first. */
  readonly episodes: readonly EpisodeRow[];
  readonly people: readonly PersonFigures[];
  readonly borrows: readonly BorrowFigures[];
  readonly idle: readonly IdleHolder[];
  readonly consumption: readonly ConsumptionFigures[];
  readonly ending: readonly EndingLicense[];
  readonly sessions: readonly SessionRow[];
  /** How many rows of each list were left out. */
  readonly omitted: OmittedRows;
}

export interface OmittedRows {
  readonly days: number;
  readonly deniedPeople: number;
  readonly episodes: number;
  readonly people: number;
  readonly idle: number;
  readonly sessions: number;
}

/** Slots in use of one pool, exact from its sessions. */
export interface PoolFigures extends PoolName {
  /** The limit at the end of the period. */
  readonly limit: number;
  /** The limits that were in force, oldest first. */
  readonly limits: readonly { readonly from: Instant; readonly limit: number }[];
  readonly peak: number;
  /** The level that use stayed at or under for 95 % of the observed time. */
  readonly p95: number;
  readonly p99: number;
  readonly mean: number;
  readonly hoursAtLimit: number;
  /** Hours in which a license for this pool was installed; clock periods add up. */
  readonly observedHours: number;
  readonly slotHours: number;
  /** Sessions with time in the period. */
  readonly sessions: number;
  readonly people: number;
  readonly episodes: number;
  /** Episodes that have not ended; they are in no other figure. */
  readonly openEpisodes: number;
  readonly heatMap: HeatMap;
}

/** By weekday (Monday first) and hour of the day. */
export interface HeatMap {
  /** Null: this hour was not observed. */
  readonly mean: readonly (readonly (number | null)[])[];
  readonly peak: readonly (readonly (number | null)[])[];
}

export interface DayFigures extends PoolName, EpisodeCounts {
  /** YYYY-MM-DD in the report's time zone. */
  readonly day: string;
  /** The highest limit of the day. */
  readonly limit: number;
  readonly peak: number;
  readonly slotHours: number;
  readonly hoursAtLimit: number;
  readonly people: number;
  readonly waits: Waits | null;
  readonly consumption: number;
}

export interface EpisodeCounts {
  readonly episodes: number;
  readonly attempts: number;
  readonly granted: number;
  readonly gaveUp: number;
  readonly left: number;
}

/** Of episodes that ended with a grant, from the first refusal to the grant, in milliseconds. */
export interface Waits {
  readonly median: number;
  readonly p95: number;
  readonly longest: number;
}

export interface DenialFigures extends EpisodeCounts {
  /** Episodes that began in the period and have not ended: no other figure counts them. */
  readonly open: number;
  readonly people: number;
  readonly waits: Waits | null;
  readonly reasons: readonly DenialReason[];
  readonly deniedPeople: readonly DeniedPerson[];
}

export interface DenialReason extends PoolName {
  readonly code: string;
  readonly rule: string | null;
  readonly episodes: number;
  readonly people: number;
}

export interface DeniedPerson extends EpisodeCounts {
  readonly person: string;
  readonly longestWait: number;
}

export interface EpisodeRow extends PoolName, Pick<EndedEpisode, "code" | "rule" | "attempts"> {
  readonly person: string;
  readonly user: string;
  readonly peer: string;
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  readonly outcome: EpisodeOutcome;
  /** Until the grant; else until the last refusal. */
  readonly waited: number;
}

export interface PersonFigures extends PoolName {
  readonly person: string;
  readonly slotHours: number;
  readonly sessions: number;
  readonly borrows: number;
  readonly episodes: number;
}

export interface BorrowFigures {
  readonly product: string;
  readonly borrows: number;
  readonly people: number;
  readonly borrowedHours: number;
  readonly longestHours: number;
}

export interface IdleHolder {
  readonly person: string;
  readonly user: string;
  readonly product: string;
  readonly license: number;
  readonly host: string;
  readonly peer: string;
  readonly heldSince: Instant;
  readonly lastSeenAt: Instant;
  /** The last consumption or feature taken; null: none is known. */
  readonly lastUseAt: Instant | null;
  readonly idleDays: number;
  readonly borrowedUntil: Instant | null;
}

export interface ConsumptionFigures extends PoolName {
  readonly license: number;
  readonly counted: number;
  /** The last total of the period. */
  readonly total: number;
  /** Null: unlimited. */
  readonly max: number | null;
  /** The highest total above the maximum. */
  readonly overage: number;
  readonly people: number;
}

export interface EndingLicense {
  readonly license: number;
  readonly product: string;
  /** Null: the license itself ends. */
  readonly feature: string | null;
  readonly slots: number;
  readonly endsAt: Instant;
}

export interface SessionRow extends PoolName, Pick<Session, "license" | "slot" | "endedBy"> {
  readonly person: string;
  readonly user: string;
  readonly host: string;
  readonly peer: string;
  readonly start: Instant | null;
  readonly end: Instant | null;
}

/** Work in pieces: the caller can do something else between two of them. */
export type InSteps<T> = Generator<undefined, T, undefined>;

/** So many rows are a millisecond or two of work. */
const PIECE = 1_000;

/** Visits rows in pieces. */
export function* visitInSteps<T>(rows: Iterable<T>, visit: (row: T) => void): InSteps<void> {
  let visited = 0;
  for (const row of rows) {
    visit(row);
    visited += 1;
    if (visited % PIECE === 0) yield;
  }
}

export function finishSteps<T>(steps: InSteps<T>): T {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
