import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  CLOCK_LIMITS,
  isClockSuspect,
  readClock,
  startClock,
  type Timekeeper,
} from "../../../src/domain/clock/timekeeper.ts";
import { DAY, HOUR, instant, later, MINUTE, SECOND } from "../../../src/domain/time.ts";
import { MONDAY } from "../../support/scenario.ts";

/** The monotonic clock at the start; it may begin at any value. */
const MONOTONIC_START = 5_000.25;

const atStart = startClock(MONDAY, MONOTONIC_START);
/** After one reading in which both clocks agree: a running server. */
const running = readClock(atStart, MONDAY, MONOTONIC_START);

const HALF_HOUR = 30 * MINUTE;

/** Reads a wall clock that jumps ahead and stays there, `after` so many milliseconds. */
function readAfterJump(keeper: Timekeeper, ahead: number, after: number): Timekeeper {
  const first = readClock(keeper, later(MONDAY, ahead), MONOTONIC_START);
  return readClock(first, later(MONDAY, ahead + after), MONOTONIC_START + after);
}

describe("CLOCK_LIMITS", () => {
  test("has the documented values", () => {
    expect(CLOCK_LIMITS).toEqual({
      maxImmediateJump: 24 * HOUR,
      maxJumpAtStart: 400 * DAY,
      minHoldTime: 5 * MINUTE,
      maxHoldTime: 6 * HOUR,
      behindWarning: 10 * MINUTE,
      behindSuspect: 24 * HOUR,
      markInterval: 10 * MINUTE,
      minRecordedJump: MINUTE,
      timeAnswerLifetime: 7 * DAY,
    });
  });
});

interface Ahead {
  readonly when: string;
  readonly keeper: Timekeeper;
  readonly ahead: number;
  readonly after: number;
  readonly followed: boolean;
}

const AHEAD: readonly Ahead[] = [
  { when: "1 ms ahead while running", keeper: running, ahead: 1, after: 0, followed: true },
  { when: "24 h ahead while running", keeper: running, ahead: DAY, after: 0, followed: true },
  {
    when: "24 h and 1 ms ahead while running",
    keeper: running,
    ahead: DAY + 1,
    after: 0,
    followed: false,
  },
  { when: "24 h ahead at start", keeper: atStart, ahead: DAY, after: 0, followed: true },
  { when: "400 days ahead at start", keeper: atStart, ahead: 400 * DAY, after: 0, followed: true },
  {
    when: "400 days and 1 ms ahead at start",
    keeper: atStart,
    ahead: 400 * DAY + 1,
    after: 0,
    followed: false,
  },
  {
    when: "30 days, held 1 ms less than 5 minutes",
    keeper: running,
    ahead: 30 * DAY,
    after: 5 * MINUTE - 1,
    followed: false,
  },
  {
    when: "30 days, held 5 minutes",
    keeper: running,
    ahead: 30 * DAY,
    after: 5 * MINUTE,
    followed: true,
  },
  {
    when: "400 days, held 5 minutes",
    keeper: running,
    ahead: 400 * DAY,
    after: 5 * MINUTE,
    followed: true,
  },
  {
    when: "400 days and 1 ms, held 5 minutes",
    keeper: running,
    ahead: 400 * DAY + 1,
    after: 5 * MINUTE,
    followed: false,
  },
  {
    when: "10 years, held 1 ms less than 6 h",
    keeper: running,
    ahead: 3650 * DAY,
    after: 6 * HOUR - 1,
    followed: false,
  },
  {
    when: "10 years, held 6 h",
    keeper: running,
    ahead: 3650 * DAY,
    after: 6 * HOUR,
    followed: true,
  },
  {
    when: "10 years at start, held 5 minutes",
    keeper: atStart,
    ahead: 3650 * DAY,
    after: 5 * MINUTE,
    followed: false,
  },
  {
    when: "10 years at start, held 6 h",
    keeper: atStart,
    ahead: 3650 * DAY,
    after: 6 * HOUR,
    followed: true,
  },
];

