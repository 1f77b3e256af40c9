import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Event } from "../../src/domain/event.ts";
import { evolve } from "../../src/domain/evolve/evolve.ts";
import type { State } from "../../src/domain/state.ts";
import { DAY, HOUR, instant, later, MINUTE, type Instant } from "../../src/domain/time.ts";
import { UsageBackfill } from "../../src/usage/usage-backfill.ts";
import { USAGE_RANGES, Usage, type UsageRange, type UsageView } from "../../src/usage/usage.ts";
import { makeNewSite } from "../support/new-site.ts";
import {
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  slotTaken,
} from "../support/scenario.ts";
import { runSequence, commandSequence, type CommandSequence } from "../domain/command-sequences.ts";

interface Line {
  readonly at: Instant;
  readonly events: readonly Event[];
}

/** A user held a slot of a license, from `from` until just before `to`. */
interface HoldPeriod {
  readonly license: number;
  readonly user: string;
  readonly from: number;
  /** The number of the event that took the slot. */
  readonly takenBy: number;
  to: number;
  /** The number of the event that released the slot: events of one instant happen one by one. */
  releasedBy: number;
}

const NAMES = Object.keys(USAGE_RANGES) as UsageRange[];

function runAndCollect(sequence: CommandSequence): {
  readonly lines: Line[];
  readonly state: State;
} {
  const lines: Line[] = [];
  let state: State = makeNewSite();
  for (const step of runSequence(sequence)) {
    const result = step.run();
    if (result.ok)
      lines.push(...result.value.journalLines.map((events) => ({ at: step.at, events })));
    state = step.state;
  }
  return { lines, state };
}

function backfillUsage(lines: readonly Line[], state: State, now: Instant): [Usage, Instant] {
  const usage = new Usage();
  usage.sample(state, now);
  const backfill = new UsageBackfill(usage, state, now);
  for (const { at, events } of lines.toReversed()) if (!backfill.applyLine(at, events, true)) break;
  return [usage, backfill.finish()];
}

/** All periods in which a user held a slot; slow and simple. */
function listHoldPeriods(lines: readonly Line[], state: State): HoldPeriod[] {
  const periods: HoldPeriod[] = [];
  for (const [number, event] of lines.flatMap(({ events }) => events).entries()) {
    const open = (user: string | null) => (period: HoldPeriod) =>
      period.to === Infinity &&
      "license" in event &&
      period.license === event.license &&
      (user === null || period.user === user);
    if (event.type === "SlotTaken") {
      const { license, user, at: from } = event;
      periods.push({ license, user, from, takenBy: number, to: Infinity, releasedBy: -1 });
    } else if (event.type === "SlotReleased" || event.type === "SlotExpired") {
      for (const period of periods.filter(open(event.user))) {
        period.to = event.at;
        if (event.type === "SlotReleased") period.releasedBy = number;
      }
    } else if (event.type === "LicenseRemoved") {
      for (const period of periods.filter(open(null))) period.to = event.at;
    }
  }
  for (const period of periods.filter(({ to }) => to === Infinity)) {
    period.to = state.licenses.get(period.license)?.pool.get(period.user)?.end ?? 0;
  }
  return periods;
}

function peakOf(all: readonly HoldPeriod[], from: number, to: number, now: number): number {
  const countAt = (at: number): number =>
    all.filter((period) => period.from <= at && at < period.to).length;
  /** How many slots were held just after one was taken. */
  const countAfter = ({ from: at, takenBy }: HoldPeriod): number =>
    all.filter(
      (period) =>
        period.takenBy <= takenBy &&
        (at < period.to || (at === period.to && takenBy < period.releasedBy)),
    ).length;
  return Math.max(
    ...[from, now].filter((at) => from <= at && at < to && at <= now).map(countAt),
    ...all.filter((period) => from <= period.from && period.from < to).map(countAfter),
    0,
  );
}

/** Compares every step of a view with the simple count. */
function checkView(
  view: UsageView,
  range: UsageRange,
  all: readonly HoldPeriod[],
  knownSince: number,
  now: number,
) {
  const { step, steps } = USAGE_RANGES[range];
  expect(view.to - view.from).toBe(step * steps);
  expect(view.from <= now && now < view.to).toBe(true);
  for (const { id, inUse } of view.licenses) {
    const ofLicense = all.filter(({ license }) => license === id);
    // Unknown steps come first; every step after them is known.
    const unknownSteps = inUse.filter((count) => count === null).length;
    const expected = inUse.map((count, index) => {
      const from = view.from + index * step;
      if (index < unknownSteps || from + step <= knownSince) return null;
      // The first known step may be known in part only: the simple count sees more of it.
      return index === unknownSteps ? count : peakOf(ofLicense, from, from + step, now);
    });
    expect([range, id, inUse]).toEqual([range, id, expected]);
  }
}

