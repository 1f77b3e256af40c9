import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { instant } from "../../src/domain/time.ts";
import { carriedClock } from "../../src/platform/clock.ts";

const NOON = instant(Date.parse("2026-03-02T12:00:00Z"));
const HOUR = 3_600_000;

afterEach(() => {
  setSystemTime();
});

describe("the clock", () => {
  test("follows the system's", () => {
    setSystemTime(NOON);
    const now = carriedClock();
    expect(now(instant(0))).toBe(NOON);
    setSystemTime(NOON + HOUR);
    expect(now(NOON)).toBe(instant(NOON + HOUR));
  });

  test("goes on when the system's is set back, at its own pace", async () => {
    setSystemTime(NOON);
    const now = carriedClock();
    const before = now(instant(0));
    setSystemTime(NOON - HOUR);
    // Asked often, it must not lose the fractions of a millisecond between.
    for (let asked = 0; asked < 20; asked += 1) {
      now(before);
      await Bun.sleep(2);
    }
    const passed = now(before) - before;
    expect(passed).toBeGreaterThanOrEqual(38);
    expect(passed).toBeLessThan(HOUR / 2);
  });

  test("begins at what is on record when the system's is behind that, and goes on from there", async () => {
    setSystemTime(NOON - HOUR);
    const now = carriedClock();
    expect(now(NOON)).toBe(NOON);
    await Bun.sleep(15);
    expect(now(NOON)).toBeGreaterThanOrEqual(NOON + 14);
  });
});
