import { personOf } from "../../domain/model/slots/person.ts";
import { HOUR, type Instant } from "../../domain/time.ts";
import { visitParts } from "../clock-periods.ts";
import type { TimeSpan } from "../time-span.ts";
import type { PoolName } from "../../domain/model/slots/pool-name.ts";
import type { EndedEpisode, Session, SiteRecord } from "../site-record.ts";
import { compareTexts } from "../../domain/text/compare-texts.ts";
import { findHourIndex } from "./pool-figures.ts";
import type { LocalHour } from "./local-hours.ts";
import type { Names } from "./names.ts";
import type { BorrowFigures, InSteps, PersonFigures } from "./report.ts";

const PIECE = 500;

export interface PoolPeople {
  readonly people: readonly PersonFigures[];
  /** Sessions with time in the window. */
  readonly sessions: number;
  readonly holders: number;
  readonly peopleByDay: ReadonlyMap<string, number>;
}

/** Who used the slots of one pool, and for how long. */
export function* computePeople(
  { clockPeriods }: Pick<SiteRecord, "clockPeriods">,
  { product, feature }: PoolName,
  sessions: readonly Session[],
  episodes: readonly EndedEpisode[],
  window: TimeSpan,
  hours: readonly LocalHour[],
  names: Names,
): InSteps<PoolPeople> {
  const totals = new Map<
    string,
    { ms: number; sessions: number; borrows: number; episodes: number }
  >();
  const totalOf = (person: string) => {
    const known = totals.get(person);
    if (known !== undefined) return known;
    const total = { ms: 0, sessions: 0, borrows: 0, episodes: 0 };
    totals.set(person, total);
    return total;
  };
  const attendance = new Attendance(hours);
  let [sessionCount, visited] = [0, 0];
  for (const session of sessions) {
    visited += 1;
    if (visited % PIECE === 0) yield;
    const person = personOf(session.user);
    let heldMs = 0;
    visitParts(session, clockPeriods, window, (from, to) => {
      heldMs += to - from;
      attendance.add(person, from, to);
    });
    if (heldMs === 0) continue;
    sessionCount += 1;
    const total = totalOf(person);
    total.ms += heldMs;
    total.sessions += 1;
    total.borrows += countWithin(session.borrows, window);
  }
  const holders = totals.size;
  for (const { user } of episodes) totalOf(personOf(user)).episodes += 1;
  const people = [...totals].map(([person, total]) => ({
    product,
    feature,
    person: names.person(person),
    slotHours: total.ms / HOUR,
    sessions: total.sessions,
    borrows: total.borrows,
    episodes: total.episodes,
  }));
  yield;
  return { people, sessions: sessionCount, holders, peopleByDay: attendance.countByDay() };
}

/** The first and the last day of a part of a session, as indices. */
type DayRange = readonly [first: number, last: number];

/** Counts who had a slot on each day. A session costs the same however many days it lasts. */
class Attendance {
  readonly #hours: readonly LocalHour[];
  readonly #days: readonly string[];
  readonly #dayOfHour: readonly number[];
  readonly #ranges = new Map<string, DayRange[]>();

  constructor(hours: readonly LocalHour[]) {
    this.#hours = hours;
    const indices = new Map<string, number>();
    this.#dayOfHour = hours.map(({ day }) => {
      const index = indices.get(day) ?? indices.size;
      indices.set(day, index);
      return index;
    });
    this.#days = [...indices.keys()];
  }

  add(person: string, from: Instant, to: Instant): void {
    const first = this.#findDay(from);
    const last = this.#findDay(to - 1) ?? this.#days.length - 1;
    if (first === undefined) return;
    const known = this.#ranges.get(person);
    if (known === undefined) this.#ranges.set(person, [[first, last]]);
    else if (known.at(-1)?.[0] !== first || known.at(-1)?.[1] !== last) known.push([first, last]);
  }

  countByDay(): ReadonlyMap<string, number> {
    /** How many more people than on the day before. */
    const changes = new Int32Array(this.#days.length + 1);
    for (const ranges of this.#ranges.values()) {
      let counted = -1;
      for (const [first, last] of ranges.toSorted(([a], [b]) => a - b)) {
        const begin = Math.max(first, counted + 1);
        if (begin > last) continue;
        changes[begin] = (changes[begin] ?? 0) + 1;
        changes[last + 1] = (changes[last + 1] ?? 0) - 1;
        counted = last;
      }
    }
    let count = 0;
    return new Map(this.#days.map((day, index) => [day, (count += changes[index] ?? 0)]));
  }

  #findDay(at: number): number | undefined {
    return this.#dayOfHour[findHourIndex(this.#hours, at)];
  }
}

export const sortPeople = (people: readonly PersonFigures[]): PersonFigures[] =>
  people.toSorted(
    (a, b) =>
      b.slotHours - a.slotHours || b.episodes - a.episodes || compareTexts(a.person, b.person),
  );

const countWithin = (borrows: Session["borrows"], window: TimeSpan): number =>
  borrows.length === 0 ? 0 : borrows.filter(({ from }) => isWithin(from, window)).length;

const isWithin = (at: number, { from, to }: TimeSpan): boolean => at >= from && at < to;

/** Borrows that began in the window, by product. */
export function computeBorrows(
  sessions: readonly Session[],
  window: TimeSpan,
): readonly BorrowFigures[] {
  const products = new Map<
    string,
    { borrows: number; people: Set<string>; ms: number; longest: number }
  >();
  for (const { product, user, borrows, end } of sessions) {
    if (borrows.length === 0) continue;
    for (const [index, { from, until }] of borrows.entries()) {
      if (!isWithin(from, window)) continue;
      let total = products.get(product);
      if (total === undefined)
        products.set(product, (total = { borrows: 0, people: new Set(), ms: 0, longest: 0 }));
      // Borrowing again replaces the end; an early return ends the session.
      const next = borrows[index + 1]?.from ?? Infinity;
      const lasted = Math.max(0, Math.min(until, next, end ?? Infinity) - from);
      total.borrows += 1;
      total.people.add(personOf(user));
      total.ms += lasted;
      total.longest = Math.max(total.longest, lasted);
    }
  }
  return [...products]
    .map(([product, { borrows, people, ms, longest }]) => ({
      product,
      borrows,
      people: people.size,
      borrowedHours: ms / HOUR,
      longestHours: longest / HOUR,
    }))
    .toSorted((a, b) => compareTexts(a.product, b.product));
}
