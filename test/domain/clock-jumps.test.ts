import { describe, expect, test } from "bun:test";
import type { JumpClock, SetClockBack } from "../../src/domain/command.ts";
import { totalAt } from "../../src/domain/consumption.ts";
import { countSlotsInUse } from "../../src/domain/slots.ts";
import type { State } from "../../src/domain/state.ts";
import { DAY, HOUR, later, MINUTE, type Instant } from "../../src/domain/time.ts";
import { transact } from "../../src/domain/transact.ts";
import {
  borrow,
  consume,
  consumeFeature,
  consumptionTerms,
  featureTerms,
  given,
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  register,
  registerFeature,
  remove,
  replayEvents,
  unregister,
  utc,
} from "../support/scenario.ts";

const NONCE = "00ff10a5c3";
const PEER = "10.0.0.1";

const jump = (from: Instant, to: Instant): JumpClock => ({
  type: "JumpClock",
  from,
  to,
  reason: "start",
});
const ask = { type: "AskClock", nonce: NONCE, peer: PEER } as const;
const setBack = (to: Instant): SetClockBack => ({
  type: "SetClockBack",
  to,
  nonce: NONCE,
  peer: PEER,
});
const days = (count: number): Instant => later(MONDAY, count * DAY);

/** Five slots that can be borrowed for ten days, with nothing else in the terms that has a date. */
const FIVE = { slots: 5, borrowHours: 240 };
const USERS = ["ada", "bob", "cid", "dan", "eve"];
const OTHERS = ["fay", "gus", "hal", "ivy", "joe"];

const lent = given(licenseInstalled(1, FIVE))
  .at(MONDAY)
  .execute(...USERS.map((user) => borrow(user)));

const license = (state: State) => {
  const found = state.licenses.get(1);
  if (found === undefined) throw new Error("license 1 is not installed");
  return found;
};

const endsOf = (state: State): readonly (readonly [string, Instant])[] =>
  [...license(state).pool.inSlotOrder()].map(({ user, end }) => [user, end] as const);

