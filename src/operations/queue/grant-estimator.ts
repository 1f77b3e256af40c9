import type { State } from "../../domain/state.ts";
import type { Instant } from "../../domain/time.ts";

/** When a waiting user probably gets a slot: before `p50` in half of all cases, `p90` in 90 %. */
export interface GrantEstimate {
  readonly p50: Instant;
  readonly p90: Instant;
}

/** Estimates from the session lengths that were recorded for each product. */
export interface GrantEstimator {
  /**
   * `position`: so many slots of the product must come free until the user gets one; 1: the next
   * one. Null: fewer than 20 sessions are known, or too many slots are borrowed. Cheap enough to be
   * called for each waiting user. Do not call it for a place that a limit blocks: no freed slot
   * helps it.
   */
  estimate(state: State, product: string, position: number, at: Instant): GrantEstimate | null;
}
