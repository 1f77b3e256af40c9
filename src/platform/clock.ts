import type { ClockJump } from "../domain/model/clock-jump-types.ts";
import { instant, later, type Instant } from "../domain/time.ts";
import {
  acceptSystemClock,
  readClock,
  resetClock,
  startClock,
  type Timekeeper,
} from "../domain/clock/timekeeper.ts";

/** The system clock. */
export const wallClock = (): Instant => instant(Date.now());

/** The newest time that another host recorded, and when it was received by the monotonic clock. */
interface TimeMark {
  readonly time: Instant;
  readonly receivedAt: number;
}

/**
 * Appliance time: follows the system clock as far as the rules of the domain accept it. While
 * another host of a pair leads, that host keeps the time, and the system clock here is not used.
 */
export class ApplianceClock {
  readonly #monotonicMs: () => number;
  #keeper: Timekeeper | null = null;
  #isFollowing = false;
  /** While following, and until the first reading after that. */
  #mark: TimeMark | null = null;

  /** `monotonicMs`: milliseconds of a clock that never jumps; default: that of the process. */
  constructor(monotonicMs: () => number = () => performance.now()) {
    this.#monotonicMs = monotonicMs;
  }

  /** Appliance time, from the newest event and the clock jumps in the audit log. */
  readonly now = (newestEventAt: Instant, recordedJumps: readonly ClockJump[] = []): Instant => {
    const monotonicMs = this.#monotonicMs();
    const newest = newestEventAt === 0 ? wallClock() : newestEventAt;
    if (this.#isFollowing) return this.#readMark(newest, monotonicMs);
    const keeper = this.#keeper ?? this.#startKeeper(newest, monotonicMs, recordedJumps);
    const current = keeper.time < newestEventAt ? { ...keeper, time: newestEventAt } : keeper;
    this.#keeper = readClock(current, wallClock(), monotonicMs);
    return this.#keeper.time;
  };

  /** Accepted forward jumps since the start, or since this host leads, oldest first. */
  readonly jumps = (): readonly ClockJump[] => this.#keeper?.jumps ?? [];

  /** From now on another host keeps the time. This one continues from its newest event. */
  follow(): void {
    if (this.#isFollowing) return;
    this.#isFollowing = true;
    const keeper = this.#keeper;
    this.#mark = keeper && { time: keeper.time, receivedAt: keeper.monotonicAt };
  }

  /** The other host wrote an event: its newest time, which is earlier after it was set back. */
  receive(time: Instant): void {
    if (!this.#isFollowing) return;
    this.#mark = { time, receivedAt: this.#monotonicMs() };
    this.#keeper = null;
  }

  /**
   * From now on this host keeps the time. It continues from the newest event and the time since it
   * was received. `isStart`: no host led before, so the system clock counts as at a start.
   */
  lead(isStart: boolean): void {
    if (!this.#isFollowing) return;
    this.#isFollowing = false;
    if (isStart) this.#keeper = null;
    // If no other host wrote anything, this one goes on as before.
    if (isStart || this.#keeper !== null) this.#mark = null;
  }

  /** Milliseconds by which the system clock is behind `now`. */
  readonly behind = (now: Instant): number => Math.max(0, now - wallClock());

  /** How long the system clock has been too far ahead to be followed; null: it is not. */
  get aheadForMs(): number | null {
    const since = this.#keeper?.aheadSince ?? null;
    return since === null ? null : this.#monotonicMs() - since;
  }

  /** An operator confirmed the system clock. */
  accept(): void {
    this.now(instant(0));
    if (this.#keeper === null) return;
    this.#keeper = acceptSystemClock(this.#keeper, wallClock(), this.#monotonicMs());
  }

  /** Appliance time was set back, and continues from `to`. */
  setTo(to: Instant): void {
    this.#keeper = resetClock(this.#keeper, to, this.#monotonicMs());
  }

  #readMark(newest: Instant, at: number): Instant {
    const { time, receivedAt } = (this.#mark ??= { time: newest, receivedAt: at });
    return later(time, Math.floor(at - receivedAt));
  }

  /** After a change of the leader, the first reading is none of a start: it jumps no further. */
  #startKeeper(newest: Instant, at: number, jumps: readonly ClockJump[]): Timekeeper {
    const mark = this.#mark;
    this.#mark = null;
    if (mark === null) return startClock(newest, at, jumps);
    return { ...startClock(mark.time, mark.receivedAt, jumps), isRunning: true };
  }
}
