import { describe, expect, test } from "bun:test";
import { DAY, HOUR, MINUTE } from "../../../src/domain/time.ts";
import { probabilityOfAtLeast } from "../../../src/usage/eta/count-probability.ts";
import { SessionLengthCurve } from "../../../src/usage/eta/session-length-curve.ts";
import { WaitEstimates } from "../../../src/usage/eta/wait-estimates.ts";
import { createRandom } from "../../support/suite-harness.ts";
import { DEMAND_SHAPES, simulateQueue } from "./simulated-queue.ts";

/** Lengths as if each was equally probable between 0 and `longest`. */
const evenLengths = (count: number, longest: number): number[] =>
  Array.from({ length: count }, (_, index) => ((index + 1) * longest) / (count + 1));

const inUse = (ended: readonly number[], running: readonly number[], heldCount = 0) => ({
  ended,
  endedCount: ended.length,
  running,
  runningCount: running.length,
  heldCount,
});

const estimate = (
  ended: readonly number[],
  running: readonly number[],
  position: number,
  heldCount = 0,
) => WaitEstimates.prepare(inUse(ended, running, heldCount))?.estimate(position) ?? null;

describe("the probability of a count", () => {
  const binomialAtLeast = (wanted: number, trials: number, p: number): number => {
    let [term, sum] = [(1 - p) ** trials, 0];
    for (let count = 0; count <= trials; count += 1) {
      if (count >= wanted) sum += term;
      term *= ((trials - count) / (count + 1)) * (p / (1 - p));
    }
    return sum;
  };

  test("is exact for slots that come free equally probably", () => {
    for (const trials of [1, 2, 7, 40]) {
      for (const p of [0.01, 0.2, 0.5, 0.93]) {
        for (let wanted = 1; wanted <= trials; wanted += 1) {
          const [mean, variance] = [trials * p, trials * p * (1 - p)];
          const found = probabilityOfAtLeast(wanted, mean, variance);
          expect(found).toBeCloseTo(binomialAtLeast(wanted, trials, p), 6);
        }
      }
    }
  });

  test("is close to the exact one for many slots", () => {
    for (const wanted of [100, 110, 120, 130, 140]) {
      const found = probabilityOfAtLeast(wanted, 400 * 0.3, 400 * 0.3 * 0.7);
      expect(Math.abs(found - binomialAtLeast(wanted, 400, 0.3))).toBeLessThan(0.005);
    }
  });

  test("is that of Poisson if variance and mean are equal", () => {
    for (const mean of [0.1, 1, 5, 20]) {
      expect(probabilityOfAtLeast(1, mean, mean)).toBeCloseTo(1 - Math.exp(-mean), 3);
    }
  });

  test("falls with the wanted count, also where the method changes", () => {
    for (const [mean, variance] of [
      [5, 9],
      [38, 39.9],
      [42, 40.1],
      [500, 800],
    ] as const) {
      for (let wanted = 1; wanted < 2 * mean; wanted += 1) {
        const [more, fewer] = [wanted + 1, wanted].map((count) =>
          probabilityOfAtLeast(count, mean, variance),
        );
        expect(more).toBeLessThanOrEqual((fewer ?? 0) + 1e-9);
      }
    }
    const exact = probabilityOfAtLeast(40, 39.99, 39.99);
    expect(probabilityOfAtLeast(40, 40.01, 40.01)).toBeCloseTo(exact, 1);
  });
});

describe("the lengths of sessions", () => {
  test("count a running session as longer than it lasts already", () => {
    const ended = Array.from({ length: 20 }, () => 10 * MINUTE);
    const alone = new SessionLengthCurve(inUse(ended, []));
    const running = Array.from({ length: 20 }, () => 5 * HOUR);
    const withRunning = new SessionLengthCurve(inUse(ended, running));
    expect(alone.shareLongerThan(HOUR)).toBeLessThan(0.05);
    expect(withRunning.shareLongerThan(HOUR)).toBeCloseTo(0.5, 1);
  });

  test("let a session that is longer than all known ones go on about as long again", () => {
    const curve = new SessionLengthCurve(inUse(evenLengths(50, HOUR), []));
    expect(curve.endsWithin(10 * HOUR, 10 * MINUTE)).toBeLessThan(0.1);
    expect(curve.endsWithin(10 * HOUR, 4.2 * HOUR)).toBeCloseTo(0.5, 1);
  });
});

