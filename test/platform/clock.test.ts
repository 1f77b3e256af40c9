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

/** What the monotonic clock says: it stands still unless a test lets time pass. */
let monotonic = 0;

beforeEach(() => {
  monotonic = 5_000;
  spyOn(performance, "now").mockImplementation(() => monotonic);
});

afterEach(() => {
  mock.restore();
  setSystemTime();
});

/** A clock that runs and was right at noon. */
function runningAtNoon(): ApplianceClock {
  setSystemTime(NOON);
  const clock = new ApplianceClock();
  expect(clock.now(NOON)).toBe(NOON);
  return clock;
}

describe("the appliance's clock", () => {
  test("begins with the system's when nothing is on record", () => {
    setSystemTime(NOON);
    expect(new ApplianceClock().now(instant(0))).toBe(NOON);
  });

  test("follows the system's", () => {
    const clock = runningAtNoon();
    setSystemTime(NOON + HOUR);
    expect(clock.now(NOON)).toBe(later(NOON, HOUR));
    expect(clock.aheadForMs).toBeNull();
  });

  test("goes on when the system's is set back, at its own pace", () => {
    const clock = runningAtNoon();
    setSystemTime(NOON - HOUR);
    // Asked often, it must not lose the fractions of a millisecond between.
    for (let reads = 0; reads < 160; reads += 1) {
      monotonic += 0.25;
      clock.now(NOON);
    }
    expect(clock.now(NOON)).toBe(later(NOON, 40));
  });

  test("begins at what is on record when the system's is behind that, and goes on", () => {
    setSystemTime(NOON - HOUR);
    const clock = new ApplianceClock();
    expect(clock.now(NOON)).toBe(NOON);
    monotonic += 15;
    expect(clock.now(NOON)).toBe(later(NOON, 15));
  });

  test("takes a larger step at a start than later", () => {
    setSystemTime(NOON + 30 * DAY);
    expect(new ApplianceClock().now(NOON)).toBe(later(NOON, 30 * DAY));
    const running = runningAtNoon();
    setSystemTime(NOON + 30 * DAY);
    expect(running.now(NOON)).toBe(NOON);
    expect(running.aheadForMs).toBe(0);
    monotonic += 2_000;
    expect(running.aheadForMs).toBe(2_000);
  });

  test("does not believe a wild one at a start either", () => {
    setSystemTime(NOON + 401 * DAY);
    const clock = new ApplianceClock();
    expect(clock.now(NOON)).toBe(NOON);
    expect(clock.aheadForMs).not.toBeNull();
  });

  test("never runs behind what is on record by now", () => {
    const clock = runningAtNoon();
    expect(clock.now(later(NOON, HOUR))).toBe(later(NOON, HOUR));
  });

  test("knows how far the system's is behind a time", () => {
    const clock = runningAtNoon();
    expect(clock.behind(later(NOON, DAY))).toBe(DAY);
    expect(clock.behind(later(NOON, -DAY))).toBe(0);
  });
});

describe("an operator's word that the system's clock is right", () => {
  test("is taken however far ahead that is, and goes on from there", () => {
    const clock = runningAtNoon();
    setSystemTime(NOON + 4000 * DAY);
    expect(clock.now(NOON)).toBe(NOON);
    clock.accept();
    expect(clock.now(NOON)).toBe(later(NOON, 4000 * DAY));
    expect(clock.aheadForMs).toBeNull();
  });

  test("never takes time back, not even to what is on record", () => {
    const clock = runningAtNoon();
    setSystemTime(NOON + HOUR);
    expect(clock.now(NOON)).toBe(later(NOON, HOUR));
    setSystemTime(NOON - 2 * DAY);
    clock.accept();
    expect(clock.now(NOON)).toBe(later(NOON, HOUR));
  });
});

describe("the same word, again and again, while the system's clock is behind", () => {
  test("does not hold the time up", () => {
    const clock = runningAtNoon();
    setSystemTime(NOON - DAY);
    for (let words = 0; words < 160; words += 1) {
      monotonic += 0.25;
      clock.accept();
    }
    expect(clock.now(NOON)).toBe(later(NOON, 40));
  });
});

describe("a clock that was set back", () => {
  test("goes on from there, while the system's is behind still", () => {
    const clock = runningAtNoon();
    setSystemTime(NOON - DAY);
    clock.setTo(later(NOON, -HOUR));
    expect(clock.now(later(NOON, -HOUR))).toBe(later(NOON, -HOUR));
  });

  test("is one that runs: the step of a start is not to be had by it", () => {
    const clock = runningAtNoon();
    setSystemTime(NOON + 29 * DAY);
    clock.setTo(later(NOON, -DAY));
    expect(clock.now(later(NOON, -DAY))).toBe(later(NOON, -DAY));
  });

  test("follows the system's again", () => {
    const clock = runningAtNoon();
    setSystemTime(NOON - DAY);
    clock.setTo(wallClock());
    setSystemTime(NOON - DAY + HOUR);
    expect(clock.now(later(NOON, -DAY))).toBe(later(NOON, HOUR - DAY));
  });
});
