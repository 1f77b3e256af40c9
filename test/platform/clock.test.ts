import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { DAY, HOUR, instant, later, type Instant } from "../../src/domain/time.ts";
import { ApplianceClock, wallClock } from "../../src/platform/clock.ts";

const NOON = instant(Date.parse("2026-03-02T12:00:00Z"));

/** The monotonic clock goes on during a test: so much is still "at once". */
const SLACK = 2_000;

afterEach(() => {
  setSystemTime();
});

/** A clock that runs and was right at noon. */
function runningAtNoon(): ApplianceClock {
  setSystemTime(NOON);
  const clock = new ApplianceClock();
  expect(clock.now(NOON)).toBe(NOON);
  return clock;
}

function expectAbout(said: Instant, wanted: Instant): void {
  expect(said).toBeGreaterThanOrEqual(wanted);
  expect(said).toBeLessThan(wanted + SLACK);
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
    expect(clock.waitingSince).toBeNull();
  });

  test("goes on when the system's is set back, at its own pace", async () => {
    const clock = runningAtNoon();
    setSystemTime(NOON - HOUR);
    // Asked often, it must not lose the fractions of a millisecond between.
    const begun = performance.now();
    while (performance.now() - begun < 40) {
      clock.now(NOON);
      await Bun.sleep(1);
    }
    const passed = clock.now(NOON) - NOON;
    expect(passed).toBeGreaterThanOrEqual(39);
    expect(passed).toBeLessThanOrEqual(performance.now() - begun + SLACK);
  });

  test("begins at what is on record when the system's is behind that, and goes on", async () => {
    setSystemTime(NOON - HOUR);
    const clock = new ApplianceClock();
    expect(clock.now(NOON)).toBe(NOON);
    await Bun.sleep(15);
    expect(clock.now(NOON)).toBeGreaterThanOrEqual(NOON + 14);
  });

  test("takes a larger step at a start than later", () => {
    setSystemTime(NOON + 30 * DAY);
    expect(new ApplianceClock().now(NOON)).toBe(later(NOON, 30 * DAY));
    const running = runningAtNoon();
    setSystemTime(NOON + 30 * DAY);
    expectAbout(running.now(NOON), NOON);
    expect(running.waitingSince).toBeGreaterThanOrEqual(0);
    expect(running.waitingSince).toBeLessThan(SLACK);
  });

  test("does not believe a wild one at a start either", () => {
    setSystemTime(NOON + 401 * DAY);
    const clock = new ApplianceClock();
    expectAbout(clock.now(NOON), NOON);
    expect(clock.waitingSince).not.toBeNull();
  });

  test("never runs behind what is on record by now", () => {
    const clock = runningAtNoon();
    expectAbout(clock.now(later(NOON, HOUR)), later(NOON, HOUR));
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
    expectAbout(clock.now(NOON), NOON);
    clock.accept();
    expectAbout(clock.now(NOON), later(NOON, 4000 * DAY));
    expect(clock.waitingSince).toBeNull();
  });

  test("never takes time back, not even to what is on record", () => {
    const clock = runningAtNoon();
    setSystemTime(NOON + HOUR);
    expect(clock.now(NOON)).toBe(later(NOON, HOUR));
    setSystemTime(NOON - 2 * DAY);
    clock.accept();
    expectAbout(clock.now(NOON), later(NOON, HOUR));
  });
});

describe("the same word, again and again, while the system's clock is behind", () => {
  test("does not hold the time up", async () => {
    const clock = runningAtNoon();
    setSystemTime(NOON - DAY);
    const begun = performance.now();
    while (performance.now() - begun < 40) {
      clock.accept();
      await Bun.sleep(1);
    }
    expect(clock.now(NOON) - NOON).toBeGreaterThanOrEqual(39);
  });
});

describe("a clock that was set back", () => {
  test("goes on from there, while the system's is behind still", () => {
    const clock = runningAtNoon();
    setSystemTime(NOON - DAY);
    clock.setTo(later(NOON, -HOUR));
    expectAbout(clock.now(later(NOON, -HOUR)), later(NOON, -HOUR));
  });

  test("is one that runs: the step of a start is not to be had by it", () => {
    const clock = runningAtNoon();
    setSystemTime(NOON + 29 * DAY);
    clock.setTo(later(NOON, -DAY));
    expectAbout(clock.now(later(NOON, -DAY)), later(NOON, -DAY));
  });

  test("follows the system's again", () => {
    const clock = runningAtNoon();
    setSystemTime(NOON - DAY);
    clock.setTo(wallClock());
    setSystemTime(NOON - DAY + HOUR);
    expect(clock.now(later(NOON, -DAY))).toBe(later(NOON, HOUR - DAY));
  });
});
