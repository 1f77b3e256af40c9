import {
  demandKey,
  notAfter,
  type ClosedEpisode,
  type EpisodeEnded,
  type EpisodesObserved,
} from "../model/demand/episode.ts";
import { limits } from "../model/limits.ts";
import type { PlaceLeft, PlaceLeftCause, PlaceTaken } from "../model/queue/queue-event-types.ts";
import { earliest, type Instant } from "../time.ts";
import type { MutableState } from "./mutable-state.ts";

export function observeEpisodes(
  { openEpisodes }: MutableState,
  { episodes }: EpisodesObserved,
): void {
  for (const episode of episodes) openEpisodes.set(demandKey(episode), episode);
}

/** A user who takes a place was refused: the episode is known before it is observed. */
export function beginEpisode({ openEpisodes }: MutableState, event: PlaceTaken): void {
  const { product, user, peer, denied, at } = event;
  const key = demandKey({ product, feature: null, user });
  if (denied === undefined || openEpisodes.has(key)) return;
  if (openEpisodes.size >= limits.openEpisodes) return;
  const { code, rule, seq } = denied;
  const times = { firstAt: at, lastAt: at, attempts: 1, firstSeq: seq, lastSeq: seq };
  openEpisodes.set(key, { product, feature: null, user, code, rule, peer, ...times });
}

/** What ends the need of a user who waits; after the other causes the user may try again. */
const OUTCOMES: Partial<Record<PlaceLeftCause, ClosedEpisode["outcome"]>> = {
  granted: "granted",
  unregistered: "left",
};

/** The end is known before it is recorded. */
export function endEpisode(state: MutableState, { product, user, cause, at }: PlaceLeft): void {
  const { openEpisodes, endedEpisodes } = state;
  const key = demandKey({ product, feature: null, user });
  const episode = openEpisodes.get(key);
  const outcome = OUTCOMES[cause];
  if (episode === undefined || outcome === undefined) return;
  if (endedEpisodes.size >= limits.openEpisodes) return;
  openEpisodes.delete(key);
  endedEpisodes.set(key, [...(endedEpisodes.get(key) ?? []), { ...episode, outcome, endedAt: at }]);
}

/** The recorded episode may have begun before the place was taken, and contains its refusal. */
export function recordEpisode(state: MutableState, event: EpisodeEnded): void {
  const { openEpisodes, endedEpisodes } = state;
  const key = demandKey(event);
  const ended = endedEpisodes.get(key) ?? [];
  const others = ended.filter(({ firstSeq }) => firstSeq > event.lastSeq);
  if (others.length > 0) endedEpisodes.set(key, others);
  else endedEpisodes.delete(key);
  const isNext = ended.length > 0 && (openEpisodes.get(key)?.firstSeq ?? 0) > event.lastSeq;
  if (!isNext) openEpisodes.delete(key);
}

/** No episode is in the future of the clock that was set back. */
export function moveEpisodes({ openEpisodes, endedEpisodes }: MutableState, to: Instant): void {
  for (const [key, episode] of openEpisodes) openEpisodes.set(key, notAfter(episode, to));
  for (const [key, episodes] of endedEpisodes) {
    endedEpisodes.set(
      key,
      episodes.map((episode) => closedNotAfter(episode, to)),
    );
  }
}

const closedNotAfter = (episode: ClosedEpisode, at: Instant): ClosedEpisode => ({
  ...notAfter(episode, at),
  outcome: episode.outcome,
  endedAt: earliest(episode.endedAt, at),
});
