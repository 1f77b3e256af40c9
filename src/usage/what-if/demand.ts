import { MINUTE, type Instant } from "../../domain/time.ts";
import { groupBy } from "../report/denials.ts";
import { percentile } from "../report/percentiles.ts";
import type { TimeSpan } from "../time-span.ts";
import type { PoolName } from "../../domain/model/slots/pool-name.ts";
import type { EndedEpisode, Session, SiteRecord } from "../site-record.ts";
import { HELD } from "./replayed-site.ts";
import type { Assumptions, DemandMet } from "./what-if.ts";

/** One need of one user: a session that began, or a denied episode with the session it got. */
export interface Need {
  readonly at: Instant;
  readonly clockPeriod: number;
  readonly user: string;
  readonly peer: string;
  readonly host: string;
  /** How long the slot is used once it is granted. */
  readonly duration: number;
  /** How long the user retries, and how often. */
  readonly patience: number;
  readonly retryInterval: number;
  /** The limit of the server that refused on record; null: none. */
  readonly rule: string | null;
}

export interface Demand {
  readonly needs: readonly Need[];
  /** The sessions that the needs stand for; all others are as recorded. */
  readonly sessions: ReadonlySet<Session>;
  readonly recorded: DemandMet;
  readonly assumptions: Assumptions;
}

const DEFAULT_SESSION = 60 * MINUTE;
const DEFAULT_PATIENCE = 10 * MINUTE;
const DEFAULT_RETRY = MINUTE;
/** More retries of one need than this change an estimate little. */
const MAX_RETRIES = 20;

/** The needs for a pool in a window, each counted once. */
export function collectDemand(record: SiteRecord, key: PoolName, window: TimeSpan): Demand {
  const isOfPool = ({ product, feature }: PoolName): boolean =>
    product === key.product && feature === key.feature;
  const isInWindow = (at: Instant): boolean => at >= window.from && at < window.to;
  const sessions = record.sessions.filter(isOfPool);
  const episodes = record.episodes.filter(
    (episode) => isOfPool(episode) && isInWindow(episode.firstAt),
  );
  const assumptions = makeAssumptions(sessions, episodes);
  const met = linkSessions(sessions, episodes);
  const afterEpisode = new Set(met.values());
  const atOnce = sessions.filter(
    (session) => session.start !== null && isInWindow(session.start) && !afterEpisode.has(session),
  );
  const needs: Need[] = [];
  for (const session of atOnce) {
    if (session.start === null) continue;
    needs.push({
      at: session.start,
      clockPeriod: session.startPeriod,
      user: session.user,
      peer: session.peer,
      host: session.host,
      duration: durationOf(session) ?? HELD,
      patience: assumptions.medianPatience,
      retryInterval: assumptions.retryInterval,
      rule: null,
    });
  }
  for (const episode of episodes) {
    const session = met.get(episode);
    const patience = patienceOf(episode);
    needs.push({
      at: episode.firstAt,
      clockPeriod: episode.clockPeriod,
      user: episode.user,
      peer: episode.peer,
      host: "",
      duration: session === undefined ? assumptions.meanSession : (durationOf(session) ?? HELD),
      patience:
        episode.outcome === "granted" ? Math.max(patience, assumptions.medianPatience) : patience,
      retryInterval: limitRetries(retryOf(episode) ?? assumptions.retryInterval, patience),
      rule: episode.rule,
    });
  }
  const replaced = new Set([...atOnce, ...afterEpisode]);
  return {
    needs,
    sessions: replaced,
    recorded: countRecorded(atOnce.length, episodes),
    assumptions,
  };
}

function countRecorded(atOnce: number, episodes: readonly EndedEpisode[]): DemandMet {
  const granted = episodes.filter(({ outcome }) => outcome === "granted");
  return {
    needs: atOnce + episodes.length,
    metAtOnce: atOnce,
    metAfterWaiting: granted.length,
    notMet: episodes.length - granted.length,
    medianWait: medianOf(granted.map(patienceOf)),
  };
}

/** The session that a granted episode ended with. */
function linkSessions(
  sessions: readonly Session[],
  episodes: readonly EndedEpisode[],
): ReadonlyMap<EndedEpisode, Session> {
  const byUser = groupBy(sessions, ({ user }) => user);
  const links = new Map<EndedEpisode, Session>();
  for (const episode of episodes) {
    if (episode.outcome !== "granted") continue;
    const session = byUser
      .get(episode.user)
      ?.find(({ startSeq }) => startSeq !== null && startSeq > episode.lastSeq);
    if (session !== undefined) links.set(episode, session);
  }
  return links;
}

function makeAssumptions(
  sessions: readonly Session[],
  episodes: readonly EndedEpisode[],
): Assumptions {
  // A borrow of weeks says nothing about a user who wanted a slot for the day.
  const unborrowed = sessions.filter(({ borrows }) => borrows.length === 0);
  const durations = unborrowed.flatMap((session) => durationOf(session) ?? []);
  const medianPatience = medianOf(episodes.map(patienceOf)) ?? DEFAULT_PATIENCE;
  const retry = medianOf(episodes.flatMap((episode) => retryOf(episode) ?? [])) ?? DEFAULT_RETRY;
  return {
    meanSession: meanOf(durations) ?? DEFAULT_SESSION,
    medianPatience,
    retryInterval: limitRetries(retry, medianPatience),
  };
}

/** In whole milliseconds. */
const limitRetries = (interval: number, patience: number): number =>
  Math.ceil(Math.max(interval, patience / MAX_RETRIES, 1));

/** Null: its beginning or its end is not known, or the clock was set back in between. */
const durationOf = ({ start, end, startPeriod, endPeriod }: Session): number | null =>
  start === null || end === null || startPeriod !== endPeriod ? null : Math.max(0, end - start);

const patienceOf = ({ firstAt, lastAt, endedAt, outcome }: EndedEpisode): number =>
  Math.max(0, (outcome === "granted" ? endedAt : lastAt) - firstAt);

const retryOf = ({ firstAt, lastAt, attempts }: EndedEpisode): number | null =>
  attempts < 2 || lastAt <= firstAt ? null : (lastAt - firstAt) / (attempts - 1);

/** In whole milliseconds. */
const meanOf = (values: readonly number[]): number | null =>
  values.length === 0
    ? null
    : Math.round(values.reduce((sum, value) => sum + value, 0) / values.length);

export function medianOf(values: readonly number[]): number | null {
  const ascending = values.toSorted((a, b) => a - b);
  return ascending.length === 0 ? null : percentile(ascending, 0.5);
}
