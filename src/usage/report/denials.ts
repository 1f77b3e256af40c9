import { compareTexts } from "../../domain/text/compare-texts.ts";
import type { EpisodeOutcome } from "../../domain/model/demand/episode.ts";
import { personOf } from "../../domain/model/slots/person.ts";
import type { EndedEpisode } from "../site-record.ts";
import type { Names } from "./names.ts";
import { percentile } from "./percentiles.ts";
import {
  finishSteps,
  visitInSteps,
  type DenialFigures,
  type DenialReason,
  type DeniedPerson,
  type EpisodeCounts,
  type EpisodeRow,
  type InSteps,
  type Waits,
} from "./report.ts";

/** How long the need was not met: until the grant, else until the last refusal. */
const waitOf = ({ firstAt, lastAt, endedAt, outcome }: EndedEpisode): number =>
  Math.max(0, (outcome === "granted" ? endedAt : lastAt) - firstAt);

export function countEpisodes(episodes: readonly EndedEpisode[]): EpisodeCounts {
  const countOutcome = (wanted: EpisodeOutcome): number =>
    episodes.reduce((sum, { outcome }) => sum + (outcome === wanted ? 1 : 0), 0);
  return {
    episodes: episodes.length,
    attempts: episodes.reduce((sum, { attempts }) => sum + attempts, 0),
    granted: countOutcome("granted"),
    gaveUp: countOutcome("gave_up"),
    left: countOutcome("left"),
  };
}

/** The waiting times of the episodes that were granted; null: none was. */
export function measureWaits(episodes: readonly EndedEpisode[]): Waits | null {
  const waits = episodes
    .filter(({ outcome }) => outcome === "granted")
    .map(waitOf)
    .toSorted((a, b) => a - b);
  if (waits.length === 0) return null;
  const longest = waits.at(-1) ?? 0;
  return { median: percentile(waits, 0.5), p95: percentile(waits, 0.95), longest };
}

export function* computeDenials(
  episodes: readonly EndedEpisode[],
  open: number,
  names: Names,
): InSteps<DenialFigures> {
  const byPerson = yield* groupInSteps(episodes, ({ user }) => personOf(user));
  const deniedPeople = [...byPerson].map(([person, group]): DeniedPerson => ({
    person: names.person(person),
    ...countEpisodes(group),
    longestWait: group.reduce((longest, episode) => Math.max(longest, waitOf(episode)), 0),
  }));
  yield;
  const byReason = yield* groupInSteps(episodes, ({ product, feature, code, rule }) =>
    [product, feature ?? "", code, rule ?? ""].join("\n"),
  );
  const reasons = [...byReason.values()].flatMap((group): DenialReason[] => {
    const [first] = group;
    if (first === undefined) return [];
    const { product, feature, code, rule } = first;
    return [{ product, feature, code, rule, episodes: group.length, people: countPeople(group) }];
  });
  return {
    ...countEpisodes(episodes),
    open,
    people: deniedPeople.length,
    waits: measureWaits(episodes),
    reasons: reasons.toSorted((a, b) => b.episodes - a.episodes),
    deniedPeople: deniedPeople.toSorted(
      (a, b) => b.episodes - a.episodes || compareTexts(a.person, b.person),
    ),
  };
}

export const makeEpisodeRow = (episode: EndedEpisode, names: Names): EpisodeRow => {
  const { product, feature, user, code, rule, attempts, firstAt, lastAt, outcome } = episode;
  return {
    product,
    feature,
    person: names.person(user),
    user: names.user(user),
    peer: names.address(episode.peer),
    code,
    rule,
    attempts,
    firstAt,
    lastAt,
    outcome,
    waited: waitOf(episode),
  };
};

export const countPeople = (rows: readonly { readonly user: string | null }[]): number =>
  new Set(rows.flatMap(({ user }) => (user === null ? [] : [personOf(user)]))).size;

export const groupBy = <T>(rows: Iterable<T>, keyOf: (row: T) => string): Map<string, T[]> =>
  finishSteps(groupInSteps(rows, keyOf));

export function* groupInSteps<T>(
  rows: Iterable<T>,
  keyOf: (row: T) => string,
): InSteps<Map<string, T[]>> {
  const groups = new Map<string, T[]>();
  yield* visitInSteps(rows, (row) => {
    const key = keyOf(row);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [row]);
    else group.push(row);
  });
  return groups;
}
