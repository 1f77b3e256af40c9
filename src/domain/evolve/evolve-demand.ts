import { demandKey, notAfter, type EpisodesObserved } from "../demand/episode.ts";
import type { Instant } from "../time.ts";
import type { MutableState } from "./mutable-state.ts";

export function observeEpisodes(
  { openEpisodes }: MutableState,
  { episodes }: EpisodesObserved,
): void {
  for (const episode of episodes) openEpisodes.set(demandKey(episode), episode);
}

/** An open episode is not in the future of the clock that was set back. */
export function moveEpisodes({ openEpisodes }: MutableState, to: Instant): void {
  for (const [key, episode] of openEpisodes) openEpisodes.set(key, notAfter(episode, to));
}