describe("readClock with a wall clock ahead", () => {
  for (const { when, keeper, ahead, after, followed } of AHEAD) {
    test(`${when}: ${followed ? "follows it" : "does not follow it"}`, () => {
      const read = readAfterJump(keeper, ahead, after);
      expect(read.time).toBe(later(MONDAY, followed ? ahead + after : after));
      expect(read.aheadSince).toBe(followed ? null : MONOTONIC_START);
    });
  }

  test("starts the waiting time again after one reading that is right", () => {
    const far = (keeper: Timekeeper, after: number) =>
      readClock(keeper, later(MONDAY, 30 * DAY + after), MONOTONIC_START + after);
    const right = readClock(
      far(running, 0),
      later(MONDAY, 4 * MINUTE),
      MONOTONIC_START + 4 * MINUTE,
    );
    expect(right).toMatchObject({ time: later(MONDAY, 4 * MINUTE), aheadSince: null });
    const aheadAgain = far(right, 5 * MINUTE);
    expect(aheadAgain.time).toBe(later(MONDAY, 5 * MINUTE));
    expect(far(aheadAgain, 10 * MINUTE - 1).time).toBe(later(MONDAY, 10 * MINUTE - 1));
    expect(far(aheadAgain, 10 * MINUTE).time).toBe(later(MONDAY, 30 * DAY + 10 * MINUTE));
  });

  test("treats only the first reading as a start; a jump right after it must wait", () => {
    const read = readClock(running, later(MONDAY, 2 * DAY), MONOTONIC_START + 1);
    expect(read.time).toBe(later(MONDAY, 1));
  });
});

describe("readClock with steps ahead while running", () => {
  const STEP = 23 * HOUR + 50 * MINUTE;

  /** Sets the wall clock ahead by `by` before each reading. */
  function readSteps(start: Timekeeper, count: number, by: number, apart: number): Timekeeper {
    let keeper = start;
    for (let index = 1; index <= count; index += 1) {
      const at = start.monotonicAt + index * apart;
      keeper = readClock(keeper, later(keeper.time, apart + by), at);
    }
    return keeper;
  }

  test("follows steps immediately up to 24 h in total, not 24 h each", () => {
    const { time, aheadSince } = readSteps(running, 61, STEP, 100);
    expect(time).toBe(later(MONDAY, STEP + 61 * 100));
    expect(aheadSince).not.toBeNull();
  });

  test("follows steps again by as much time as has passed since", () => {
    const once = readClock(running, later(MONDAY, DAY), MONOTONIC_START);
    const almost = readClock(
      once,
      later(MONDAY, 2 * DAY - 1),
      MONOTONIC_START + 12 * HOUR - SECOND,
    );
    expect(almost.time).toBe(later(MONDAY, DAY + 12 * HOUR - SECOND));
    const enough = readClock(once, later(MONDAY, 2 * DAY), MONOTONIC_START + 12 * HOUR);
    expect(enough.time).toBe(later(MONDAY, 2 * DAY));
  });

  test("counts steps of less than a minute like larger ones", () => {
    const { time } = readSteps(running, 3_000, 59 * SECOND, 1);
    expect(time - MONDAY).toBeLessThanOrEqual(DAY + 2 * 3_000);
  });

  test("counts the recorded jumps against the allowance after a restart", () => {
    const jumps = [{ from: MONDAY, to: later(MONDAY, STEP), reason: "step" }] as const;
    const mark = later(MONDAY, STEP + HOUR);
    const restarted = readClock(startClock(mark, MONOTONIC_START, jumps), mark, MONOTONIC_START);
    expect(restarted.stepAllowance).toBe(DAY - STEP + HOUR);
    expect(readClock(restarted, later(mark, 2 * HOUR), MONOTONIC_START).time).toBe(mark);
    expect(readClock(restarted, later(mark, HOUR), MONOTONIC_START).time).toBe(later(mark, HOUR));
  });

  test("doubles the waiting time with each held jump, up to 6 h, until a day has passed", () => {
    let [keeper, at] = [running, MONOTONIC_START];
    const waitMinutes: number[] = [];
    for (let index = 0; index < 9; index += 1) {
      const startedAt = at;
      const target = later(keeper.time, 30 * DAY);
      while (keeper.time < target) {
        at += MINUTE;
        keeper = readClock(keeper, later(target, at - startedAt), at);
      }
      waitMinutes.push((at - startedAt) / MINUTE - 1);
    }
    expect(waitMinutes).toEqual([5, 10, 20, 40, 80, 160, 320, 360, 360]);
    const afterOneDay = readClock(keeper, keeper.time, at + DAY);
    expect(isJumpFollowed(afterOneDay, at + DAY, 5 * MINUTE)).toBe(true);
  });

  function isJumpFollowed(keeper: Timekeeper, at: number, after: number): boolean {
    const wall = later(keeper.time, 30 * DAY);
    const first = readClock(keeper, wall, at);
    return readClock(first, later(wall, after), at + after).time >= wall;
  }

  test("uses up no allowance while the wall clock is right, however often it is read", () => {
    let keeper = readClock(running, later(MONDAY, DAY - MINUTE), MONOTONIC_START);
    const start = keeper.time;
    const before = keeper.stepAllowance;
    for (let read = 1; read <= 300_000; read += 1) {
      const elapsed = read * 0.3;
      keeper = readClock(keeper, instant(Math.floor(start + elapsed)), MONOTONIC_START + elapsed);
    }
    expect(keeper.time).toBe(later(start, 90_000));
    expect(keeper.stepAllowance).toBeGreaterThan(before + 60_000);
  });

  test("records a step of a minute or more as a jump with both instants, not smaller ones", () => {
    const small = readClock(running, later(MONDAY, MINUTE - 1), MONOTONIC_START);
    expect(small.jumps).toEqual([]);
    const large = readClock(running, later(MONDAY, MINUTE), MONOTONIC_START);
    const jump = { from: MONDAY, to: later(MONDAY, MINUTE), reason: "step" } as const;
    expect(large.jumps).toEqual([jump]);
    const start = readClock(atStart, later(MONDAY, 9 * DAY), MONOTONIC_START);
    expect(start.jumps).toMatchObject([{ to: later(MONDAY, 9 * DAY), reason: "start" }]);
    expect(readAfterJump(running, 9 * DAY, 5 * MINUTE).jumps).toMatchObject([
      { from: later(MONDAY, 5 * MINUTE), reason: "held" },
    ]);
  });
});

