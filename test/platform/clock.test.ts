import {
  afterEach,
  beforeEach,
  describe,
  expect,
  mock,
  setSystemTime,
  spyOn,
  test,
} from "bun:test";
import { DAY, HOUR, instant, later } from "../../src/domain/time.ts";
import { ApplianceClock, wallClock } from "../../src/platform/clock.ts";

const NOON = instant(Date.parse("2026-03-02T12:00:00Z"));

/** The monotonic clock, which stands still unless a test advances it. */
let monotonic = 0;

beforeEach(() => {
  monotonic = 5_000;
  spyOn(performance, "now").mockImplementation(() => monotonic);
});

afterEach(() => {
  mock.restore();
  setSystemTime();
});

/** A running clock that was correct at noon. */
function startAtNoon(): ApplianceClock {
  setSystemTime(NOON);
  const clock = new ApplianceClock();
  expect(clock.now(NOON)).toBe(NOON);
  return clock;
}

describe("ApplianceClock", () => {
  test("starts at the system time if nothing is recorded", () => {
    setSystemTime(NOON);
    expect(new ApplianceClock().now(instant(0))).toBe(NOON);
  });

  test("follows the system clock", () => {
    const clock = startAtNoon();
    setSystemTime(NOON + HOUR);
    expect(clock.now(NOON)).toBe(later(NOON, HOUR));
    expect(clock.aheadForMs).toBeNull();
  });

  test("continues at its own pace if the system clock is set back", () => {
    const clock = startAtNoon();
    setSystemTime(NOON - HOUR);
    // Frequent reads must not lose fractions of a millisecond.
    for (let reads = 0; reads < 160; reads += 1) {
      monotonic += 0.25;
      clock.now(NOON);
    }
    expect(clock.now(NOON)).toBe(later(NOON, 40));
  });

  test("starts at the recorded time if the system clock is behind it, and continues", () => {
    setSystemTime(NOON - HOUR);
    const clock = new ApplianceClock();
    expect(clock.now(NOON)).toBe(NOON);
    monotonic += 15;
    expect(clock.now(NOON)).toBe(later(NOON, 15));
  });

  test("accepts a larger forward jump at a start than while running", () => {
    setSystemTime(NOON + 30 * DAY);
    expect(new ApplianceClock().now(NOON)).toBe(later(NOON, 30 * DAY));
    const running = startAtNoon();
    setSystemTime(NOON + 30 * DAY);
    expect(running.now(NOON)).toBe(NOON);
    expect(running.aheadForMs).toBe(0);
    monotonic += 2_000;
    expect(running.aheadForMs).toBe(2_000);
  });

  test("refuses a forward jump of 401 days at a start too", () => {
    setSystemTime(NOON + 401 * DAY);
    const clock = new ApplianceClock();
    expect(clock.now(NOON)).toBe(NOON);
    expect(clock.aheadForMs).not.toBeNull();
  });

  test("is never behind the recorded time", () => {
    const clock = startAtNoon();
    expect(clock.now(later(NOON, HOUR))).toBe(later(NOON, HOUR));
  });

  test("reports how far the system clock is behind a time", () => {
    const clock = startAtNoon();
    expect(clock.behind(later(NOON, DAY))).toBe(DAY);
    expect(clock.behind(later(NOON, -DAY))).toBe(0);
  });
});

describe("ApplianceClock.accept", () => {
  test("accepts the system time however far ahead it is", () => {
    const clock = startAtNoon();
    setSystemTime(NOON + 4000 * DAY);
    expect(clock.now(NOON)).toBe(NOON);
    clock.accept();
    expect(clock.now(NOON)).toBe(later(NOON, 4000 * DAY));
    expect(clock.aheadForMs).toBeNull();
  });

  test("never sets the time back, not even to the recorded time", () => {
    const clock = startAtNoon();
    setSystemTime(NOON + HOUR);
    expect(clock.now(NOON)).toBe(later(NOON, HOUR));
    setSystemTime(NOON - 2 * DAY);
    clock.accept();
    expect(clock.now(NOON)).toBe(later(NOON, HOUR));
  });
});

describe("ApplianceClock.accept, repeated while the system clock is behind,", () => {
  test("does not stop the time", () => {
    const clock = startAtNoon();
    setSystemTime(NOON - DAY);
    for (let calls = 0; calls < 160; calls += 1) {
      monotonic += 0.25;
      clock.accept();
    }
    expect(clock.now(NOON)).toBe(later(NOON, 40));
  });
});

describe("ApplianceClock.setTo", () => {
  test("sets the clock back while the system clock is still behind", () => {
    const clock = startAtNoon();
    setSystemTime(NOON - DAY);
    clock.setTo(later(NOON, -HOUR));
    expect(clock.now(later(NOON, -HOUR))).toBe(later(NOON, -HOUR));
  });

  test("does not allow the larger forward jump of a start", () => {
    const clock = startAtNoon();
    setSystemTime(NOON + 29 * DAY);
    clock.setTo(later(NOON, -DAY));
    expect(clock.now(later(NOON, -DAY))).toBe(later(NOON, -DAY));
  });

  test("lets the clock follow the system clock again", () => {
    const clock = startAtNoon();
    setSystemTime(NOON - DAY);
    clock.setTo(wallClock());
    setSystemTime(NOON - DAY + HOUR);
    expect(clock.now(later(NOON, -DAY))).toBe(later(NOON, HOUR - DAY));
  });
});
