import { isSuspect, readClock, startClock, type Timekeeper } from "../domain/clock.ts";
import { instant, latest, type Instant } from "../domain/time.ts";

/** The system's clock, as it is. */
export const wallClock = (): Instant => instant(Date.now());

/** The appliance's own time: the system's clock as far as the rules believe it. */
export class ApplianceClock {
  #keeper: Timekeeper | null = null;

  /** What time it is, given the newest instant on record. */
  readonly now = (mark: Instant): Instant => {
    const at = performance.now();
    const keeper = this.#keeper ?? startClock(mark === 0 ? wallClock() : mark, at);
    const read = readClock({ ...keeper, said: latest(keeper.said, mark) }, wallClock(), at);
    this.#keeper = read;
    return read.said;
  };

  readonly isSuspect = (now: Instant): boolean => isSuspect(now, wallClock());

  /** For how long the system's clock has been far ahead and not believed; null: it is not. */
  get waitingSince(): number | null {
    const since = this.#keeper?.aheadSince ?? null;
    return since === null ? null : performance.now() - since;
  }

  /** An operator says the system's clock is right. */
  accept(): void {
    const [said, wall] = [this.now(instant(0)), wallClock()];
    if (wall > said) this.#keeper = startClock(wall, performance.now());
  }

  /** Time was set back, and goes on from here. */
  setTo(to: Instant): void {
    this.#keeper = { ...startClock(to, performance.now()), running: true };
  }
}
