import { describe, expect, test } from "bun:test";
import type { JumpClock, SetClockBack } from "../../../src/domain/clock/clock.ts";
import { totalAt } from "../../../src/domain/consumption/counters.ts";
import { countSlotsInUse } from "../../../src/domain/model/slots/pool.ts";
import type { State } from "../../../src/domain/model/state.ts";
import { DAY, HOUR, later, MINUTE, type Instant } from "../../../src/domain/time.ts";
import { transact } from "../../../src/domain/transact.ts";
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
  noFreeSlot,
} from "../../support/scenario.ts";
import { contextAt } from "../../support/rule-context.ts";
import { dispatch, takePlace } from "../../support/queue-commands.ts";
import { applyRules, group, poolRules, reserve, ruleSet } from "../../support/rule-sets.ts";

const NONCE = "00ff10a5c3";
const PEER = "10.0.0.1";

const jump = (from: Instant, to: Instant): JumpClock => ({
  type: "JumpClock",
  from,
  to,
  reason: "start",
});
const askClock = { type: "AskClock", nonce: NONCE, peer: PEER } as const;
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

const borrowed = given(licenseInstalled(1, FIVE))
  .at(MONDAY)
  .execute(...USERS.map((user) => borrow(user)));

const getLicense = (state: State) => {
  const installed = state.licenses.get(1);
  if (installed === undefined) throw new Error("license 1 is not installed");
  return installed;
};

const endsOf = (state: State): readonly (readonly [string, Instant])[] =>
  [...getLicense(state).pool.inSlotOrder()].map(({ user, end }) => [user, end] as const);

