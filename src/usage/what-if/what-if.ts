import type { Instant } from "../../domain/time.ts";
import type { PoolName } from "../../domain/model/slots/pool-name.ts";

/** How the recorded demand for one pool would have been met. */
export interface DemandMet {
  /** Sessions that began and denied episodes, each need once. */
  readonly needs: number;
  readonly metAtOnce: number;
  readonly metAfterWaiting: number;
  readonly notMet: number;
  /** Of the needs that were met after waiting, in milliseconds; null: there are none. */
  readonly medianWait: number | null;
}

export interface WhatIfRow extends DemandMet {
  readonly slots: number;
  /** These slots were in force all the time, so that the figures are not estimated. */
  readonly isRecorded: boolean;
}

export interface WhatIf extends PoolName {
  readonly from: Instant;
  readonly to: Instant;
  /** The limits that were in force, lowest and highest. */
  readonly limits: { readonly lowest: number; readonly highest: number };
  readonly recorded: DemandMet;
  readonly check: ReplayCheck;
  readonly rows: readonly WhatIfRow[];
  /** The share of needs to meet at once, and the fewest slots of the rows that do; null: none. */
  readonly target: { readonly share: number; readonly slots: number | null };
  readonly assumptions: Assumptions;
  /** Rules of sharing were in force for the pool; the estimates apply them. */
  readonly hasRules: boolean;
  /** Users waited in the queue of the product; the estimates count them as users who retry. */
  readonly hasQueue: boolean;
}

/** What the estimates assume, in milliseconds. */
export interface Assumptions {
  /**
   * How long the slot would have been held by a user who gave up: the mean, because a few long
   * sessions take most of the slot hours.
   */
  readonly meanSession: number;
  /** How long a user retries who was granted a slot at once on record. */
  readonly medianPatience: number;
  /** The time between two of these retries. */
  readonly retryInterval: number;
}

/**
 * Whether the rules decide the recorded demand as it was decided: the replay with the recorded
 * limits. Differences mean that the record has gaps, or that limits of the server were changed.
 */
export interface ReplayCheck {
  readonly refusals: number;
  readonly refusalsReproduced: number;
  readonly grants: number;
  readonly grantsReproduced: number;
  /** The first differences. */
  readonly differences: readonly ReplayDifference[];
}

export interface ReplayDifference {
  readonly what: "refusal" | "grant";
  readonly user: string;
  readonly at: Instant;
  readonly expected: string;
  readonly decided: string;
  /**
   * False: the clock was set back during the episode, and with it the times of its refusals. What
   * was held at the refusal is then not known exactly.
   */
  readonly isTimeKnown: boolean;
}