describe("borrows granted under the right clock, after a jump of 30 days that is set back", () => {
  const wild = lent.at(days(30)).execute(jump(minutesLater(5), days(30)));

  test("are held as long as they were granted, and nobody else gets a slot", () => {
    const right = wild.at(later(days(30), MINUTE)).execute(ask, setBack(minutesLater(6)));
    expect(endsOf(replayEvents(right.events))).toEqual(USERS.map((user) => [user, days(10)]));
    for (const user of OTHERS) {
      right
        .at(minutesLater(7))
        .when(borrow(user))
        .refuses({ code: "floating_not_available", slots: 5, nextFree: days(10) });
    }
    right
      .at(days(10))
      .when(borrow("fay"))
      .answers({ slotsInUse: 1, borrowedUntil: days(20) });
  });

  test("come back when they were written off and lent again in the wild time", () => {
    const others = wild.at(days(30)).execute(...OTHERS.map((user) => borrow(user)));
    expect(endsOf(replayEvents(others.events)).map(([user]) => user)).toEqual(OTHERS);
    const right = others.at(later(days(30), MINUTE)).execute(ask, setBack(minutesLater(6)));
    const state = replayEvents(right.events);
    const ends = new Map(endsOf(state));
    for (const user of USERS) expect(ends.get(user)).toBe(days(10));
    // Granted in the wild time for ten days: for ten days of the right time then.
    for (const user of OTHERS) expect(ends.get(user)).toBe(later(minutesLater(5), 10 * DAY));
    expect(countSlotsInUse(license(state).pool, minutesLater(6))).toBe(10);
    expect(state.lapsedBorrows.size).toBe(0);
  });

  test("come back to a user who holds a slot again, under that slot", () => {
    const again = wild.at(days(30)).execute(register("ada"));
    const right = again.at(later(days(30), MINUTE)).execute(ask, setBack(minutesLater(6)));
    const held = license(replayEvents(right.events)).pool.get("ada");
    expect(held).toMatchObject({ slot: 6, end: days(10), borrowedUntil: days(10) });
  });

  test("keep their end where a heartbeat came in the wild time", () => {
    const short = lent.at(hoursLater(21)).execute(jump(minutesLater(5), hoursLater(21)));
    const beat = short.at(hoursLater(21)).execute(register("ada"));
    const right = beat.at(later(hoursLater(21), MINUTE)).execute(ask, setBack(minutesLater(6)));
    const held = license(replayEvents(right.events)).pool.get("ada");
    expect(held).toMatchObject({ end: days(10), borrowedUntil: days(10) });
  });

  test("keep their end where a heartbeat came after it, by the wild time", () => {
    const late = lent
      .at(later(days(10), -MINUTE))
      .execute(jump(minutesLater(5), later(days(10), -MINUTE)));
    const beat = late
      .at(later(days(10), -1))
      .execute(register("ada"))
      .at(later(days(10), MINUTE))
      .execute(register("ada"));
    expect(license(replayEvents(beat.events)).pool.get("ada")?.borrowedUntil).toBeNull();
    const right = beat.at(later(days(10), MINUTE)).execute(ask, setBack(minutesLater(7)));
    const held = license(replayEvents(right.events)).pool.get("ada");
    expect(held).toMatchObject({ slot: 1, end: days(10), borrowedUntil: days(10) });
  });

  test("do not come back once they were given back, whatever the clock said", () => {
    const back = wild.at(days(30)).execute(register("ada"), unregister("ada"));
    const right = back.at(later(days(30), MINUTE)).execute(ask, setBack(minutesLater(6)));
    expect(license(replayEvents(right.events)).pool.get("ada")).toBeUndefined();
  });

  test("go with their license when that is given back", () => {
    const gone = wild.at(days(30)).execute(register("fay"), remove(1));
    expect(replayEvents(gone.events).lapsedBorrows.size).toBe(0);
    gone
      .at(days(30))
      .execute(ask)
      .at(days(30))
      .when(setBack(minutesLater(6)))
      .records({
        type: "ClockSetBack",
      });
  });

  test("do not come back when the clock is right and set back a little", () => {
    const off = wild.at(days(31)).execute(register("fay"));
    expect(replayEvents(off.events).lapsedBorrows.size).toBe(5);
    const right = off.at(days(31)).execute(ask, setBack(later(days(30), HOUR)));
    expect(endsOf(replayEvents(right.events)).map(([user]) => user)).toEqual(["fay"]);
  });

  test("are forgotten once they have ended however wrong the clock was", () => {
    const off = wild.at(days(31)).execute(register("fay"));
    const end = later(days(10), 30 * DAY - 5 * MINUTE);
    const kept = off.at(later(end, -1)).execute({ type: "MarkClock" });
    expect(replayEvents(kept.events).lapsedBorrows.size).toBe(5);
    expect(
      replayEvents(kept.at(end).execute({ type: "MarkClock" }).events).lapsedBorrows.size,
    ).toBe(0);
  });

  test("are on record as held again, each one, after the set-back", () => {
    const others = wild.at(days(30)).execute(register("fay"));
    const asked = others.at(days(30)).execute(ask);
    asked
      .at(days(30))
      .when(setBack(minutesLater(6)))
      .records(
        { type: "ClockSetBack", from: days(30), to: minutesLater(6) },
        ...USERS.map((user, place) => ({
          type: "SlotRestored" as const,
          user,
          slot: place + 1,
          until: days(10),
          isHeld: false,
        })),
      );
  });
});