describe("borrows made before an undone clock jump", () => {
  const ahead = borrowed.at(days(30)).execute(jump(minutesLater(5), days(30)));

  test("last as long as they were granted, and no other user gets a slot", () => {
    const corrected = ahead.at(later(days(30), MINUTE)).execute(askClock, setBack(minutesLater(6)));
    expect(endsOf(replayEvents(corrected.events))).toEqual(USERS.map((user) => [user, days(10)]));
    for (const user of OTHERS) {
      corrected.at(minutesLater(7)).when(borrow(user)).refuses(noFreeSlot(5));
    }
    corrected
      .at(days(10))
      .when(borrow("fay"))
      .answers({ slotsInUse: 1, borrowedUntil: days(20) });
  });

  test("are restored when they expired and their slots were lent again meanwhile", () => {
    const lentAgain = ahead.at(days(30)).execute(...OTHERS.map((user) => borrow(user)));
    expect(endsOf(replayEvents(lentAgain.events)).map(([user]) => user)).toEqual(OTHERS);
    const corrected = lentAgain
      .at(later(days(30), MINUTE))
      .execute(askClock, setBack(minutesLater(6)));
    const state = replayEvents(corrected.events);
    const ends = new Map(endsOf(state));
    for (const user of USERS) expect(ends.get(user)).toBe(days(10));
    // Granted while the clock was ahead: their leases are valid until then.
    for (const user of OTHERS) expect(ends.get(user)).toBe(days(40));
    expect(countSlotsInUse(getLicense(state).pool, minutesLater(6))).toBe(10);
    expect(state.lapsedBorrows.size).toBe(0);
  });

  test("are restored to a user who holds a new slot, under that slot", () => {
    const reregistered = ahead.at(days(30)).execute(register("ada"));
    const corrected = reregistered
      .at(later(days(30), MINUTE))
      .execute(askClock, setBack(minutesLater(6)));
    const holder = getLicense(replayEvents(corrected.events)).pool.get("ada");
    expect(holder).toMatchObject({ slot: 6, end: days(10), borrowedUntil: days(10) });
  });

  test("keep their end when a heartbeat came while the clock was ahead", () => {
    const shortJump = borrowed.at(hoursLater(21)).execute(jump(minutesLater(5), hoursLater(21)));
    const heartbeat = shortJump.at(hoursLater(21)).execute(register("ada"));
    const corrected = heartbeat
      .at(later(hoursLater(21), MINUTE))
      .execute(askClock, setBack(minutesLater(6)));
    const holder = getLicense(replayEvents(corrected.events)).pool.get("ada");
    expect(holder).toMatchObject({ end: days(10), borrowedUntil: days(10) });
  });

  test("keep their end when a heartbeat came after that end by the wrong clock", () => {
    const lateJump = borrowed
      .at(later(days(10), -MINUTE))
      .execute(jump(minutesLater(5), later(days(10), -MINUTE)));
    const heartbeat = lateJump
      .at(later(days(10), -1))
      .execute(register("ada"))
      .at(later(days(10), MINUTE))
      .execute(register("ada"));
    expect(getLicense(replayEvents(heartbeat.events)).pool.get("ada")?.borrowedUntil).toBeNull();
    const corrected = heartbeat
      .at(later(days(10), MINUTE))
      .execute(askClock, setBack(minutesLater(7)));
    const holder = getLicense(replayEvents(corrected.events)).pool.get("ada");
    expect(holder).toMatchObject({ slot: 1, end: days(10), borrowedUntil: days(10) });
  });

  test("are not restored when the user released the slot meanwhile", () => {
    const released = ahead.at(days(30)).execute(register("ada"), unregister("ada"));
    const corrected = released
      .at(later(days(30), MINUTE))
      .execute(askClock, setBack(minutesLater(6)));
    expect(getLicense(replayEvents(corrected.events)).pool.get("ada")).toBeUndefined();
  });

  test("are dropped when their license is returned", () => {
    const removed = ahead.at(days(30)).execute(register("fay"), remove(1));
    expect(replayEvents(removed.events).lapsedBorrows.size).toBe(0);
    removed
      .at(days(30))
      .execute(askClock)
      .at(days(30))
      .when(setBack(minutesLater(6)))
      .records({
        type: "ClockSetBack",
      });
  });

  test("are not restored when the clock is set back to after the jump", () => {
    const stillAhead = ahead.at(days(31)).execute(register("fay"));
    expect(replayEvents(stillAhead.events).lapsedBorrows.size).toBe(5);
    const corrected = stillAhead.at(days(31)).execute(askClock, setBack(later(days(30), HOUR)));
    expect(endsOf(replayEvents(corrected.events)).map(([user]) => user)).toEqual(["fay"]);
  });

  test("are forgotten once they have ended even if the whole jump was wrong", () => {
    const stillAhead = ahead.at(days(31)).execute(register("fay"));
    const end = later(days(10), 30 * DAY - 5 * MINUTE);
    const marked = stillAhead.at(later(end, -1)).execute({ type: "MarkClock" });
    expect(replayEvents(marked.events).lapsedBorrows.size).toBe(5);
    expect(
      replayEvents(marked.at(end).execute({ type: "MarkClock" }).events).lapsedBorrows.size,
    ).toBe(0);
  });

  test("are recorded as restored, one event each, after the set-back", () => {
    const lentAgain = ahead.at(days(30)).execute(register("fay"));
    const withQuestion = lentAgain.at(days(30)).execute(askClock);
    withQuestion
      .at(days(30))
      .when(setBack(minutesLater(6)))
      .records(
        { type: "ClockSetBack", from: days(30), to: minutesLater(6) },
        ...USERS.map((user, index) => ({
          type: "SlotRestored" as const,
          user,
          slot: index + 1,
          until: days(10),
          isHeld: false,
        })),
      );
  });
});

