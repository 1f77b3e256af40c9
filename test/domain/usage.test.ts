import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import type { Event } from "../../src/domain/event.ts";
import { evolve } from "../../src/domain/evolve.ts";
import type { State } from "../../src/domain/state.ts";
import { DAY, HOUR, instant, later, MINUTE, type Instant } from "../../src/domain/time.ts";
import { UsageBackfill } from "../../src/domain/usage-backfill.ts";
import { USAGE_RANGES, Usage, type UsageRange, type UsageView } from "../../src/domain/usage.ts";
import { makeNewSite } from "../support/new-site.ts";
import {
  hoursLater,
  licenseInstalled,
  minutesLater,
  MONDAY,
  slotTaken,
} from "../support/scenario.ts";
import { runSequence, commandSequence, type CommandSequence } from "./command-sequences.ts";

interface Line {
  readonly at: Instant;
  readonly events: readonly Event[];
}

/** Somebody held a slot of a license, from then until before then. */
interface HoldPeriod {
  readonly license: number;
  readonly user: string;
  readonly from: number;
  to: number;
}

const NAMES = Object.keys(USAGE_RANGES) as UsageRange[];

function lived(told: CommandSequence): { readonly lines: Line[]; readonly state: State } {
  const lines: Line[] = [];
  let state = makeNewSite();
  for (const step of runSequence(told)) {
    const done = step.run();
    if (done.ok) lines.push(...done.value.journalLines.map((events) => ({ at: step.at, events })));
    state = step.state;
  }
  return { lines, state };
}

function lookedBack(lines: readonly Line[], state: State, now: Instant): [Usage, Instant] {
  const usage = new Usage();
  usage.sample(state, now);
  const past = new UsageBackfill(usage, state, now);
  for (const { at, events } of lines.toReversed()) if (!past.applyLine(at, events, true)) break;
  return [usage, past.finish()];
}

/** As slow and as plain as it can be: everybody who held a slot, and when. */
function holdings(lines: readonly Line[], state: State): HoldPeriod[] {
  const all: HoldPeriod[] = [];
  for (const event of lines.flatMap(({ events }) => events)) {
    const open = (user: string | null) => (one: HoldPeriod) =>
      one.to === Infinity &&
      "license" in event &&
      one.license === event.license &&
      (user === null || one.user === user);
    if (event.type === "SlotTaken") {
      all.push({ license: event.license, user: event.user, from: event.at, to: Infinity });
    } else if (event.type === "SlotReleased" || event.type === "SlotExpired") {
      for (const one of all.filter(open(event.user))) one.to = event.at;
    } else if (event.type === "LicenseRemoved") {
      for (const one of all.filter(open(null))) one.to = event.at;
    }
  }
  for (const one of all.filter(({ to }) => to === Infinity)) {
    one.to = state.licenses.get(one.license)?.pool.get(one.user)?.end ?? 0;
  }
  return all;
}

function peakOf(all: readonly HoldPeriod[], from: number, to: number, now: number): number {
  const near = all.filter((one) => one.from < to && one.to > from);
  const moments = [from, now, ...near.map((one) => one.from)].filter((t) => t >= from && t < to);
  const at = (t: number): number => near.filter((one) => one.from <= t && t < one.to).length;
  return Math.max(0, ...moments.filter((t) => t <= now).map(at));
}

/** Every step of a view against the plain count. */
function judge(
  view: UsageView,
  span: UsageRange,
  all: readonly HoldPeriod[],
  known: number,
  now: number,
) {
  const { step, steps } = USAGE_RANGES[span];
  expect(view.to - view.from).toBe(step * steps);
  expect(view.from <= now && now < view.to).toBe(true);
  for (const { id, inUse } of view.licenses) {
    const own = all.filter(({ license }) => license === id);
    // What cannot be known comes first, and after it everything is.
    const clear = inUse.filter((count) => count === null).length;
    const plain = inUse.map((count, place) => {
      const from = view.from + place * step;
      if (place < clear || from + step <= known) return null;
      // The first may be known in part: the plain count knows more of it.
      return place === clear ? count : peakOf(own, from, from + step, now);
    });
    expect([span, id, inUse]).toEqual([span, id, plain]);
  }
}