describe("while the system's clock says that a jump was wrong, before time is set back", () => {
  /** Five borrows of ten days; then the clock was 30 days ahead, and the system's is right again. */
  const wild = lent.at(days(30)).execute(jump(minutesLater(5), days(30)));
  const state = (events = wild.events): State => {
    const replayedState = replayEvents(events);
    replayedState.clockBehind = 30 * DAY - 5 * MINUTE;
    return replayedState;
  };
  const refused = { ok: false, fault: { code: "clock_suspect", behind: 30 * DAY - 5 * MINUTE } };

  test("the slots of borrows that ended by the jump are not lent again", () => {
    const fresh = state();
    for (const user of OTHERS) {
      expect(transact(fresh, borrow(user), days(30))).toMatchObject(refused);
      expect(transact(fresh, register(user), days(30))).toMatchObject(refused);
    }
  });

  test("nor those that were written off meanwhile", () => {
    const once = wild.at(days(30)).execute(register("fay"));
    expect(replayEvents(once.events).lapsedBorrows.size).toBe(5);
    expect(transact(state(once.events), borrow("gus"), days(30))).toMatchObject(refused);
  });

  test("their own users get them", () => {
    expect(transact(state(), register("ada"), days(30)).ok).toBe(true);
  });

  test("a slot that ended by both clocks is lent", () => {
    const ended = given(licenseInstalled(1, { slots: 1, borrowHours: 240 }))
      .at(MONDAY)
      .execute(borrow("ada", hoursLater(1)));
    const late = ended.at(days(30)).execute(jump(hoursLater(2), days(30)));
    const fresh = replayEvents(late.events);
    fresh.clockBehind = 30 * DAY - 2 * HOUR;
    expect(transact(fresh, borrow("bob"), days(30)).ok).toBe(true);
  });

  test("a minute's difference is none", () => {
    const fresh = state();
    fresh.clockBehind = MINUTE - 1;
    expect(transact(fresh, borrow("fay"), days(30)).ok).toBe(true);
  });
});

describe("a set-back that takes less back than the clock had gone ahead", () => {
  const wild = lent.at(days(30)).execute(jump(minutesLater(5), days(30)), register("fay"));
  const half = wild.at(days(30)).execute(ask, setBack(days(15)));

  test("leaves the rest to be undone by the next", () => {
    expect(replayEvents(half.events).clockJumps).toMatchObject([
      { from: minutesLater(5), to: later(minutesLater(5), 15 * DAY - 5 * MINUTE) },
    ]);
    const marked = half.at(days(16)).execute({ type: "MarkClock" });
    const right = marked.at(days(16)).execute(ask, setBack(days(1)));
    const ends = new Map(endsOf(replayEvents(right.events)));
    for (const user of USERS) expect(ends.get(user)).toBe(days(10));
  });
});

describe("what was set between two jumps", () => {
  // Right until five minutes past, then 30 days ahead, then 60.
  const first = given(licenseInstalled(1, FIVE))
    .at(days(30))
    .execute(jump(minutesLater(5), days(30)), borrow("ada"), register("bob"));
  const second = first.at(days(60)).execute(jump(later(days(30), MINUTE), days(60)), borrow("cid"));
  const right = second.at(later(days(60), MINUTE)).execute(ask, setBack(minutesLater(7)));

  test("moves by as much as the clock was ahead then, and so do the ended ones", () => {
    const ends = new Map(endsOf(replayEvents(right.events)));
    expect(ends.get("ada")).toBe(later(minutesLater(5), 10 * DAY));
    expect(ends.get("cid")).toBe(later(minutesLater(6), 10 * DAY));
    // A registration that ended meanwhile stays ended: its application registers again.
    expect(ends.get("bob")).toBeUndefined();
  });
});

describe("a jump that was right", () => {
  test("is not undone by a set-back to after it", () => {
    const off = given(licenseInstalled(1, FIVE))
      .at(days(30))
      .execute(jump(minutesLater(5), days(30)), borrow("ada"))
      .at(days(90))
      .execute(jump(days(31), days(90)), borrow("bob"));
    const right = off.at(days(90)).execute(ask, setBack(days(31)));
    const state = replayEvents(right.events);
    expect(new Map(endsOf(state))).toEqual(
      new Map([
        ["ada", days(40)],
        ["bob", days(41)],
      ]),
    );
    expect(state.clockJumps.map(({ to }) => to)).toEqual([days(30)]);
  });
});

