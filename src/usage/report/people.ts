import { personOf } from "../../domain/model/slots/person.ts";
import { HOUR } from "../../domain/time.ts";
import { clipToClockPeriods } from "../clock-periods.ts";
import { intersect, type TimeSpan } from "../time-span.ts";
import type { PoolName } from "../../domain/model/slots/pool-name.ts";
import type { EndedEpisode, Session, SiteRecord } from "../site-record.ts";
import { compareTexts } from "../../domain/text/compare-texts.ts";
import { findHour } from "./pool-figures.ts";
import type { LocalHour } from "./local-hours.ts";
import type { Names } from "./names.ts";
import type { BorrowFigures, InSteps, PersonFigures } from "./report.ts";

const PIECE = 500;

export interface PoolPeople {
  readonly people: readonly PersonFigures[];
  /** Sessions with time in the window. */
  readonly sessions: number;
  readonly holders: number;
  readonly peopleByDay: ReadonlyMap<string, ReadonlySet<string>>;
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
  const peopleByDay = new Map<string, Set<string>>();
  let [sessionCount, visited] = [0, 0];
  for (const session of sessions) {
    const parts = listParts(session, clockPeriods, window);
    visited += 1;
    if (visited % PIECE === 0) yield;
    if (parts.length === 0) continue;
    sessionCount += 1;
    const person = personOf(session.user);
    const total = totalOf(person);
    total.sessions += 1;
    total.borrows += session.borrows.filter(({ from }) => isWithin(from, window)).length;
    for (const part of parts) {
      total.ms += part.to - part.from;
      addDays(peopleByDay, hours, part, person);
    }
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
  return { people, sessions: sessionCount, holders, peopleByDay };
}

/** The time of a session within a window, in each clock period. */
export const listParts = (
  session: Session,
  clockPeriods: SiteRecord["clockPeriods"],
  window: TimeSpan,
): TimeSpan[] => {
  const parts: TimeSpan[] = [];
  for (const part of clipToClockPeriods(session, clockPeriods)) {
    const partInWindow = intersect(part, window);
    if (partInWindow !== null) parts.push(partInWindow);
  }
  return parts;
};

function addDays(
  peopleByDay: Map<string, Set<string>>,
  hours: readonly LocalHour[],
  part: TimeSpan,
  person: string,
): void {
  let day: string | null = null;
  for (let at = part.from; at < part.to;) {
    const hour = findHour(hours, at);
    if (hour === undefined) return;
    if (hour.day !== day) {
      ({ day } = hour);
      const known = peopleByDay.get(day);
      if (known === undefined) peopleByDay.set(day, new Set([person]));
      else known.add(person);
    }
    at = hour.to;
  }
}

export const sortPeople = (people: readonly PersonFigures[]): PersonFigures[] =>
  people.toSorted(
    (a, b) =>
      b.slotHours - a.slotHours || b.episodes - a.episodes || compareTexts(a.person, b.person),
  );

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
