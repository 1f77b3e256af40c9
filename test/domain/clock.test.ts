import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import {
  CLOCK_LIMITS,
  isClockSuspect,
  readClock,
  startClock,
  type Timekeeper,
} from "../../src/domain/timekeeper.ts";
import { DAY, HOUR, instant, later, MINUTE, SECOND } from "../../src/domain/time.ts";
import { MONDAY } from "../support/scenario.ts";

/** By the monotonic clock, which begins anywhere. */
const BEGUN = 5_000.25;

const atStart = startClock(MONDAY, BEGUN);
/** Read once with both clocks agreed: from here on it is a server that runs. */
const running = readClock(atStart, MONDAY, BEGUN);

const HELD = 30 * MINUTE;

/** A wall clock that jumps ahead and stays there: what is said `after` so many milliseconds. */
function jumped(keeper: Timekeeper, ahead: number, after: number): Timekeeper {
  const first = readClock(keeper, later(MONDAY, ahead), BEGUN);
  return readClock(first, later(MONDAY, ahead + after), BEGUN + after);
}

describe("the bounds of the clock", () => {
  test("are those of the design", () => {
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
    when: "24 h and 1 ms while running",
    keeper: running,
    ahead: DAY + 1,
    after: 0,
    followed: false,
  },
  { when: "24 h ahead at start", keeper: atStart, ahead: DAY, after: 0, followed: true },
  { when: "400 days ahead at start", keeper: atStart, ahead: 400 * DAY, after: 0, followed: true },
  {
    when: "400 days and 1 ms at start",
    keeper: atStart,
    ahead: 400 * DAY + 1,
    after: 0,
    followed: false,
  },
  {
    when: "30 days, held a little less than 5 minutes",
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
    when: "10 years, held a little less than 6 h",
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

describe("a wall clock that is ahead", () => {
  for (const { when, keeper, ahead, after, followed } of AHEAD) {
    test(`${when}: is ${followed ? "followed" : "not believed"}`, () => {
      const read = jumped(keeper, ahead, after);
      expect(read.time).toBe(later(MONDAY, followed ? ahead + after : after));
      expect(read.aheadSince).toBe(followed ? null : BEGUN);
    });
  }

  test("has to be ahead all the time: one right reading between, and the wait begins anew", () => {
    const far = (keeper: Timekeeper, after: number) =>
      readClock(keeper, later(MONDAY, 30 * DAY + after), BEGUN + after);
    const right = readClock(far(running, 0), later(MONDAY, 4 * MINUTE), BEGUN + 4 * MINUTE);
    expect(right).toMatchObject({ time: later(MONDAY, 4 * MINUTE), aheadSince: null });
    const again = far(right, 5 * MINUTE);
    expect(again.time).toBe(later(MONDAY, 5 * MINUTE));
    expect(far(again, 10 * MINUTE - 1).time).toBe(later(MONDAY, 10 * MINUTE - 1));
    expect(far(again, 10 * MINUTE).time).toBe(later(MONDAY, 30 * DAY + 10 * MINUTE));
  });

  test("a start is one reading long: a jump right after it has to hold", () => {
    const read = readClock(running, later(MONDAY, 2 * DAY), BEGUN + 1);
    expect(read.time).toBe(later(MONDAY, 1));
  });
});

describe("steps ahead while running", () => {
  const STEP = 23 * HOUR + 50 * MINUTE;

  /** The wall clock is put ahead by `by` before each of the readings. */
  function stepped(start: Timekeeper, count: number, by: number, apart: number): Timekeeper {
    let keeper = start;
    for (let place = 1; place <= count; place += 1) {
      const at = start.monotonicAt + place * apart;
      keeper = readClock(keeper, later(keeper.time, apart + by), at);
    }
    return keeper;
  }

  test("are believed at once up to 24 h in all, and not 24 h each", () => {
    const { time, aheadSince } = stepped(running, 61, STEP, 100);
    expect(time).toBe(later(MONDAY, STEP + 61 * 100));
    expect(aheadSince).not.toBeNull();
  });

  test("are believed again by as much time as has passed since", () => {
    const once = readClock(running, later(MONDAY, DAY), BEGUN);
    const almost = readClock(once, later(MONDAY, 2 * DAY - 1), BEGUN + 12 * HOUR - SECOND);
    expect(almost.time).toBe(later(MONDAY, DAY + 12 * HOUR - SECOND));
    const enough = readClock(once, later(MONDAY, 2 * DAY), BEGUN + 12 * HOUR);
    expect(enough.time).toBe(later(MONDAY, 2 * DAY));
  });

  test("of less than a minute count like others", () => {
    const { time } = stepped(running, 3_000, 59 * SECOND, 1);
    expect(time - MONDAY).toBeLessThanOrEqual(DAY + 2 * 3_000);
  });

  test("are not believed again after a restart: what is on record counts", () => {
    const jumps = [{ from: MONDAY, to: later(MONDAY, STEP), reason: "step" }] as const;
    const mark = later(MONDAY, STEP + HOUR);
    const again = readClock(startClock(mark, BEGUN, jumps), mark, BEGUN);
    expect(again.stepAllowance).toBe(DAY - STEP + HOUR);
    expect(readClock(again, later(mark, 2 * HOUR), BEGUN).time).toBe(mark);
    expect(readClock(again, later(mark, HOUR), BEGUN).time).toBe(later(mark, HOUR));
  });

  test("that were waited for take twice as long each time, up to 6 h, for a day", () => {
    let [keeper, at] = [running, BEGUN];
    const waited: number[] = [];
    for (let place = 0; place < 9; place += 1) {
      const begun = at;
      const target = later(keeper.time, 30 * DAY);
      while (keeper.time < target) {
        at += MINUTE;
        keeper = readClock(keeper, later(target, at - begun), at);
      }
      waited.push((at - begun) / MINUTE - 1);
    }
    expect(waited).toEqual([5, 10, 20, 40, 80, 160, 320, 360, 360]);
    const rested = readClock(keeper, keeper.time, at + DAY);
    expect(jumpedFrom(rested, at + DAY, 5 * MINUTE)).toBe(true);
  });

  function jumpedFrom(keeper: Timekeeper, at: number, after: number): boolean {
    const wall = later(keeper.time, 30 * DAY);
    const first = readClock(keeper, wall, at);
    return readClock(first, later(wall, after), at + after).time >= wall;
  }

  test("use nothing up where the wall clock is right, however often it is read", () => {
    let keeper = readClock(running, later(MONDAY, DAY - MINUTE), BEGUN);
    const start = keeper.time;
    const before = keeper.stepAllowance;
    for (let read = 1; read <= 300_000; read += 1) {
      const passed = read * 0.3;
      keeper = readClock(keeper, instant(Math.floor(start + passed)), BEGUN + passed);
    }
    expect(keeper.time).toBe(later(start, 90_000));
    expect(keeper.stepAllowance).toBeGreaterThan(before + 60_000);
  });

  test("of a minute are jumps with both instants, and smaller ones are not", () => {
    const small = readClock(running, later(MONDAY, MINUTE - 1), BEGUN);
    expect(small.jumps).toEqual([]);
    const large = readClock(running, later(MONDAY, MINUTE), BEGUN);
    const jump = { from: MONDAY, to: later(MONDAY, MINUTE), reason: "step" } as const;
    expect(large.jumps).toEqual([jump]);
    const start = readClock(atStart, later(MONDAY, 9 * DAY), BEGUN);
    expect(start.jumps).toMatchObject([{ to: later(MONDAY, 9 * DAY), reason: "start" }]);
    expect(jumped(running, 9 * DAY, 5 * MINUTE).jumps).toMatchObject([
      { from: later(MONDAY, 5 * MINUTE), reason: "held" },
    ]);
  });
});

describe("a wall clock that is behind", () => {
  for (const behind of [1, SECOND, HOUR, DAY, 400 * DAY]) {
    test(`by ${behind} ms: time goes on by the monotonic clock alone`, () => {
      for (const keeper of [atStart, running]) {
        const wall = later(MONDAY, -behind);
        const read = readClock(keeper, wall, BEGUN + HELD);
        expect(read).toMatchObject({ time: later(MONDAY, HELD), aheadSince: null });
      }
    });
  }

  test("and catches up is followed again", () => {
    const carried = readClock(running, later(MONDAY, -HOUR), BEGUN + HELD);
    const caughtUp = readClock(carried, later(MONDAY, HELD + 2 * SECOND), BEGUN + HELD + SECOND);
    expect(caughtUp.time).toBe(later(MONDAY, HELD + 2 * SECOND));
  });

  test("is suspect from 24 h on, not a millisecond earlier", () => {
    expect([DAY - 1, DAY, 0].map(isClockSuspect)).toEqual([false, true, false]);
  });
});

describe("fractions of a millisecond", () => {
  test("are never lost, however often it is asked", () => {
    let keeper = running;
    for (let read = 1; read <= 10_000; read += 1) {
      keeper = readClock(keeper, later(MONDAY, -HOUR), BEGUN + read * 0.3);
    }
    expect(keeper.time).toBe(later(MONDAY, 3_000));
  });

  test("are not in what it says", () => {
    const keeper = readClock(running, later(MONDAY, -HOUR), BEGUN + 17.9);
    expect(keeper.time).toBe(later(MONDAY, 17));
  });
});

describe("whatever the wall clock does", () => {
  const step = fc.record({
    passed: fc.oneof(
      fc.double({ min: 0, max: 5, noNaN: true }),
      fc.integer({ min: 0, max: 7 * HOUR }),
    ),
    wall: fc.oneof(
      fc.integer({ min: -3 * DAY, max: 3 * DAY }),
      fc.integer({ min: -4000 * DAY, max: 4000 * DAY }),
    ),
  });

  test("time never runs back and never stands still", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), (steps) => {
        let keeper = atStart;
        let [at, jumps] = [BEGUN, 0];
        for (const { passed, wall } of steps) {
          at += passed;
          const read = readClock(keeper, instant(Math.floor(MONDAY + at - BEGUN) + wall), at);
          expect(read.time).toBeGreaterThanOrEqual(keeper.time);
          expect(Number.isInteger(read.time)).toBe(true);
          jumps += 1;
          // Since it began, at least what the monotonic clock says; each jump may round once.
          expect(read.time - MONDAY).toBeGreaterThan(at - BEGUN - 1 - jumps);
          keeper = read;
        }
      }),
    );
  });

  test("and says never more than 24 h more than it should, unless that held for 5 minutes", () => {
    fc.assert(
      fc.property(fc.integer({ min: -9000, max: 9000 }), fc.nat(5 * MINUTE - 1), (days, held) => {
        const { time } = jumped(running, days * DAY, held);
        expect(time - MONDAY - held).toBeLessThanOrEqual(DAY);
      }),
    );
  });
});