describe("while the system clock is behind a recorded jump", () => {
  /** Five borrows of ten days, then a jump of 30 days; the system clock is right again. */
  const ahead = borrowed.at(days(30)).execute(jump(minutesLater(5), days(30)));
  const state = (events = ahead.events): State => replayEvents(events);
  const context = contextAt(days(30), { clockBehind: 30 * DAY - 5 * MINUTE });
  const refused = { ok: false, fault: { code: "clock_suspect", behind: 30 * DAY - 5 * MINUTE } };

  test("slots of borrows that ended by the jump are not lent again", () => {
    const suspectState = state();
    for (const user of OTHERS) {
      expect(transact(suspectState, borrow(user), context)).toMatchObject(refused);
      expect(transact(suspectState, register(user), context)).toMatchObject(refused);
    }
  });

  test("slots of borrows that were recorded as expired are not lent again", () => {
    const expired = ahead.at(days(30)).execute(register("fay"));
    expect(replayEvents(expired.events).lapsedBorrows.size).toBe(5);
    expect(transact(state(expired.events), borrow("gus"), context)).toMatchObject(refused);
  });

  test("users get their own slots back", () => {
    expect(transact(state(), register("ada"), context).ok).toBe(true);
  });

  test("all owners of such borrows get a slot, one after another", () => {
    const suspectState = state();
    for (const user of USERS) {
      expect([user, transact(suspectState, register(user), context).ok]).toEqual([user, true]);
    }
    expect(transact(suspectState, register("fay"), context)).toMatchObject({
      fault: noFreeSlot(5),
    });
  });

  test("the slot of an owner who holds one again is not kept a second time", () => {
    const six = given(licenseInstalled(1, { ...FIVE, slots: 6 }))
      .at(MONDAY)
      .execute(...USERS.map((user) => borrow(user)))
      .at(days(30))
      .execute(jump(minutesLater(5), days(30)));
    const suspectState = state(six.events);
    for (const user of ["ada", "fay"])
      expect(transact(suspectState, register(user), context).ok).toBe(true);
    expect(transact(suspectState, register("gus"), context)).toMatchObject(refused);
  });

  test("the slot that is held for an owner who waits is not kept a second time", () => {
    const two = given(licenseInstalled(1, { slots: 2, borrowHours: 240 }))
      .at(MONDAY)
      .execute(borrow("ada"))
      .at(days(30))
      .execute(jump(minutesLater(5), days(30)), register("bob"), register("cid"), takePlace("ada"));
    const suspectState = state(two.events);
    for (const command of [unregister("bob"), unregister("cid"), dispatch()])
      expect(transact(suspectState, command, context).ok).toBe(true);
    expect(suspectState.queues.get("cad")?.get("ada")?.hold).not.toBeNull();
    expect(transact(suspectState, register("dan"), context).ok).toBe(true);
    expect(transact(suspectState, register("eve"), context)).toMatchObject({
      fault: { code: "floating_not_available" },
    });
  });

  describe("a borrow that ended by the jump", () => {
    const leased = given(licenseInstalled(1, FIVE))
      .at(MONDAY)
      .execute(borrow("ada", null, { nonceDigest: "laptop" }))
      .at(days(30))
      .execute(jump(minutesLater(5), days(30)));
    const elsewhere = {
      ok: false,
      fault: { code: "leased_elsewhere", until: days(10), canReturn: true },
    };
    const onTablet = { nonceDigest: "tablet" };

    test("is leased to no other device, before and after its expiry is recorded", () => {
      const recorded = leased.at(days(30)).execute(register("fay"));
      for (const { events } of [leased, recorded]) {
        const suspectState = state(events);
        for (const command of [register("ada", onTablet), borrow("ada", null, onTablet)])
          expect(transact(suspectState, command, context)).toMatchObject(elsewhere);
      }
    });

    test("can be borrowed again by its device, and by a call without a nonce", () => {
      for (const nonceDigest of ["laptop", null]) {
        const suspectState = state(leased.events);
        expect(transact(suspectState, borrow("ada", null, { nonceDigest }), context).ok).toBe(true);
        expect(transact(suspectState, register("ada", onTablet), context)).toMatchObject({
          fault: { code: "leased_elsewhere" },
        });
      }
    });

    test("is leased to no other device after a second one, without a nonce, ended too", () => {
      const twice = leased
        .at(days(30))
        .execute(borrow("ada", days(31)))
        .at(days(60))
        .execute(jump(days(30), days(60)), register("fay"));
      const behind = contextAt(days(60), { clockBehind: 60 * DAY - 10 * MINUTE });
      for (const command of [register("ada", onTablet), borrow("ada", null, onTablet)])
        expect(transact(state(twice.events), command, behind)).toMatchObject({
          fault: { code: "leased_elsewhere" },
        });
    });

    test("can be leased to another device once its end has passed by the system clock too", () => {
      const at = days(41);
      const ended = contextAt(at, { clockBehind: 30 * DAY - 5 * MINUTE });
      const command = borrow("ada", null, onTablet);
      expect(transact(state(leased.events), command, ended).ok).toBe(true);
    });
  });

  test("slots that are reserved but lent change neither of the two", () => {
    const pool = poolRules("cad", { reservations: [reserve("sim", 1, "lend")] });
    const ruled = ahead.at(days(30)).execute(applyRules(ruleSet([group("sim")], pool)));
    expect(transact(state(ruled.events), register("ada"), context).ok).toBe(true);
    expect(transact(state(ruled.events), register("gus"), context)).toMatchObject(refused);
  });

  test("a slot that ended by both clocks is lent again", () => {
    const ended = given(licenseInstalled(1, { slots: 1, borrowHours: 240 }))
      .at(MONDAY)
      .execute(borrow("ada", hoursLater(1)));
    const lateJump = ended.at(days(30)).execute(jump(hoursLater(2), days(30)));
    const suspectState = replayEvents(lateJump.events);
    const suspectContext = contextAt(days(30), { clockBehind: 30 * DAY - 2 * HOUR });
    expect(transact(suspectState, borrow("bob"), suspectContext).ok).toBe(true);
  });

  test("a difference of less than a minute is ignored", () => {
    const almostRight = contextAt(days(30), { clockBehind: MINUTE - 1 });
    expect(transact(state(), borrow("fay"), almostRight).ok).toBe(true);
  });
});

