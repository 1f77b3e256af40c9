import type { BaseEvent } from "../event-base.ts";
import type { Instant } from "../time.ts";

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
}

/** `left`: the user released what they held. `gave_up`: no retry came for ten minutes. */
export type EpisodeOutcome = "granted" | "gave_up" | "left";

/** Open episodes that changed in the last minute. Not audited: each is audited once, at its end. */
export interface EpisodesObserved extends BaseEvent<"EpisodesObserved"> {
  readonly episodes: readonly Episode[];
}

export interface EpisodeEnded extends BaseEvent<"EpisodeEnded">, Episode {
  readonly outcome: EpisodeOutcome;
  /** When it was granted, or left; for `gave_up` the last refusal. */
  readonly endedAt: Instant;
}

/** A person is the user name up to the first `#`; a leading `#` does not separate anything. */
export function personOf(user: string): string {
  const end = user.indexOf("#", 1);
  return end < 0 ? user : user.slice(0, end);
}
