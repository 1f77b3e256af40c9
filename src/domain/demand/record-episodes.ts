import { makeDecision, type Decision } from "../model/decision.ts";
import type { Fault } from "../model/fault.ts";
import { limits } from "../model/limits.ts";
import type { Result } from "../result.ts";
import type { RuleContext } from "../model/rule-context.ts";
import type { State } from "../model/state.ts";
import { earliest } from "../time.ts";
import {
  demandKey,
  notAfter,
  type ClosedEpisode,
  type Episode,
  type EpisodeEnded,
} from "../model/demand/episode.ts";

/** Open episodes that changed since they were recorded last. */
export interface ObserveEpisodes {
  readonly type: "ObserveEpisodes";
  readonly episodes: readonly Episode[];
}

/**
 * Written to the journal, but not to the audit log, so that a restart continues the open episodes.
 */
export function decideObserveEpisodes(
  { openEpisodes }: State,
  { episodes }: ObserveEpisodes,
  { at }: RuleContext,
): Result<Decision<null>, Fault> {
  let free = limits.openEpisodes - openEpisodes.size;
  const recorded: Episode[] = [];
  for (const episode of episodes) {
    const isNew = !openEpisodes.has(demandKey(episode));
    if (isNew && free <= 0) continue;
    if (isNew) free -= 1;
    recorded.push(notAfter(episode, at));
  }
  if (recorded.length === 0) return makeDecision([], null);
  return makeDecision([{ type: "EpisodesObserved", at, episodes: recorded }], null);
}

/** Episodes that have ended. */
export interface EndEpisodes {
  readonly type: "EndEpisodes";
  readonly episodes: readonly ClosedEpisode[];
}

export function decideEndEpisodes(
  _state: State,
  { episodes }: EndEpisodes,
  { at }: RuleContext,
): Result<Decision<null>, Fault> {
  const events = episodes.map((episode): EpisodeEnded => ({
    type: "EpisodeEnded",
    at,
    ...notAfter(episode, at),
    outcome: episode.outcome,
    endedAt: earliest(episode.endedAt, at),
  }));
  return makeDecision(events, null);
}
