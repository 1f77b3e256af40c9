// The time of the appliance on a host of a pair: before, at and after a change of the leader.
import { afterEach, beforeEach, describe, expect, setSystemTime, test } from "bun:test";
import type { ClockJump } from "../../src/domain/model/clock-jump-types.ts";
import { DAY, HOUR, instant, later, MINUTE, SECOND, type Instant } from "../../src/domain/time.ts";
import { ApplianceClock } from "../../src/platform/clock.ts";

const NOON = instant(Date.parse("2026-03-02T12:00:00Z"));

let monotonic = 0;

beforeEach(() => {
  monotonic = 5_000;
  setSystemTime(NOON);
});

afterEach(() => {
  setSystemTime();
});

/** A host that follows another one, whose newest event was received just now. */
function followSince(mark: Instant): ApplianceClock {
  const clock = new ApplianceClock(() => monotonic);
  clock.follow();
  clock.receive(mark);
  return clock;
}

/** What passes by the monotonic clock, and by the system clock as far as it is right. */
function pass(milliseconds: number): void {
  monotonic += milliseconds;
  setSystemTime(Date.now() + milliseconds);
}

describe("the time of a host that follows", () => {
  test("is the newest event and the time since it was received", () => {
    const clock = followSince(NOON);
    pass(90 * SECOND);
    expect(clock.now(NOON)).toBe(later(NOON, 90 * SECOND));
    clock.receive(later(NOON, 80 * SECOND));
    expect(clock.now(NOON)).toBe(later(NOON, 80 * SECOND));
  });

  test("does not follow the system clock of this host", () => {
    const clock = followSince(NOON);
    setSystemTime(NOON + 300 * DAY);
    pass(MINUTE);
    expect(clock.now(NOON)).toBe(later(NOON, MINUTE));
    expect(clock.jumps()).toEqual([]);
    expect(clock.aheadForMs).toBeNull();
  });

  test("goes back with the other host if its clock was set back", () => {
    const clock = followSince(later(NOON, 10 * DAY));
    clock.receive(NOON);
    expect(clock.now(NOON)).toBe(NOON);
  });

  test("begins with the newest event of the folder if none was received", () => {
    const clock = new ApplianceClock(() => monotonic);
    clock.follow();
    expect(clock.now(NOON)).toBe(NOON);
    pass(SECOND);
    expect(clock.now(NOON)).toBe(later(NOON, SECOND));
  });

  test("begins with the system clock if nothing is recorded", () => {
    const clock = new ApplianceClock(() => monotonic);
    clock.follow();
    expect(clock.now(instant(0))).toBe(NOON);
  });
});

describe("a change of the leader", () => {
  test("continues the time, with the silence before it", () => {
    const clock = followSince(NOON);
    pass(9 * MINUTE);
    clock.lead(false);
    expect(clock.now(NOON)).toBe(later(NOON, 9 * MINUTE));
  });

  test("jumps no further than a running server, however far ahead the system clock is", () => {
    const clock = followSince(NOON);
    setSystemTime(NOON + 300 * DAY);
    clock.lead(false);
    expect(clock.now(NOON)).toBe(NOON);
    // As for a server: a large step has to last.
    pass(4 * MINUTE);
    expect(clock.now(NOON)).toBe(later(NOON, 4 * MINUTE));
    pass(MINUTE);
    expect(clock.now(NOON)).toBe(later(NOON, 300 * DAY + 5 * MINUTE));
  });

  test("shares the allowance for steps with the host before", () => {
    const jump = (from: number, to: number): ClockJump => ({
      from: later(NOON, from),
      to: later(NOON, to),
      reason: "step",
    });
    const used = [jump(-20 * HOUR, 0)];
    const clock = followSince(NOON);
    setSystemTime(NOON + 5 * HOUR);
    clock.lead(false);
    // 4 of 24 hours are left: the host before used 20.
    expect(clock.now(NOON, used)).toBe(NOON);
    const fresh = followSince(NOON);
    fresh.lead(false);
    expect(fresh.now(NOON, [])).toBe(later(NOON, 5 * HOUR));
  });

  test("does not go back to a system clock that is behind", () => {
    const clock = followSince(NOON);
    setSystemTime(NOON - HOUR);
    clock.lead(false);
    expect(clock.now(NOON)).toBe(NOON);
    expect(clock.behind(NOON)).toBe(HOUR);
  });

  test("counts as a start if no host led before", () => {
    const clock = followSince(NOON);
    setSystemTime(NOON + 60 * DAY);
    clock.lead(true);
    expect(clock.now(NOON)).toBe(later(NOON, 60 * DAY));
    expect(clock.jumps()).toMatchObject([{ reason: "start" }]);
  });

  test("keeps an unrecorded jump if the same host leads again", () => {
    const clock = new ApplianceClock(() => monotonic);
    clock.now(NOON);
    setSystemTime(NOON + 2 * HOUR);
    expect(clock.now(NOON)).toBe(later(NOON, 2 * HOUR));
    clock.follow();
    pass(SECOND);
    clock.lead(false);
    expect(clock.now(NOON)).toBe(later(NOON, 2 * HOUR + SECOND));
    expect(clock.jumps()).toMatchObject([{ reason: "step" }]);
  });

  test("forgets a jump of this host that the other one did not see", () => {
    const clock = new ApplianceClock(() => monotonic);
    clock.now(NOON);
    setSystemTime(NOON + 2 * HOUR);
    clock.now(NOON);
    clock.follow();
    clock.receive(later(NOON, SECOND));
    expect(clock.now(NOON)).toBe(later(NOON, SECOND));
    expect(clock.jumps()).toEqual([]);
  });
});