describe("setting the clock back by less than it jumped", () => {
  const ahead = borrowed.at(days(30)).execute(jump(minutesLater(5), days(30)), register("fay"));
  const partlyCorrected = ahead.at(days(30)).execute(askClock, setBack(days(15)));

  test("leaves the rest of the jump for the next set-back", () => {
    expect(replayEvents(partlyCorrected.events).clockJumps).toMatchObject([
      { from: minutesLater(5), to: later(minutesLater(5), 15 * DAY - 5 * MINUTE) },
    ]);
    const marked = partlyCorrected.at(days(16)).execute({ type: "MarkClock" });
    const corrected = marked.at(days(16)).execute(askClock, setBack(days(1)));
    const ends = new Map(endsOf(replayEvents(corrected.events)));
    for (const user of USERS) expect(ends.get(user)).toBe(days(10));
  });
});

describe("a borrow that was granted while the clock was ahead", () => {
  const ONE = { slots: 1, borrowHours: 240 };
  const granted = given(licenseInstalled(1, ONE))
    .at(days(30))
    .execute(jump(minutesLater(5), days(30)), borrow("ada"));
  const corrected = granted.at(later(days(30), MINUTE)).execute(askClock, setBack(minutesLater(6)));

  test("keeps its slot until the end that its lease has", () => {
    for (const at of [minutesLater(7), days(10), days(30), later(days(40), -1)])
      corrected.at(at).when(register("bob")).refuses(noFreeSlot(1));
    corrected.at(days(40)).when(register("bob")).answers({ slotsInUse: 1 });
  });

  test("gets no earlier end by a borrow without an end", () => {
    corrected
      .at(days(1))
      .when(borrow("ada"))
      .answers({ borrowedUntil: days(40) });
  });

  test("can be returned early, where that is allowed", () => {
    const returned = corrected.at(days(1)).execute(unregister("ada"));
    returned.at(days(1)).when(register("bob")).answers({ slotsInUse: 1 });
  });

  test("is not leased to a second device while the lease of an earlier one is valid", () => {
    const first = given(licenseInstalled(1, ONE))
      .at(MONDAY)
      .execute(borrow("ada", days(1), { nonceDigest: "laptop" }));
    const second = first
      .at(days(30))
      .execute(jump(minutesLater(5), days(30)), borrow("ada", days(31)), askClock)
      .at(days(30))
      .execute(setBack(minutesLater(6)));
    const onTablet = { nonceDigest: "tablet" };
    const fault = { code: "leased_elsewhere", until: days(1), canReturn: true } as const;
    const early = second.at(hoursLater(1));
    early.when(register("ada", onTablet)).refuses(fault);
    early.when(borrow("ada", null, onTablet)).refuses(fault);
    early.when(register("ada", { nonceDigest: "laptop" })).answers({ borrowedUntil: days(31) });
    second
      .at(days(1))
      .when(register("ada", onTablet))
      .answers({ borrowedUntil: days(31) });
  });

  test("is restored if it ended by the wrong clock before the set-back", () => {
    const ended = granted.at(days(41)).execute(register("bob"), unregister("bob"));
    const restored = ended.at(days(41)).execute(askClock, setBack(days(11)));
    restored.at(days(12)).when(register("bob")).refuses(noFreeSlot(1));
  });

  test("is not restored if it was returned before the set-back", () => {
    const returned = granted.at(days(31)).execute(unregister("ada"));
    const later = returned.at(days(31)).execute(askClock, setBack(days(1)));
    later.at(days(2)).when(register("bob")).answers({ slotsInUse: 1 });
  });
});

