// Appliance time that a test sets, for everything that works on an open data folder.
import type { Instant } from "../../src/domain/time.ts";
import { ApplianceClock } from "../../src/platform/clock.ts";

export class ManualClock extends ApplianceClock {
  override readonly now: ApplianceClock["now"];
  override readonly jumps = () => [];
  override readonly behind = () => 0;

  constructor(now: () => Instant) {
    super();
    this.now = now;
  }
}

/** A monotonic clock on which a minute passes with each reading: nothing is remembered. */
export function createSteppingClock(): () => number {
  let minutes = 0;
  return () => (minutes += 1) * 60_000;
}
