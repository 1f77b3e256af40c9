import type { PoolName } from "../../domain/model/slots/pool-name.ts";
import { compareTexts } from "../../domain/text/compare-texts.ts";
import { HOUR, instant, latest, type Instant, DAY } from "../../domain/time.ts";
import { visitParts } from "../clock-periods.ts";
import type { EndedEpisode, Session, SiteRecord } from "../site-record.ts";
import { computeConsumption, listEndingLicenses } from "./consumption-figures.ts";
import {
  computeDenials,
  countEpisodes,
  groupBy,
  groupInSteps,
  makeEpisodeRow,
  measureWaits,
} from "./denials.ts";
import { listLocalHours, type LocalHour } from "./local-hours.ts";
import type { Names } from "./names.ts";
import { computeBorrows, computePeople, sortPeople } from "./people.ts";
import { computePoolLevels, findHour, type DayLevels } from "./pool-figures.ts";
import {
  visitInSteps,
  type DayFigures,
  type InSteps,
  type PersonFigures,
  type PoolFigures,
  type PresentState,
  type Report,
  type ReportRequest,
  type SessionRow,
  type Holder,
  type IdleHolder,
} from "./report.ts";

/** Every figure of a report, from one record: so that its tables cannot disagree. */
export function* buildReport(
  record: SiteRecord,
  { holders, openEpisodes }: PresentState,
  request: ReportRequest,
  names: Names,
): InSteps<Report> {
  const isWanted = ({ product, feature }: PoolName): boolean =>
    (request.product === null || request.product === product) &&
    (request.feature === null || request.feature === feature);
  // Nothing is known of the time after the record: it is not observed, and counts for no mean.
  const window = { from: latest(request.from, record.from), to: request.to };
  const isInWindow = (at: Instant): boolean => at >= window.from && at < window.to;
  const hours = listLocalHours(
    { from: window.from, to: instant(Math.min(window.to, findEnd(record))) },
    request.timeZone,
  );
  yield;
  const sessions: Session[] = [];
  yield* visitInSteps(record.sessions, (session) => {
    if (isWanted(session)) sessions.push(session);
  });
  const episodes = record.episodes
    .filter((episode) => isWanted(episode) && isInWindow(episode.firstAt))
    // Nearly sorted already: an episode is written at its end.
    .toSorted((a, b) => a.firstAt - b.firstAt || a.firstSeq - b.firstSeq);
  const open = openEpisodes.filter((episode) => isWanted(episode) && isInWindow(episode.firstAt));
  const consumptions = record.consumptions.filter(
    (count) => isWanted(count) && isInWindow(count.at),
  );
  yield;
  const sessionsByPool = yield* groupInSteps(sessions, poolKeyText);
  const episodesByPool = yield* groupInSteps(episodes, poolKeyText);
  const consumptionsByPool = yield* groupInSteps(consumptions, poolKeyText);
  const openByPool = groupBy(open, poolKeyText);
  const pools: PoolFigures[] = [];
  const days: DayFigures[] = [];
  const people: PersonFigures[] = [];
  for (const key of listPools(record).filter(isWanted)) {
    const ofPool = {
      sessions: sessionsByPool.get(poolKeyText(key)) ?? [],
      episodes: episodesByPool.get(poolKeyText(key)) ?? [],
    };
    const levels = yield* computePoolLevels(record, key, ofPool.sessions, window, hours);
    const users = yield* computePeople(
      record,
      key,
      ofPool.sessions,
      ofPool.episodes,
      window,
      hours,
      names,
    );
    pools.push({
      ...key,
      ...levels.figures,
      sessions: users.sessions,
      people: users.holders,
      episodes: ofPool.episodes.length,
      openEpisodes: openByPool.get(poolKeyText(key))?.length ?? 0,
    });
    people.push(...users.people);
    const episodesByDay = groupBy(ofPool.episodes, ({ firstAt }) => dayOf(hours, firstAt));
    const consumptionByDay = groupBy(consumptionsByPool.get(poolKeyText(key)) ?? [], ({ at }) =>
      dayOf(hours, at),
    );
    for (const day of listDays(hours)) {
      const counted = consumptionByDay.get(day) ?? [];
      days.push({
        ...makeDayLevels(levels.days.get(day)),
        ...makeDayEpisodes(episodesByDay.get(day) ?? []),
        ...key,
        day,
        people: users.peopleByDay.get(day) ?? 0,
        consumption: counted.reduce((sum, { count }) => sum + count, 0),
      });
    }
    yield;
  }
  const denials = yield* computeDenials(episodes, open.length, names);
  const idle = findIdleHolders(
    record,
    holders.filter((holder) => isWanted({ ...holder, feature: request.feature })),
    request.idleDays,
    names,
  );
  yield;
  const inWindow: Session[] = [];
  yield* visitInSteps(request.hasSessions ? sessions : [], (session) => {
    let isInWindow = false;
    visitParts(session, record.clockPeriods, window, () => (isInWindow = true));
    if (isInWindow) inWindow.push(session);
  });
  const { rows } = request;
  const sortedPeople = sortPeople(people);
  return {
    from: request.from,
    to: request.to,
    knownFrom: record.from,
    asOf: record.to,
    missing: record.missing.filter(({ from, to }) => to >= window.from && from < window.to),
    request,
    pools,
    days: days.slice(0, Math.max(rows, MIN_DAYS)),
    denials: { ...denials, deniedPeople: denials.deniedPeople.slice(0, rows) },
    episodes: episodes.slice(-rows).map((episode) => makeEpisodeRow(episode, names)),
    people: sortedPeople.slice(0, rows),
    borrows: computeBorrows(sessions, window),
    idle: idle.slice(0, rows),
    consumption: computeConsumption(consumptions, record.terms),
    ending: listEndingLicenses(record.terms).filter(isWanted),
    sessions: inWindow.slice(-rows).map((session) => makeSessionRow(session, names)),
    omitted: {
      days: Math.max(0, days.length - Math.max(rows, MIN_DAYS)),
      deniedPeople: Math.max(0, denials.deniedPeople.length - rows),
      episodes: Math.max(0, episodes.length - rows),
      people: Math.max(0, sortedPeople.length - rows),
      idle: Math.max(0, idle.length - rows),
      sessions: Math.max(0, inWindow.length - rows),
    },
  };
}

