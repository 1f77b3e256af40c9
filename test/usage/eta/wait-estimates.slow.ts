import { describe, expect, test } from "bun:test";
import { DEMAND_SHAPES, simulateQueue, type DemandShape } from "./simulated-queue.ts";

/** For a longer run: BERTH_ETA_DAYS=1000. */
const DAYS = Number(process.env["BERTH_ETA_DAYS"] ?? 60);

describe("wait estimates", () => {
  test.each(DEMAND_SHAPES.map((shape): [string, DemandShape] => [shape.name, shape]))(
    "hold as often as they say, with demand of the shape %s",
    (name, shape) => {
      const { waits, p50, p90, longestQueue } = simulateQueue(shape, DAYS, 20);
      console.log(
        `${name}: ${waits} waits, queue up to ${longestQueue}: ` +
          `p50 held in ${(100 * p50).toFixed(1)} %, p90 in ${(100 * p90).toFixed(1)} %`,
      );
      expect(waits).toBeGreaterThan(500);
      expect(p50).toBeGreaterThan(0.4);
      expect(p50).toBeLessThan(0.65);
      expect(p90).toBeGreaterThan(0.8);
      expect(p90).toBeLessThan(0.97);
    },
    DAYS * 2_000,
  );
});
