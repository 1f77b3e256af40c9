import type { Instant } from "../../domain/time.ts";
import type { Store } from "../../store/store.ts";

export interface QueueDispatcherOptions {
  readonly store: Store;
  /** Appliance time: slots end by it. */
  readonly now: () => Instant;
  /** Milliseconds of a clock that never jumps: places lapse by it. */
  readonly contactClock: () => number;
}