/** The rows of days are short, and a chart needs all of them. */
const MIN_DAYS = 20_000;

/** Names have no control characters. */
const poolKeyText = ({ product, feature }: PoolName): string =>
  feature === null ? product : `${product}\n${feature}`;

const findEnd = ({ clockPeriods }: SiteRecord): number =>
  Math.max(...clockPeriods.map(({ to }) => to));

/** Every pool that was licensed, used or wanted. */
export function listPools({ terms, sessions, episodes, consumptions }: SiteRecord): PoolName[] {
  const pools = new Map<string, PoolName>();
  const add = ({ product, feature }: PoolName): void => {
    const key = poolKeyText({ product, feature });
    if (!pools.has(key)) pools.set(key, { product, feature });
  };
  for (const { terms: current } of terms) {
    add({ product: current.product, feature: null });
    for (const { code, floating } of current.features)
      if (floating !== null) add({ product: current.product, feature: code });
  }
  for (const session of sessions) add(session);
  for (const episode of episodes) add(episode);
  for (const count of consumptions) add(count);
  return [...pools.values()].toSorted(
    (a, b) => compareTexts(a.product, b.product) || compareTexts(a.feature ?? "", b.feature ?? ""),
  );
}

const dayOf = (hours: readonly LocalHour[], at: Instant): string => findHour(hours, at)?.day ?? "";

const listDays = (hours: readonly LocalHour[]): readonly string[] => [
  ...new Set(hours.map(({ day }) => day)),
];

const makeDayLevels = (
  levels: DayLevels = { limit: 0, peak: 0, slotMs: 0, atLimitMs: 0 },
): Pick<DayFigures, "limit" | "peak" | "slotHours" | "hoursAtLimit"> => ({
  limit: levels.limit,
  peak: levels.peak,
  slotHours: levels.slotMs / HOUR,
  hoursAtLimit: levels.atLimitMs / HOUR,
});

const makeDayEpisodes = (episodes: readonly EndedEpisode[]) => ({
  ...countEpisodes(episodes),
  waits: measureWaits(episodes),
});

const makeSessionRow = (session: Session, names: Names): SessionRow => ({
  product: session.product,
  feature: session.feature,
  license: session.license,
  slot: session.slot,
  person: names.person(session.user),
  user: names.user(session.user),
  host: names.host(session.host),
  peer: names.address(session.peer),
  start: session.start,
  end: session.end,
  endedBy: session.endedBy,
});

/**
 * Who holds a slot now without using it: only heartbeats, no consumption and no feature taken for
 * so many days. A borrowed slot counts too: it is held, although it sends no heartbeats.
 */
function findIdleHolders(
  { to: now, sessions, consumptions }: Pick<SiteRecord, "to" | "sessions" | "consumptions">,
  holders: readonly Holder[],
  idleDays: number,
  names: Names,
): IdleHolder[] {
  const candidates = holders.filter(({ registeredAt }) => now - registeredAt >= idleDays * DAY);
  if (candidates.length === 0) return [];
  const lastUses = new Map<string, Instant>();
  const use = (license: number, user: string, at: Instant): void => {
    const key = keyOf(license, user);
    lastUses.set(key, latest(lastUses.get(key) ?? at, at));
  };
  for (const { license, user, at } of consumptions) if (user !== null) use(license, user, at);
  for (const { license, user, feature, start, end } of sessions) {
    // A feature that is held was taken at least at its start, and is in use.
    if (feature !== null && (start !== null || end === null)) use(license, user, end ?? now);
  }
  return candidates
    .flatMap((holder): IdleHolder[] => {
      const { license, user, product, host, peer, registeredAt, lastSeenAt } = holder;
      const lastUse = lastUses.get(keyOf(license, user)) ?? null;
      const lastUseAt = lastUse !== null && lastUse >= registeredAt ? lastUse : null;
      const unusedSince = lastUseAt ?? registeredAt;
      const unusedDays = Math.floor((now - unusedSince) / DAY);
      if (unusedDays < idleDays) return [];
      return [
        {
          person: names.person(user),
          user: names.user(user),
          product,
          license,
          host: names.host(host),
          peer: names.address(peer),
          heldSince: registeredAt,
          lastSeenAt,
          lastUseAt,
          idleDays: unusedDays,
          borrowedUntil: holder.borrowedUntil,
        },
      ];
    })
    .toSorted((a, b) => b.idleDays - a.idleDays || a.heldSince - b.heldSince);
}

const keyOf = (license: number, user: string): string => `${license} ${user}`;
