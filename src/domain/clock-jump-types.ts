import type { Instant } from "./time.ts";

/** Why a jump of the clock ahead was believed. */
export type JumpReason = "start" | "step" | "held" | "accepted";

/** The clock went from one instant to a later one, and the time between did not pass here. */
export interface ClockJump {
  readonly from: Instant;
  readonly to: Instant;
  readonly reason: JumpReason;
}

export interface RecordedJump extends ClockJump {
  /** Every counter with a period as it stood before the jump. */
  readonly counters: readonly CounterBeforeJump[];
}

interface CounterBeforeJump {
  readonly license: number;
  /** Null: the license's own counter. */
  readonly feature: string | null;
  readonly total: number;
  readonly resetAt: Instant | null;
  readonly counted: number;
}
