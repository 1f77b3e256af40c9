/**
 * How long a user probably waits for a slot, in milliseconds from the instant of the estimate: half
 * of all waits end before `p50`, nine of ten before `p90`.
 */
export interface WaitEstimate {
  readonly p50: number;
  readonly p90: number;
}