const isRemoval = ({ events }: Line): boolean =>
  events.some(({ type }) => type === "LicenseRemoved");

describe("what the record tells", () => {
  const waited = fc.constantFrom(0, 1, 5 * MINUTE, 3 * HOUR, 2 * DAY, 29 * DAY);

  test("is what somebody would have counted who watched all the time", () => {
    fc.assert(
      fc.property(commandSequence, waited, (told, wait) => {
        const { lines, state } = lived(told);
        const now = later(lines.at(-1)?.at ?? MONDAY, wait);
        const [usage, known] = lookedBack(lines, state, now);
        const all = holdings(lines, state);
        for (const span of NAMES) judge(usage.view(state, span, now, known), span, all, known, now);
      }),
      { numRuns: 60 },
    );
  });

  test("is right from the first line that is kept on, whatever was let go of", () => {
    fc.assert(
      fc.property(commandSequence, waited, fc.nat(), (told, wait, cut) => {
        const { lines, state } = lived(told);
        const now = later(lines.at(-1)?.at ?? MONDAY, wait);
        const kept = lines.slice(cut % lines.length);
        const [usage, known] = lookedBack(kept, state, now);
        expect(known).toBe(instant(Math.max(kept[0]?.at ?? 0, now - 30 * DAY)));
        const all = holdings(lines, state);
        for (const span of NAMES) judge(usage.view(state, span, now, known), span, all, known, now);
      }),
      { numRuns: 60 },
    );
  });

  test("of a license that was never given back leaves nothing out", () => {
    fc.assert(
      fc.property(commandSequence, (told) => {
        const { lines, state } = lived(told);
        fc.pre(!lines.some(isRemoval));
        const now = lines.at(-1)?.at ?? MONDAY;
        const [usage, known] = lookedBack(lines, state, now);
        const { from, licenses } = usage.view(state, "month", now, known);
        const { step } = USAGE_RANGES.month;
        const unknown = Math.max(0, Math.floor((known - from) / step));
        for (const { inUse } of licenses) {
          expect(inUse.filter((count) => count === null)).toHaveLength(unknown);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("counts refusals where they were counted, if they are not counted elsewhere", () => {
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
    const past = new UsageBackfill(usage, state, minutesLater(20));
    past.applyLine(minutesLater(9), events.slice(1), false);
    past.applyLine(minutesLater(7), events.slice(0, 1), true);
    past.applyLine(MONDAY, [], true);
    const { refusals } = usage.view(state, "day", minutesLater(20), past.finish());
    expect(refusals.map(({ product, code }) => [product, code])).toEqual([["cad", "full"]]);
    expect(refusals[0]?.counts.slice(-6)).toEqual([null, 0, 3, 0, 0, 0]);
  });

  test("does not believe a clock that was set back", () => {
    const state = site();
    const lines: Line[] = [
      line(minutesLater(0), slotTaken("ada", { slot: 1, end: hoursLater(91) })),
      line(hoursLater(90), slotTaken("bob", { slot: 2, at: hoursLater(90), end: hoursLater(91) })),
      line(hoursLater(90), {
        type: "ClockSetBack",
        at: hoursLater(90),
        from: hoursLater(90),
        to: minutesLater(12),
        peer: "x",
      }),
      line(minutesLater(22), {
        type: "SlotReleased",
        at: minutesLater(22),
        license: 1,
        user: "bob",
        slot: 2,
        by: "user",
        peer: "x",
        early: false,
      }),
    ];
    for (const { events } of lines) for (const event of events) evolve(state, event);
    const [usage, known] = lookedBack(
      [line(MONDAY, licenseInstalled(1)), ...lines],
      state,
      minutesLater(27),
    );
    const [license] = usage.view(state, "day", minutesLater(27), known).licenses;
    expect(license?.inUse.slice(-7)).toEqual([null, 1, 1, 2, 2, 2, 1]);
  });
});

const line = (at: Instant, ...events: Event[]): Line => ({ at, events });

/** License 1, with nobody on it. */
function site(): State {
  const state = makeNewSite();
  evolve(state, licenseInstalled(1));
  return state;
}

describe("what is seen while it happens", () => {
  const seen = (usage: Usage, state: State, now: Instant, known: Instant = MONDAY) =>
    usage.view(state, "day", now, known).licenses[0]?.inUse.slice(-4);

  test("is the most in use within each step", () => {
    const [state, usage] = [site(), new Usage()];
    usage.sample(state, MONDAY);
    evolve(state, slotTaken("ada", { slot: 1, at: minutesLater(1) }));
    evolve(state, slotTaken("bob", { slot: 2, at: minutesLater(1), end: minutesLater(3) }));
    usage.sample(state, minutesLater(2));
    usage.sample(state, minutesLater(4));
    usage.sample(state, minutesLater(6));
    expect(seen(usage, state, minutesLater(6))).toEqual([null, null, 2, 1]);
  });

  test("goes on where nobody looked: who was there left when it was time", () => {
    const [state, usage] = [site(), new Usage()];
    evolve(state, slotTaken("ada", { slot: 1, end: minutesLater(22) }));
    evolve(state, slotTaken("bob", { slot: 2, end: minutesLater(12) }));
    usage.sample(state, MONDAY);
    const { licenses } = usage.view(state, "day", minutesLater(31), MONDAY);
    expect(licenses[0]?.inUse.slice(-8)).toEqual([null, 2, 2, 2, 1, 1, 0, 0]);
  });

  test("is forgotten after thirty days, and not before", () => {
    const [state, usage] = [site(), new Usage()];
    evolve(state, slotTaken("ada", { slot: 1, end: minutesLater(3) }));
    usage.sample(state, MONDAY);
    const month = (now: Instant) => usage.view(state, "month", now, MONDAY).licenses[0]?.inUse;
    expect(month(hoursLater(30 * 24 - 2))?.filter((count) => count === 1)).toHaveLength(1);
    expect(month(hoursLater(30 * 24 + 2))?.filter((count) => count === 1)).toHaveLength(0);
    expect(month(hoursLater(300 * 24))).toEqual(Array(360).fill(0));
  });

  test("of a time that was taken back is forgotten", () => {
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
    const named = { license: 1, user: "ada", slot: 1, peer: "x" };
    evolve(state, {
      type: "SlotReleased",
      at: minutesLater(30),
      ...named,
      by: "user",
      early: false,
    });
    usage.sample(state, minutesLater(30));
    // At two it was seen only by a clock that was wrong.
    const { licenses } = usage.view(state, "day", hoursLater(3), MONDAY);
    expect(licenses[0]?.inUse.slice(-20)).toEqual(Array<number>(20).fill(0));
  });

  test("counts what the counters rose by since the first look", () => {
    const [state, usage] = [site(), new Usage()];
    const refuse = (at: Instant, count: number): void =>
      evolve(state, {
        type: "RefusalsCounted",
        at,
        product: "cad",
        code: "full",
        count,
        users: [],
      });
    refuse(MONDAY, 5);
    usage.sample(state, MONDAY);
    refuse(minutesLater(1), 2);
    usage.sample(state, minutesLater(2));
    refuse(minutesLater(6), 1);
    usage.sample(state, minutesLater(7));
    const { refusals } = usage.view(state, "day", minutesLater(7), MONDAY);
    expect(refusals.map(({ counts }) => counts.slice(-3))).toEqual([[null, 2, 1]]);
  });
});
