import type { BaseEvent } from "../event-base.ts";
import { earliest, type Instant } from "../../time.ts";

/** What a user could not get: a slot of a product, or a slot of one of its floating features. */
export interface Demand {
  readonly product: string;
  /** Null: a slot of the product itself. */
  readonly feature: string | null;
  /** The user name as it was sent; `personOf` gives the person. */
  readonly user: string;
}

/**
 * A denied episode: one need of one user that was not met at once. It begins with the first refusal
 * for want of a slot or by a limit, and lasts while retries come.
 */
export interface Episode extends Demand {
  /** The code of the last refusal. */
  readonly code: string;
  /** The limit that refused, such as `max_slots_per_user = 3`; null: no slot was free. */
  readonly rule: string | null;
  /** The address of the last refused call; a limit per address counts by it. */
  readonly peer: string;
  readonly firstAt: Instant;
  readonly lastAt: Instant;
  readonly attempts: number;
  /** The last journal line before the first and before the last refusal. */
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Why the first call was refused; absent: as the last one. */
  readonly first?: RefusalReason;
}

/** Why a call was refused, and from where it came. */
export interface RefusalReason {
  readonly code: string;
  readonly rule: string | null;
  readonly peer: string;
}

/** `left`: the application of the user unregistered. `gave_up`: no retry came for ten minutes. */
export type EpisodeOutcome = "granted" | "gave_up" | "left";

/** Open episodes that changed in the last minute. Not audited: each is audited once, at its end. */
export interface EpisodesObserved extends BaseEvent<"EpisodesObserved"> {
  readonly episodes: readonly Episode[];
}

export interface ClosedEpisode extends Episode {
  readonly outcome: EpisodeOutcome;
  /** When it was granted, or left; for `gave_up` the last refusal. */
  readonly endedAt: Instant;
}

/** Dated when it is written, which may be a minute after its end. */
export interface EpisodeEnded extends BaseEvent<"EpisodeEnded">, ClosedEpisode {}

/** The episodes that have no `EpisodeEnded` yet, also if they have ended. */
export const listUnrecorded = ({
  openEpisodes,
  endedEpisodes,
}: {
  readonly openEpisodes: ReadonlyMap<string, Episode>;
  readonly endedEpisodes: ReadonlyMap<string, readonly Episode[]>;
}): Episode[] => [...openEpisodes.values(), ...[...endedEpisodes.values()].flat()];

/** The key of a demand in a map. */
export const demandKey = ({ product, feature, user }: Demand): string =>
  JSON.stringify([product, feature, user]);

/**
 * No time of the episode is after `at`: the clock may have been set back since the refusals. Member
 * by member, because events of the journal always have the same members.
 */
export const notAfter = (episode: Episode, at: Instant): Episode => ({
  product: episode.product,
  feature: episode.feature,
  user: episode.user,
  code: episode.code,
  rule: episode.rule,
  peer: episode.peer,
  firstAt: earliest(episode.firstAt, at),
  lastAt: earliest(episode.lastAt, at),
  attempts: episode.attempts,
  firstSeq: episode.firstSeq,
  lastSeq: episode.lastSeq,
  ...(episode.first && { first: episode.first }),
});