describe("an estimate", () => {
  test("is null with 19 sessions, and a number with 20", () => {
    expect(estimate(evenLengths(19, HOUR), [0], 1)).toBeNull();
    expect(estimate(evenLengths(20, HOUR), [0], 1)).not.toBeNull();
  });

  test("is null if no slot can come free", () => {
    expect(estimate(evenLengths(50, HOUR), [], 1)).toBeNull();
  });

  test("of one slot that was just taken is the median of the lengths", () => {
    const { p50 = 0, p90 = 0 } = estimate(evenLengths(1_000, HOUR), [0], 1) ?? {};
    expect(Math.abs(p50 / MINUTE - 30)).toBeLessThan(0.5);
    expect(Math.abs(p90 / MINUTE - 54)).toBeLessThan(0.5);
  });

  test("depends on how long the present sessions last already", () => {
    const lengths = evenLengths(1_000, HOUR);
    const [early, late] = [0, 50 * MINUTE].map((age) => estimate(lengths, [age], 1)?.p50 ?? 0);
    expect(late).toBeLessThan((early ?? 0) / 4);
  });

  test("counts a held slot as a session that begins now", () => {
    const lengths = evenLengths(200, HOUR);
    const [held, taken] = [estimate(lengths, [], 2, 3), estimate(lengths, [0, 0, 0], 2)];
    expect(Math.abs((held?.p50 ?? 0) / (taken?.p50 ?? 1) - 1)).toBeLessThan(0.01);
  });

  test("grows with the position, beyond the number of slots and far beyond", () => {
    const known = inUse(evenLengths(500, HOUR), [0, 10 * MINUTE, 20 * MINUTE]);
    const prepared = WaitEstimates.prepare(known);
    let before = { p50: 0, p90: 0 };
    for (const position of [1, 2, 3, 4, 7, 20, 60, 200, 1_000, 10_000]) {
      const found = prepared?.estimate(position) ?? { p50: 0, p90: 0 };
      expect(found.p50).toBeGreaterThan(before.p50);
      expect(found.p90).toBeGreaterThan(found.p50);
      before = found;
    }
    // 10,000 sessions of half an hour each, one after another in three slots.
    expect(Math.abs(before.p50 / ((10_000 * 30 * MINUTE) / 3) - 1)).toBeLessThan(0.1);
  });

  test("from a sample of the sessions is that from all of them", () => {
    const all = inUse(evenLengths(900, HOUR), evenLengths(300, HOUR / 2));
    const third = { ended: evenLengths(300, HOUR), running: evenLengths(100, HOUR / 2) };
    const [expected, found] = [all, { ...all, ...third }].map(
      (slots) => WaitEstimates.prepare(slots)?.estimate(40) ?? { p50: 0, p90: 0 },
    );
    expect(expected?.p50).toBeGreaterThan(MINUTE);
    expect(Math.abs((found?.p50 ?? 0) / (expected?.p50 ?? 1) - 1)).toBeLessThan(0.05);
    expect(Math.abs((found?.p90 ?? 0) / (expected?.p90 ?? 1) - 1)).toBeLessThan(0.05);
  });

  test("is less certain with few sessions than with many of the same lengths", () => {
    const spreadOf = (count: number): number => {
      const { p50, p90 } = estimate(evenLengths(count, HOUR), [0], 50) ?? { p50: 1, p90: 1 };
      return p90 / p50;
    };
    expect(spreadOf(20)).toBeGreaterThan(1.05 * spreadOf(2_000));
  });

  test("is null if the wait is longer than a year", () => {
    expect(estimate(evenLengths(50, 40 * DAY), [0], 100)).toBeNull();
  });

  test("agrees with a simulation of the slots, one by one", () => {
    const random = createRandom(5);
    const lengths = evenLengths(999, HOUR);
    const ages = [1, 5, 9, 30, 31, 44].map((minutes) => minutes * MINUTE);
    const draw = (age: number): number => age + random() * (HOUR - age) - age;
    for (const position of [1, 3, 8, 20]) {
      const waits = Array.from({ length: 4_000 }, () => {
        const ends = ages.map(draw);
        let wait = 0;
        for (let freed = 0; freed < position; freed += 1) {
          wait = Math.min(...ends);
          ends[ends.indexOf(wait)] = wait + draw(0);
        }
        return wait;
      }).toSorted((a, b) => a - b);
      const found = estimate(lengths, ages, position) ?? { p50: 0, p90: 0 };
      expect(Math.abs(found.p50 / (waits[2_000] ?? 0) - 1)).toBeLessThan(0.1);
      expect(Math.abs(found.p90 / (waits[3_600] ?? 0) - 1)).toBeLessThan(0.1);
    }
  });

  test("holds in a short simulation of each shape of demand", () => {
    for (const shape of DEMAND_SHAPES) {
      const { waits, p50, p90 } = simulateQueue(shape, 3, 4);
      expect(waits).toBeGreaterThan(50);
      expect(p50).toBeWithin(0.3, 0.75);
      expect(p90).toBeWithin(0.75, 0.99);
    }
  });
});