describe("slots granted between two jumps", () => {
  // The clock is right for five minutes, then 30 days ahead, then 60 days.
  const first = given(licenseInstalled(1, FIVE))
    .at(days(30))
    .execute(jump(minutesLater(5), days(30)), borrow("ada"), register("bob"));
  const second = first.at(days(60)).execute(jump(later(days(30), MINUTE), days(60)), borrow("cid"));
  const corrected = second.at(later(days(60), MINUTE)).execute(askClock, setBack(minutesLater(7)));

  test("stay until the end of their borrows, those that ended meanwhile too", () => {
    const ends = new Map(endsOf(replayEvents(corrected.events)));
    expect(ends.get("ada")).toBe(days(40));
    expect(ends.get("cid")).toBe(days(70));
    // A registration that ended meanwhile stays ended: its application registers again.
    expect(ends.get("bob")).toBeUndefined();
  });

  test("move, if they are not borrowed, by as much as the clock was ahead at the grant", () => {
    const registered = first.at(later(days(30), MINUTE)).execute(register("dan"));
    const setBackSoon = registered
      .at(later(days(30), 2 * MINUTE))
      .execute(askClock, setBack(minutesLater(7)));
    const ends = new Map(endsOf(replayEvents(setBackSoon.events)));
    expect([ends.get("bob"), ends.get("dan")]).toEqual([minutesLater(35), minutesLater(36)]);
  });
});

describe("a jump before the time that the clock is set back to", () => {
  test("is not undone", () => {
    const stillAhead = given(licenseInstalled(1, FIVE))
      .at(days(30))
      .execute(jump(minutesLater(5), days(30)), borrow("ada"))
      .at(days(90))
      .execute(jump(days(31), days(90)), borrow("bob"));
    const corrected = stillAhead.at(days(90)).execute(askClock, setBack(days(31)));
    const state = replayEvents(corrected.events);
    expect(new Map(endsOf(state))).toEqual(
      new Map([
        ["ada", days(40)],
        ["bob", days(100)],
      ]),
    );
    expect(state.clockJumps.map(({ to }) => to)).toEqual([days(30)]);
  });
});

