import { DAY, HOUR, MINUTE } from "../../../src/domain/time.ts";
import { WaitEstimates } from "../../../src/usage/eta/wait-estimates.ts";
import { createRandom } from "../../support/suite-harness.ts";

/** How users come, and how long they stay. All times are in milliseconds from midnight on. */
export interface DemandShape {
  readonly name: string;
  readonly slots: number;
  /** Arrivals per hour at a time of day. */
  readonly arrivalsPerHour: (timeOfDay: number) => number;
  readonly drawLength: (random: () => number, start: number) => number;
}

export interface Coverage {
  readonly waits: number;
  /** The shares of waits that ended before p50 and before p90. */
  readonly p50: number;
  readonly p90: number;
  readonly longestQueue: number;
}

/** Such as the time that people work with an application: many short sessions, a few long ones. */
const drawLogNormal = (random: () => number, median: number, sigma: number): number => {
  const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return median * Math.exp(sigma * normal);
};

export const DEMAND_SHAPES: readonly DemandShape[] = [
  {
    name: "steady",
    slots: 8,
    arrivalsPerHour: () => 8,
    drawLength: (random) => drawLogNormal(random, 40 * MINUTE, 0.8),
  },
  {
    name: "morning rush",
    slots: 12,
    arrivalsPerHour: (time) =>
      time < 8 * HOUR || time > 17 * HOUR ? 0.2 : time < 10 * HOUR ? 14 : 3,
    // Work ends at half past six, whenever it began.
    drawLength: (random, start) => {
      const untilEvening = 18.5 * HOUR - (start % DAY);
      const length = drawLogNormal(random, 100 * MINUTE, 0.7);
      return untilEvening > MINUTE ? Math.min(length, untilEvening) : length;
    },
  },
  {
    name: "long tail",
    slots: 10,
    arrivalsPerHour: () => 13,
    drawLength: (random) => drawLogNormal(random, 8 * MINUTE, 1.8),
  },
];

const MAX_ARRIVALS_PER_HOUR = 20;

interface Waiter {
  readonly joinedAt: number;
  readonly estimate: { readonly p50: number; readonly p90: number } | null;
}

/** Simulates a queue without priorities, and compares every estimate with the wait that followed. */
export function simulateQueue(shape: DemandShape, days: number, seed: number): Coverage {
  const random = createRandom(seed);
  const ended: number[] = [];
  const running: { readonly start: number; readonly end: number }[] = [];
  const queue: Waiter[] = [];
  const figures = { waits: 0, p50: 0, p90: 0, longestQueue: 0 };

  const start = (at: number): void => {
    running.push({ start: at, end: at + shape.drawLength(random, at) });
  };
  const endSessionsUntil = (now: number): void => {
    for (;;) {
      let first = -1;
      for (const [index, { end }] of running.entries()) {
        if (end <= now && (first < 0 || end < (running[first]?.end ?? 0))) first = index;
      }
      const [session] = first < 0 ? [] : running.splice(first, 1);
      if (session === undefined) return;
      ended.push(session.end - session.start);
      const waiter = queue.shift();
      if (waiter === undefined) continue;
      count(waiter, session.end - waiter.joinedAt);
      start(session.end);
    }
  };
  const count = ({ estimate }: Waiter, wait: number): void => {
    if (estimate === null) return;
    figures.waits += 1;
    if (wait <= estimate.p50) figures.p50 += 1;
    if (wait <= estimate.p90) figures.p90 += 1;
  };

  for (let now = 0; now < days * DAY;) {
    now += (-Math.log(1 - random()) * HOUR) / MAX_ARRIVALS_PER_HOUR;
    if (random() > shape.arrivalsPerHour(now % DAY) / MAX_ARRIVALS_PER_HOUR) continue;
    endSessionsUntil(now);
    if (running.length < shape.slots) {
      start(now);
      continue;
    }
    const ages = running.map((session) => now - session.start).toSorted((a, b) => a - b);
    const known = {
      ended: ended.slice(-1_000).toSorted((a, b) => a - b),
      endedCount: ended.length,
      running: ages,
      runningCount: ages.length,
      heldCount: 0,
    };
    const estimate = WaitEstimates.prepare(known)?.estimate(queue.length + 1) ?? null;
    queue.push({ joinedAt: now, estimate });
    figures.longestQueue = Math.max(figures.longestQueue, queue.length);
  }
  const { waits, p50, p90, longestQueue } = figures;
  return { waits, p50: p50 / waits, p90: p90 / waits, longestQueue };
}