describe("readClock with a wall clock behind", () => {
  for (const behind of [1, SECOND, HOUR, DAY, 400 * DAY]) {
    test(`goes on by the monotonic clock alone when ${behind} ms behind`, () => {
      for (const keeper of [atStart, running]) {
        const wall = later(MONDAY, -behind);
        const read = readClock(keeper, wall, MONOTONIC_START + HALF_HOUR);
        expect(read).toMatchObject({ time: later(MONDAY, HALF_HOUR), aheadSince: null });
      }
    });
  }

  test("follows the wall clock again once it has caught up", () => {
    const whileBehind = readClock(running, later(MONDAY, -HOUR), MONOTONIC_START + HALF_HOUR);
    const caughtUp = readClock(
      whileBehind,
      later(MONDAY, HALF_HOUR + 2 * SECOND),
      MONOTONIC_START + HALF_HOUR + SECOND,
    );
    expect(caughtUp.time).toBe(later(MONDAY, HALF_HOUR + 2 * SECOND));
  });

  test("reports the clock as suspect from 24 h on, not a millisecond earlier", () => {
    expect([DAY - 1, DAY, 0].map(isClockSuspect)).toEqual([false, true, false]);
  });
});

describe("readClock with fractions of a millisecond", () => {
  test("loses no fraction, however often it is read", () => {
    let keeper = running;
    for (let read = 1; read <= 10_000; read += 1) {
      keeper = readClock(keeper, later(MONDAY, -HOUR), MONOTONIC_START + read * 0.3);
    }
    expect(keeper.time).toBe(later(MONDAY, 3_000));
  });

  test("gives whole milliseconds", () => {
    const keeper = readClock(running, later(MONDAY, -HOUR), MONOTONIC_START + 17.9);
    expect(keeper.time).toBe(later(MONDAY, 17));
  });
});

describe("readClock with any wall clock", () => {
  const step = fc.record({
    elapsed: fc.oneof(
      fc.double({ min: 0, max: 5, noNaN: true }),
      fc.integer({ min: 0, max: 7 * HOUR }),
    ),
    wall: fc.oneof(
      fc.integer({ min: -3 * DAY, max: 3 * DAY }),
      fc.integer({ min: -4000 * DAY, max: 4000 * DAY }),
    ),
  });

  test("never runs back and never stands still", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let keeper = atStart;
        let [at, jumps] = [MONOTONIC_START, 0];
        for (const { elapsed, wall } of steps) {
          at += elapsed;
          const read = readClock(
            keeper,
            instant(Math.floor(MONDAY + at - MONOTONIC_START) + wall),
            at,
          );
          expect(read.time).toBeGreaterThanOrEqual(keeper.time);
          expect(Number.isInteger(read.time)).toBe(true);
          jumps += 1;
          // Since the start, at least what the monotonic clock shows; each jump may round once.
          expect(read.time - MONDAY).toBeGreaterThan(at - MONOTONIC_START - 1 - jumps);
          keeper = read;
        }
      }),
    );
  });

  test("is at most 24 h ahead of the elapsed time within 5 minutes of a jump", () => {
    fc.assert(
      fc.property(fc.integer({ min: -9000, max: 9000 }), fc.nat(5 * MINUTE - 1), (days, heldMs) => {
        const { time } = readAfterJump(running, days * DAY, heldMs);
        expect(time - MONDAY - heldMs).toBeLessThanOrEqual(DAY);
      }),
    );
  });
});
