import { instant, latest, later, type Instant } from "../domain/time.ts";

/** The system's clock, as it is. */
export const wallClock = (): Instant => instant(Date.now());

/**
 * The system's clock, carried on by the monotonic one wherever it falls behind: behind what it said
 * before, or behind `mark`, the newest instant on record. Time never runs back and never stands
 * still, so a slot ends in time on a machine whose clock was set back.
 */
export function carriedClock(): (mark: Instant) => Instant {
  let said = instant(0);
  let at = performance.now();
  return (mark) => {
    const now = performance.now();
    said = latest(latest(wallClock(), mark), later(said, Math.floor(now - at)));
    // What was cut off counts next time: a thousand calls a second must not stop the clock.
    at += Math.floor(now - at);
    return said;
  };
}