const isRemoval = ({ events }: Line): boolean =>
  events.some(({ type }) => type === "LicenseRemoved");

describe("UsageBackfill", () => {
  const waitTime = fc.constantFrom(0, 1, 5 * MINUTE, 3 * HOUR, 2 * DAY, 29 * DAY);

  test("gives the same usage as counting all the time", () => {
    fc.assert(
      fc.property(commandSequence, waitTime, (sequence, waitMs) => {
        const { lines, state } = runAndCollect(sequence);
        const now = later(lines.at(-1)?.at ?? MONDAY, waitMs);
        const [usage, knownSince] = backfillUsage(lines, state, now);
        const all = listHoldPeriods(lines, state);
        for (const range of NAMES)
          checkView(usage.view(state, range, now, knownSince), range, all, knownSince, now);
      }),
      { numRuns: 60 },
    );
  });

  test("gives the right usage from the oldest kept audit line on", () => {
    fc.assert(
      fc.property(commandSequence, waitTime, fc.nat(), (sequence, waitMs, cut) => {
        const { lines, state } = runAndCollect(sequence);
        const now = later(lines.at(-1)?.at ?? MONDAY, waitMs);
        const keptLines = lines.slice(cut % lines.length);
        const [usage, knownSince] = backfillUsage(keptLines, state, now);
        expect(knownSince).toBe(instant(Math.max(keptLines[0]?.at ?? 0, now - 30 * DAY)));
        const all = listHoldPeriods(lines, state);
        for (const range of NAMES)
          checkView(usage.view(state, range, now, knownSince), range, all, knownSince, now);
      }),
      { numRuns: 60 },
    );
  });

  test("leaves no known step out when no license was removed", () => {
    fc.assert(
      fc.property(commandSequence, (sequence) => {
        const { lines, state } = runAndCollect(sequence);
        fc.pre(!lines.some(isRemoval));
        const now = lines.at(-1)?.at ?? MONDAY;
        const [usage, knownSince] = backfillUsage(lines, state, now);
        const { from, licenses } = usage.view(state, "month", now, knownSince);
        const { step } = USAGE_RANGES.month;
        const unknown = Math.max(0, Math.floor((knownSince - from) / step));
        for (const { inUse } of licenses) {
          expect(inUse.filter((count) => count === null)).toHaveLength(unknown);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("counts refusals at the time of their event, only from lines that count", () => {
    const state = site();
    const events: Event[] = [
      {
        type: "RefusalsCounted",
        at: minutesLater(7),
        product: "cad",
        code: "full",
        count: 3,
        users: [],
      },
      {
        type: "RefusalsCounted",
        at: minutesLater(7),
        product: null,
        code: "none",
        count: 9,
        users: [],
      },
    ];
    const usage = new Usage();
    usage.sample(state, minutesLater(20));
    const backfill = new UsageBackfill(usage, state, minutesLater(20));
    backfill.applyLine(minutesLater(9), events.slice(1), false);
    backfill.applyLine(minutesLater(7), events.slice(0, 1), true);
    backfill.applyLine(MONDAY, [], true);
    const { refusals } = usage.view(state, "day", minutesLater(20), backfill.finish());
    expect(refusals.map(({ product, code }) => [product, code])).toEqual([["cad", "full"]]);
    expect(refusals[0]?.counts.slice(-6)).toEqual([null, 0, 3, 0, 0, 0]);
  });

  test("counts a slot that is released in the millisecond in which another is taken", () => {
    const state = site();
    const lines: Line[] = [
      line(MONDAY, licenseInstalled(1)),
      line(minutesLater(7), slotTaken("ada", { slot: 1, at: minutesLater(7) })),
      line(minutesLater(7), slotTaken("bob", { slot: 2, at: minutesLater(7) })),
      line(minutesLater(7), slotReleased("ada", 1, minutesLater(7))),
    ];
    for (const { events } of lines.slice(1)) for (const event of events) evolve(state, event);
    const [usage, knownSince] = backfillUsage(lines, state, minutesLater(12));
    const [license] = usage.view(state, "day", minutesLater(12), knownSince).licenses;
    expect(license?.inUse.slice(-4)).toEqual([null, 0, 2, 1]);
  });

  test("ignores the times of a clock that was set back", () => {
    const state = site();
    const lines: Line[] = [
      line(minutesLater(0), slotTaken("ada", { slot: 1, end: hoursLater(91) })),
      line(hoursLater(90), slotTaken("bob", { slot: 2, at: hoursLater(90), end: hoursLater(91) })),
      line(hoursLater(90), slotTaken("cid", { slot: 3, at: hoursLater(90), end: hoursLater(91) })),
      line(hoursLater(90), slotReleased("cid", 3, hoursLater(90))),
      line(hoursLater(90), {
        type: "ClockSetBack",
        at: hoursLater(90),
        from: hoursLater(90),
        to: minutesLater(12),
        peer: "x",
      }),
      line(minutesLater(22), slotReleased("bob", 2, minutesLater(22))),
    ];
    for (const { events } of lines) for (const event of events) evolve(state, event);
    const [usage, knownSince] = backfillUsage(
      [line(MONDAY, licenseInstalled(1)), ...lines],
      state,
      minutesLater(27),
    );
    const [license] = usage.view(state, "day", minutesLater(27), knownSince).licenses;
    expect(license?.inUse.slice(-7)).toEqual([null, 1, 1, 2, 2, 2, 1]);
  });
});

const line = (at: Instant, ...events: Event[]): Line => ({ at, events });

/** A user returned a slot of license 1. */
const slotReleased = (user: string, slot: number, at: Instant): Event => ({
  type: "SlotReleased",
  at,
  license: 1,
  user,
  slot,
  by: "user",
  peer: "x",
  early: false,
});

/** License 1, with no slot taken. */
function site(): State {
  const state = makeNewSite();
  evolve(state, licenseInstalled(1));
  return state;
}

describe("Usage.sample", () => {
  const lastSteps = (usage: Usage, state: State, now: Instant, knownSince: Instant = MONDAY) =>
    usage.view(state, "day", now, knownSince).licenses[0]?.inUse.slice(-4);

  test("keeps the most slots in use within each step", () => {
    const [state, usage] = [site(), new Usage()];
    usage.sample(state, MONDAY);
    evolve(state, slotTaken("ada", { slot: 1, at: minutesLater(1) }));
    evolve(state, slotTaken("bob", { slot: 2, at: minutesLater(1), end: minutesLater(3) }));
    usage.sample(state, minutesLater(2));
    usage.sample(state, minutesLater(4));
    usage.sample(state, minutesLater(6));
    expect(lastSteps(usage, state, minutesLater(6))).toEqual([null, null, 2, 1]);
  });

  test("fills the time without samples with the known ends of slots", () => {
    const [state, usage] = [site(), new Usage()];
    evolve(state, slotTaken("ada", { slot: 1, end: minutesLater(22) }));
    evolve(state, slotTaken("bob", { slot: 2, end: minutesLater(12) }));
    usage.sample(state, MONDAY);
    const { licenses } = usage.view(state, "day", minutesLater(31), MONDAY);
    expect(licenses[0]?.inUse.slice(-8)).toEqual([null, 2, 2, 2, 1, 1, 0, 0]);
  });

  test("is forgotten after 30 days, and not before", () => {
    const [state, usage] = [site(), new Usage()];
    evolve(state, slotTaken("ada", { slot: 1, end: minutesLater(3) }));
    usage.sample(state, MONDAY);
    const month = (now: Instant) => usage.view(state, "month", now, MONDAY).licenses[0]?.inUse;
    expect(month(hoursLater(30 * 24 - 2))?.filter((count) => count === 1)).toHaveLength(1);
    expect(month(hoursLater(30 * 24 + 2))?.filter((count) => count === 1)).toHaveLength(0);
    expect(month(hoursLater(300 * 24))).toEqual(Array(360).fill(0));
  });

  test("is forgotten for the time that a set-back of the clock undid", () => {
    const [state, usage] = [site(), new Usage()];
    usage.sample(state, MONDAY);
    evolve(state, slotTaken("ada", { slot: 1, at: hoursLater(2), end: hoursLater(3) }));
    usage.sample(state, hoursLater(2));
    evolve(state, {
      type: "ClockSetBack",
      at: hoursLater(2),
      from: hoursLater(2),
      to: minutesLater(30),
      peer: "x",
    });
    evolve(state, slotReleased("ada", 1, minutesLater(30)));
    usage.sample(state, minutesLater(30));
    // The slot was held only by the time of a wrong clock.
    const { licenses } = usage.view(state, "day", hoursLater(3), MONDAY);
    expect(licenses[0]?.inUse.slice(-20)).toEqual(Array<number>(20).fill(0));
  });

  test("counts the refusals added since the first sample", () => {
    const [state, usage] = [site(), new Usage()];
    const countRefusals = (at: Instant, count: number): void =>
      evolve(state, {
        type: "RefusalsCounted",
        at,
        product: "cad",
        code: "full",
        count,
        users: [],
      });
    countRefusals(MONDAY, 5);
    usage.sample(state, MONDAY);
    countRefusals(minutesLater(1), 2);
    usage.sample(state, minutesLater(2));
    countRefusals(minutesLater(6), 1);
    usage.sample(state, minutesLater(7));
    const { refusals } = usage.view(state, "day", minutesLater(7), MONDAY);
    expect(refusals.map(({ counts }) => counts.slice(-3))).toEqual([[null, 2, 1]]);
  });
});
