import type { ClockJump } from "../domain/clock/clock-jump-types.ts";
import { instant, type Instant } from "../domain/time.ts";
import {
  acceptSystemClock,
  readClock,
  resetClock,
  startClock,
  type Timekeeper,
} from "../domain/clock/timekeeper.ts";

/** The system clock. */
export const wallClock = (): Instant => instant(Date.now());

/** Appliance time: follows the system clock as far as the rules of the domain accept it. */
export class ApplianceClock {
  #keeper: Timekeeper | null = null;

  /** Appliance time, from the newest event and the clock jumps in the audit log. */
  readonly now = (newestEventAt: Instant, recordedJumps: readonly ClockJump[] = []): Instant => {
    const monotonicMs = performance.now();
    const keeper =
      this.#keeper ??
      startClock(newestEventAt === 0 ? wallClock() : newestEventAt, monotonicMs, recordedJumps);
    const current = keeper.time < newestEventAt ? { ...keeper, time: newestEventAt } : keeper;
    this.#keeper = readClock(current, wallClock(), monotonicMs);
    return this.#keeper.time;
  };

  /** Accepted forward jumps since the start, oldest first. */
  readonly jumps = (): readonly ClockJump[] => this.#keeper?.jumps ?? [];

  /** Milliseconds by which the system clock is behind `now`. */
  readonly behind = (now: Instant): number => Math.max(0, now - wallClock());

  /** How long the system clock has been too far ahead to be followed; null: it is not. */
  get aheadForMs(): number | null {
    const since = this.#keeper?.aheadSince ?? null;
    return since === null ? null : performance.now() - since;
  }

  /** An operator confirmed the system clock. */
  accept(): void {
    this.now(instant(0));
    if (this.#keeper === null) return;
    this.#keeper = acceptSystemClock(this.#keeper, wallClock(), performance.now());
  }

  /** Appliance time was set back, and continues from `to`. */
  setTo(to: Instant): void {
    this.#keeper = resetClock(this.#keeper, to, performance.now());
  }
}