describe("a feature slot after an undone clock jump", () => {
  const view = featureTerms("view", { floating: { slots: 1, timeoutMinutes: 60 * 24 * 3 } });

  test("keeps its end if taken before the jump, and moves if taken after it", () => {
    const terms = { slots: 5, timeoutMinutes: 60 * 24 * 9, features: [view] };
    const registered = given(licenseInstalled(1, terms))
      .at(MONDAY)
      .execute(register("ada"), registerFeature("ada", "view"));
    const ahead = registered.at(days(2)).execute(jump(minutesLater(5), days(2)));
    const corrected = ahead.at(days(2)).execute(askClock, setBack(minutesLater(5)));
    const pool = (events: typeof corrected) =>
      getLicense(replayEvents(events.events)).features.get("view")?.pool.get("ada");
    expect(pool(corrected)?.end).toBe(days(3));
    const heartbeat = ahead
      .at(days(2))
      .execute(registerFeature("ada", "view"), askClock, setBack(minutesLater(5)));
    expect(pool(heartbeat)?.end).toBe(later(minutesLater(5), 3 * DAY));
  });
});

describe("monthly totals after an undone clock jump", () => {
  const terms = {
    consumption: consumptionTerms({ max: 100, period: "monthly" }),
    features: [
      featureTerms("plot", { consumption: consumptionTerms({ max: 100, period: "monthly" }) }),
    ],
  } as const;
  const consumed = given(licenseInstalled(1, terms))
    .at(MONDAY)
    .execute(consume(20), consumeFeature("plot", 5));
  const ahead = consumed.at(days(30)).execute(jump(minutesLater(5), days(30)));
  const april = utc("2026-04-01T00:00:00Z");
  const totals = (state: State) => {
    const { counter, features } = getLicense(state);
    const plot = features.get("plot")?.counter;
    return [
      totalAt(counter, minutesLater(6)),
      plot && totalAt(plot, minutesLater(6)),
      counter.resetAt,
    ];
  };

  test("are unchanged when nothing was counted meanwhile", () => {
    const corrected = ahead.at(days(30)).execute(askClock, setBack(minutesLater(6)));
    expect(totals(replayEvents(corrected.events))).toEqual([20, 5, april]);
  });

  test("include what was counted meanwhile, over every reset", () => {
    const countedAhead = ahead.at(days(30)).execute(consume(7), consumeFeature("plot", 1));
    const countedMore = countedAhead.at(days(62)).execute(jump(days(31), days(62)), consume(3));
    expect(getLicense(replayEvents(countedMore.events)).counter.total).toBe(3);
    const corrected = countedMore.at(days(62)).execute(askClock, setBack(minutesLater(6)));
    expect(totals(replayEvents(corrected.events))).toEqual([30, 6, april]);
  });

  test("start at zero when their period has ended by the right time too", () => {
    const lateJump = ahead.at(days(62)).execute(jump(days(30), days(62)), consume(3));
    const corrected = lateJump.at(days(62)).execute(askClock, setBack(days(31)));
    const { counter } = getLicense(replayEvents(corrected.events));
    expect([counter.total, counter.resetAt]).toEqual([3, utc("2026-05-01T00:00:00Z")]);
  });
});

test("the state keeps the newest 64 clock jumps; older ones can no longer be undone", () => {
  let history = given(licenseInstalled(1, FIVE)).at(MONDAY).execute(borrow("ada"));
  for (let index = 1; index <= 70; index += 1) {
    history = history
      .at(hoursLater(index))
      .execute(jump(later(hoursLater(index), -30 * MINUTE), hoursLater(index)));
  }
  const { clockJumps } = replayEvents(history.events);
  expect([clockJumps.length, clockJumps[0]?.to]).toEqual([64, hoursLater(7)]);
});