describe("a slot of a feature", () => {
  const view = featureTerms("view", { floating: { slots: 1, timeoutMinutes: 60 * 24 * 3 } });

  test("that was taken under the right clock keeps its end, one taken in the wild time moves", () => {
    const terms = { slots: 5, timeoutMinutes: 60 * 24 * 9, features: [view] };
    const held = given(licenseInstalled(1, terms))
      .at(MONDAY)
      .execute(register("ada"), registerFeature("ada", "view"));
    const wild = held.at(days(2)).execute(jump(minutesLater(5), days(2)));
    const kept = wild.at(days(2)).execute(ask, setBack(minutesLater(5)));
    const pool = (events: typeof kept) =>
      license(replayEvents(events.events)).features.get("view")?.pool.get("ada");
    expect(pool(kept)?.end).toBe(days(3));
    const beat = wild
      .at(days(2))
      .execute(registerFeature("ada", "view"), ask, setBack(minutesLater(5)));
    expect(pool(beat)?.end).toBe(later(minutesLater(5), 3 * DAY));
  });
});

describe("totals that reset every month, after a jump into the next month that is set back", () => {
  const terms = {
    consumption: consumptionTerms({ max: 100, period: "monthly" }),
    features: [
      featureTerms("plot", { consumption: consumptionTerms({ max: 100, period: "monthly" }) }),
    ],
  } as const;
  const counted = given(licenseInstalled(1, terms))
    .at(MONDAY)
    .execute(consume(20), consumeFeature("plot", 5));
  const wild = counted.at(days(30)).execute(jump(minutesLater(5), days(30)));
  const april = utc("2026-04-01T00:00:00Z");
  const totals = (state: State) => {
    const { counter, features } = license(state);
    const plot = features.get("plot")?.counter;
    return [
      totalAt(counter, minutesLater(6)),
      plot && totalAt(plot, minutesLater(6)),
      counter.resetAt,
    ];
  };

  test("are as they were when nothing was counted meanwhile", () => {
    const right = wild.at(days(30)).execute(ask, setBack(minutesLater(6)));
    expect(totals(replayEvents(right.events))).toEqual([20, 5, april]);
  });

  test("hold what was counted meanwhile too, over every reset", () => {
    const more = wild.at(days(30)).execute(consume(7), consumeFeature("plot", 1));
    const evenMore = more.at(days(62)).execute(jump(days(31), days(62)), consume(3));
    expect(license(replayEvents(evenMore.events)).counter.total).toBe(3);
    const right = evenMore.at(days(62)).execute(ask, setBack(minutesLater(6)));
    expect(totals(replayEvents(right.events))).toEqual([30, 6, april]);
  });

  test("begin anew when their period has ended by the right time too", () => {
    const late = wild.at(days(62)).execute(jump(days(30), days(62)), consume(3));
    const right = late.at(days(62)).execute(ask, setBack(days(31)));
    const { counter } = license(replayEvents(right.events));
    expect([counter.total, counter.resetAt]).toEqual([3, utc("2026-05-01T00:00:00Z")]);
  });
});

test("the jumps that can be undone are bounded, and the oldest count as confirmed", () => {
  let past = given(licenseInstalled(1, FIVE)).at(MONDAY).execute(borrow("ada"));
  for (let place = 1; place <= 70; place += 1) {
    past = past
      .at(hoursLater(place))
      .execute(jump(later(hoursLater(place), -30 * MINUTE), hoursLater(place)));
  }
  const { clockJumps } = replayEvents(past.events);
  expect([clockJumps.length, clockJumps[0]?.to]).toEqual([64, hoursLater(7)]);
});
