import type { ClockJump } from "../domain/clock-jump-types.ts";
import { instant, latest, type Instant } from "../domain/time.ts";
import {
  acceptSystemClock,
  readClock,
  resetClock,
  startClock,
  type Timekeeper,
} from "../domain/timekeeper.ts";

/** The system's clock, as it is. */
export const wallClock = (): Instant => instant(Date.now());

/** The appliance's own time: the system's clock as far as the rules believe it. */
export class ApplianceClock {
  #keeper: Timekeeper | null = null;

  /** What time it is, given the newest instant and the jumps of the clock on record. */
  readonly now = (mark: Instant, recorded: readonly ClockJump[] = []): Instant => {
    const at = performance.now();
    const keeper = this.#keeper ?? startClock(mark === 0 ? wallClock() : mark, at, recorded);
    const read = readClock({ ...keeper, time: latest(keeper.time, mark) }, wallClock(), at);
    this.#keeper = read;
    return read.time;
  };

  /** The jumps ahead since the start that were believed, oldest first. */
  readonly jumps = (): readonly ClockJump[] => this.#keeper?.jumps ?? [];

  /** How far the system's clock is behind this time (milliseconds). */
  readonly behind = (now: Instant): number => Math.max(0, now - wallClock());

  /** For how long the system's clock has been far ahead and not believed; null: it is not. */
  get aheadForMs(): number | null {
    const since = this.#keeper?.aheadSince ?? null;
    return since === null ? null : performance.now() - since;
  }

  /** An operator says the system's clock is right. */
  accept(): void {
    this.now(instant(0));
    if (this.#keeper === null) return;
    this.#keeper = acceptSystemClock(this.#keeper, wallClock(), performance.now());
  }

  /** Time was set back, and goes on from here. */
  setTo(to: Instant): void {
    this.#keeper = resetClock(this.#keeper, to, performance.now());
  }
}
