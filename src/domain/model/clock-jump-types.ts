import type { Instant } from "../time.ts";

/** Why a forward jump of the clock was accepted. */
export type JumpReason = "start" | "step" | "held" | "accepted";

/**
 * The clock jumped forward from one instant to another; the time between did not pass on this
 * machine.
 */
export interface ClockJump {
  readonly from: Instant;
  readonly to: Instant;
  readonly reason: JumpReason;
}

export interface RecordedJump extends ClockJump {
  /** Every counter that has a period, as it was before the jump. */
  readonly counters: readonly CounterBeforeJump[];
}

interface CounterBeforeJump {
  readonly license: number;
  /** Null: the counter of the license itself. */
  readonly feature: string | null;
  readonly total: number;
  readonly resetAt: Instant | null;
  readonly counted: number;
}
