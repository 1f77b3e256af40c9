import { readFileSync } from "node:fs";
import { describe, expect, test } from "bun:test";
import { readBootClock } from "../../../src/platform/system/boot-clock.ts";

/** Seconds since the machine was started, also those that it slept. */
const readUptime = (): number => Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]) * 1_000;

describe("the boot clock", () => {
  test.if(process.platform === "linux")("is the time since the machine was started", () => {
    const before = readUptime();
    const boot = readBootClock();
    const after = readUptime();
    // The file has two decimals.
    expect(boot).toBeWithin(before - 1, after + 11);
  });

  test("advances with time, and never goes back", async () => {
    const [boot, monotonic] = [readBootClock(), performance.now()];
    let last = boot;
    for (let reading = 0; reading < 10_000; reading += 1) {
      const next = readBootClock();
      expect(next).toBeGreaterThanOrEqual(last);
      last = next;
    }
    await Bun.sleep(20);
    const passed = performance.now() - monotonic;
    expect(readBootClock() - boot).toBeWithin(passed - 5, passed + 1_000);
  });

  test("has fractions of a millisecond", () => {
    const readings = Array.from({ length: 100 }, () => readBootClock() % 1);
    expect(readings.some((fraction) => fraction > 0)).toBe(true);
  });

  test("does not change with the system clock", () => {
    const boot = readBootClock();
    const realNow = Date.now;
    Date.now = () => realNow() + 86_400_000;
    try {
      expect(readBootClock() - boot).toBeLessThan(60_000);
    } finally {
      Date.now = realNow;
    }
  });
});
